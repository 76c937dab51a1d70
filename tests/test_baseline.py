"""Baselines as people write them."""

import pytest

from runwatch.baseline import Baseline
from runwatch.curve import Curve, Spot, higher_is_better
from runwatch.errors import UsageError


def curve(metric: str, quantity: str | None = None, *blocks: tuple[int, float]) -> Curve:
    spots = tuple(Spot(None, step, step, value) for step, value in blocks)
    return Curve(metric, quantity, "train.log", len(spots), spots, spots)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss=2.1,acc=0.7", [("loss", 2.1, False), ("acc", 0.7, True)]),
        (" val/ppl = 12 ", [("val/ppl", 12.0, False)]),
        ("wer=0.1,bleu=27.3", [("wer", 0.1, False), ("bleu", 27.3, True)]),
        ("distance<3,cost>-1e-2", [("distance", 3.0, False), ("cost", -0.01, True)]),
        ("", []),
    ],
)
def test_a_baseline_is_a_name_a_value_and_a_direction(
    text: str, expected: list[tuple[str, float, bool]]
) -> None:
    """Losses and errors fall, the rest rises, unless `<` or `>` says otherwise."""
    assert expected == [(b.name, b.value, b.rises) for b in Baseline.parse_all(text)]


@pytest.mark.parametrize("text", ["loss", "loss=", "=2", "loss=two", "loss=nan", "loss=inf"])
def test_what_is_no_baseline_is_said_so(text: str) -> None:
    """With an example of what is."""
    with pytest.raises(UsageError) as told:
        Baseline.parse_all(text)
    assert "loss=2.1" in told.value.hint


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("loss", "val_loss"), ("acc", "top1 acc"), ("train loss", "train loss"),
        ("Train_Loss", "train loss"), ("mIoU", "val/mIoU"), ("bleu", None),
    ],
)  # fmt: skip
def test_a_name_finds_its_metric(name: str, found: str | None) -> None:
    """The evaluation first, then the whole name, then its end."""
    curves = [
        curve("train loss", "loss"), curve("val_loss", "eval_loss"),
        curve("top1 acc", "eval_accuracy"), curve("val/mIoU"),
    ]  # fmt: skip
    (baseline,) = Baseline.parse_all(f"{name}=1")
    told = baseline.curve(curves)
    assert found == (None if told is None else told.metric)


def test_a_value_between_two_blocks_lies_between_their_values() -> None:
    """And before the first and behind the last there is none."""
    other = curve("loss", "loss", (100, 3.0), (200, 2.0), (300, 1.0))
    wanted = [50, 100, 150, 300, 301]
    assert [None, 3.0, 2.5, 1.0, None] == [other.near(Spot(None, s, 1, 0.0)) for s in wanted]


def test_where_steps_start_over_in_each_epoch_the_epoch_is_the_place() -> None:
    """Step 10 of epoch 2 is not step 10 of epoch 1."""
    spots = tuple(Spot(float(e), s, 1, 10.0 - e) for e in (1, 2, 3) for s in (10, 20))
    other = Curve("loss", "loss", "a", 6, spots, spots)
    assert other.near(Spot(2.0, 10, 1, 0.0)) == 8.0


def test_directions() -> None:
    """From the quantity first, then from the words of the name."""
    assert not higher_is_better("anything", "eval_loss")
    assert not higher_is_better("val/BoxLoss")
    assert not higher_is_better("mean_absolute_error")
    assert higher_is_better("lossless_rate_acc", "accuracy")
