"""What `frozen` and `mutable` make is what `dataclass` makes, but for the time it takes."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.slotted import frozen, mutable


class Plain:
    """Fields as they are written."""

    step: int
    loss: float = 1.0
    seen: float = field(default=0.0, compare=False)
    key: str = field(default="", repr=False)


def fresh(decorator: Any) -> Any:
    names = ("__annotations__", "loss", "seen", "key")
    body = {name: Plain.__dict__[name] for name in names}
    return decorator(type("Point", (), {**body, "__qualname__": "Point", "__doc__": "A point."}))


OURS = fresh(frozen), fresh(mutable)
THEIRS = fresh(dataclass(frozen=True, slots=True)), fresh(dataclass(slots=True))
VALUES = st.tuples(st.integers(0, 2), st.sampled_from([0.5, 1.0]), st.floats(0, 1), st.text())


@pytest.mark.parametrize(("ours", "theirs"), list(zip(OURS, THEIRS, strict=True)))
@given(VALUES, VALUES)
def test_they_are_told_apart_and_shown_as_dataclasses_are(
    ours: Any, theirs: Any, a: tuple[Any, ...], b: tuple[Any, ...]
) -> None:
    assert (ours(*a) == ours(*b)) == (theirs(*a) == theirs(*b))
    assert repr(ours(*a)) == repr(theirs(*a))
    assert asdict(ours(*a)) == asdict(theirs(*a))
    assert replace(ours(*a), step=7).step == 7
    assert ours(*a) != theirs(*a)
    assert not hasattr(ours(*a), "__dict__")


@given(VALUES, VALUES)
def test_only_frozen_ones_are_keys(a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
    point, state = OURS
    assert len({point(*a), point(*b)}) == (1 if point(*a) == point(*b) else 2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(state(*a))


def test_what_a_class_has_of_its_own_stays() -> None:
    @frozen
    class Name:
        """Shown by its first letter."""

        text: str

        def __repr__(self) -> str:
            return self.text[0]

    assert repr(Name("step")) == "s"
    assert Name("step") == Name("step") != Name("loss")


def test_one_without_fields_equals_any_other() -> None:
    @frozen
    class Nothing:
        """Holds nothing."""

    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1
