"""What carries a log changes nothing that the log says: its lines behind a stamp, a pod's name, a
tag are read as the lines themselves."""

import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.parse.test_formats import FORMATS, points_of

CARRIERS = {
    "docker": "2024-05-01T12:00:01.123456789Z ",
    "compose": "trainer-1  | ",
    "kubectl": "[pod/train-worker-3/pytorch] ",
    "address": "10.0.0.3: ",
    "github": "train\tRun training\t2024-05-01T12:00:01.1234567Z ",
    "loguru": "2024-05-01 12:00:01.123 | INFO     | train:main:212 - ",
}
# What stands only at the very beginning of a line, or looks like a tag behind another.
APART = {
    "lingua": "a rank and a colon before everything",
    "mllog": "a rank and a colon before everything",
    "pytorch-xla": "a device in brackets before the step",
    "kaldi-nnet3": "its own way to begin a line",
    "host-and-rank": "a host and a rank before everything",
    "accelerator-launch-ranks": "a node's name in brackets",
}


def texts() -> Iterator[Any]:
    """The samples of all formats that are read, one log each."""
    for path in sorted(FORMATS.glob("*.toml")):
        for sample in tomllib.loads(path.read_text(encoding="utf-8"))["sample"]:
            if "\r" not in sample["text"] and "pending" not in sample:
                yield sample["name"], sample["text"]


@cache
def said(text: str) -> list[tuple[Any, ...]]:
    """Its measurements with their places; ranks and times may come from the carrier."""
    keys = ("line", "metric", "value", "step", "epoch", "unit")
    return [tuple(repr(p[k]) for k in keys) for found in points_of(text).values() for p in found]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_carrier_changes_nothing(carrier: str) -> None:
    """Law, but for those that are told apart: the same measurements at the same places."""
    before = CARRIERS[carrier]
    changed = {
        name
        for name, text in texts()
        if said(text) != said("".join(before + line for line in text.splitlines(keepends=True)))
    }
    assert changed - set(APART) == set()


def test_a_record_of_many_lines_goes_on_behind_a_carrier() -> None:
    """Its indented lines belong to the place above, whose line says the rank."""
    log = (
        "[2024-04-17 09:42:37] INFO     [olmo.train:816, rank=0] [step=7/900]\n"
        "    train/CrossEntropyLoss=11.25\n"
    )
    carried = "".join(CARRIERS["docker"] + line for line in log.splitlines(keepends=True))
    found = points_of(carried)[2][0]
    assert (found["metric"], found["step"], found["rank"]) == ("train/CrossEntropyLoss", 7, 0)


def test_a_box_keeps_its_edges_behind_a_carrier() -> None:
    """The bar that a row begins with is no separator of the stamp before it."""
    rows = ["-------", "| rollout/     |      |", "|    ep_rew    | 12.5 |", "-------"]
    for before in CARRIERS.values():
        found = points_of("".join(f"{before}{row}\n" for row in rows))
        assert [(p["metric"], p["value"]) for p in found[3]] == [("rollout/ep_rew", 12.5)]
