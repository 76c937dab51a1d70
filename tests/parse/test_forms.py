"""What was found out of a line with long numbers in its words holds for others of its form."""

import pytest

from runwatch.parse.knowledge import builtin
from runwatch.parse.number import split
from runwatch.parse.plans import Plans
from runwatch.parse.shape import understand

NAMES = builtin().names
TEXTS = (
    "saving checkpoint at iteration 12 to /ckpt/run/iter_{}", "loss_{}: 0.3 at step 4",
    "step 3 | run_{} | loss 0.25", "epoch 3 acc@{}: 0.71", "name_{} | loss | lr", "lr_{}=0.1",
    "[{}a] iteration 7: val_{} 0.5 test 0.25", "{}b loss: 3 of model-{}.pt", "step_{} took 3.5 s",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_plan_of_a_shape_is_its_own(text: str) -> None:
    """Whatever was read before, also where the number is part of a metric's name."""
    plans = Plans(NAMES, builtin().fragments)
    for number in ("0001000", "0002000", "0007777", "1234", "0001000", "77", "0000000"):
        tokens = split(text.replace("{}", number))
        own = understand(tokens.literals, tokens.marks, NAMES)
        assert own == plans.of(tokens)


def test_a_form_is_understood_once() -> None:
    """The checkpoints of a run, of which each has its own name, are one kind of line."""
    plans = Plans(NAMES, builtin().fragments)
    for number in range(1000, 1100):
        tokens = split(TEXTS[0].replace("{}", str(number)))
        plans.of(tokens)
    assert len(plans._of_form.answers) == 1
    assert not plans._of_shape.answers
