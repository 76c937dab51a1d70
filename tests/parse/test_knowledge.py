"""What is known of names and prefixes is data, and the data keeps its own word."""

import re
import tomllib
from pathlib import Path

import pytest

import runwatch.parse
from runwatch.parse.prefix import Peeler, entries
from runwatch.parse.quantity import Names, builtin
from tests.parse.reading import said

FOLDER = Path(runwatch.parse.__file__).parent
METRICS = tomllib.loads((FOLDER / "metrics.toml").read_text("utf-8"))
SILENCE = tomllib.loads((FOLDER / "silence.toml").read_text("utf-8"))
FITS = [(q["name"], name) for q in METRICS["quantity"] for name in q["fits"]]
MISSES = [(q["name"], name) for q in METRICS["quantity"] for name in q["misses"]]
PREFIXES = [(e, sample) for e in entries() for sample in e["samples"]]


@pytest.mark.parametrize(("quantity", "name"), FITS)
def test_a_quantity_fits_its_samples(quantity: str, name: str) -> None:
    """The first quantity that a sample name fits is the one that lists it."""
    rule = builtin().quantity(name)
    assert rule is not None
    assert quantity == rule.name


@pytest.mark.parametrize(("quantity", "name"), MISSES)
def test_a_quantity_misses_its_counter_samples(quantity: str, name: str) -> None:
    """A name that only looks like the quantity is not taken for it."""
    rule = builtin().quantity(name)
    assert rule is None or quantity != rule.name


@pytest.mark.parametrize(("entry", "sample"), PREFIXES, ids=[s for _, s in PREFIXES])
def test_a_prefix_is_peeled_from_its_samples(entry: dict[str, str], sample: str) -> None:
    """Every sample is peeled off whole. What must follow it stands behind `>>` in the sample."""
    prefix, _, follows = sample.partition(">>")
    before = "INFO " if entry.get("at") == "after" else ""
    message = Peeler(2024).peel(before + prefix + follows + "loss: 3").message
    assert (follows + "loss: 3").endswith(message)


@pytest.mark.parametrize("line", SILENCE["silent"])
def test_silent_samples_are_silent(line: str) -> None:
    """Lines that only look like measurements give no point."""
    assert said("step 1 loss 2.0\n" + line) == [(1, "loss", 2.0)]


def test_every_silencing_fragment_is_sensible() -> None:
    """No fragment is so short that it could stand in a metric line by chance."""
    assert [] == [f for f in SILENCE["fragments"] if len(re.sub(r"\W", "", f)) < 5]


def test_a_users_own_names_are_asked_first() -> None:
    """A document of the same shape in front of ours decides what a name means."""
    own = {"quantity": [{"name": "loss", "clue": True, "sure": True, "exact": ["wibble"]}]}
    rule = Names.parse(own, METRICS).quantity("wibble")
    assert rule is not None
    assert rule.name == "loss"
