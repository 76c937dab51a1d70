"""Facts about taking secrets out of texts."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.redact import MARK, Secret, redact, redacted, secrets

SAMPLES = [(s, before, after) for s in secrets() for before, after in s.samples]
SILENT = [text for s in secrets() for text in s.silent]
PIECES = [before for _, before, _ in SAMPLES] + SILENT


@pytest.mark.parametrize(("secret", "before", "after"), SAMPLES, ids=lambda v: str(v)[:40])
def test_every_kind_takes_out_its_own_samples(secret: Secret, before: str, after: str) -> None:
    """A sample loses its secret and nothing else, through its own kind's hints and pattern."""
    assert after == secret.taken_out(before)
    assert any(hint in before.lower() for hint in secret.hints)
    assert after == redact(before)


@pytest.mark.parametrize("text", SILENT)
def test_innocent_texts_stay(text: str) -> None:
    """Counts of tokens, placeholders and sentences about secrets are no secrets."""
    assert text == redact(text)


@pytest.mark.parametrize("secret", secrets(), ids=lambda s: s.name)
def test_every_kind_has_samples_and_lower_case_hints(secret: Secret) -> None:
    """A kind that nobody shows an example of cannot be trusted."""
    assert secret.samples
    assert all(hint == hint.lower() for hint in secret.hints)


@given(
    st.lists(st.sampled_from(PIECES) | st.text(string.printable, max_size=12), max_size=4),
    st.sampled_from(["", " ", "=", ": ", "\n", '"', "@"]),
)
def test_twice_is_the_same_as_once(pieces: list[str], glue: str) -> None:
    """What was redacted can be redacted again, as when a state is restored and stored anew."""
    once = redact(glue.join(pieces))
    assert once == redact(once)


@given(
    st.from_regex(
        r"[A-Za-z_/%.]{1,16}( |: |=)-?[0-9]{1,6}(\.[0-9]{1,4})?(e-0[0-9])?", fullmatch=True
    )
)
def test_metric_lines_stay(line: str) -> None:
    """A name with a number is a measurement, unless the name says password or key."""
    name = line.lower()
    if not any(word in name for word in ("key", "pass", "pwd", "secret", "token", "authorization")):
        assert line == redact(line)


def test_values_are_redacted_to_their_leaves() -> None:
    """Texts anywhere in a JSON value lose their secrets; numbers and nulls stay."""
    value = {"a": ["password=hunter2", 1, None], "b": ("x", {"c": 2.5})}
    assert {"a": [f"password={MARK}", 1, None], "b": ["x", {"c": 2.5}]} == redacted(value)
