"""What is known of names and prefixes is data, and the data keeps its own word."""

import re
from pathlib import Path

import pytest

from runwatch.arrow import record_batch
from runwatch.chunk import Chunk
from runwatch.errors import FormatError
from runwatch.parse import Parser
from runwatch.parse.knowledge import Knowledge, builtin, shipped
from runwatch.parse.prefix import Peeler
from tests.parse.reading import RUN, said

METRICS, SILENCE = shipped("metrics.toml"), shipped("silence.toml")
FITS = [(q["name"], name) for q in METRICS["quantity"] for name in q["fits"]]
MISSES = [(q["name"], name) for q in METRICS["quantity"] for name in q["misses"]]
PREFIXES = [(e, sample) for e in shipped("prefix.toml")["prefix"] for sample in e["samples"]]


@pytest.mark.parametrize(("quantity", "name"), FITS)
def test_a_quantity_fits_its_samples(quantity: str, name: str) -> None:
    """The first quantity that a sample name fits is the one that lists it."""
    rule = builtin().names.quantity(name)
    assert rule is not None
    assert quantity == rule.name


@pytest.mark.parametrize(("quantity", "name"), MISSES)
def test_a_quantity_misses_its_counter_samples(quantity: str, name: str) -> None:
    """A name that only looks like the quantity is not taken for it."""
    rule = builtin().names.quantity(name)
    assert rule is None or quantity != rule.name


@pytest.mark.parametrize(("entry", "sample"), PREFIXES, ids=[s for _, s in PREFIXES])
def test_a_prefix_is_peeled_from_its_samples(entry: dict[str, str], sample: str) -> None:
    """Every sample is peeled off whole. What must follow it stands behind `>>` in the sample."""
    prefix, _, follows = sample.partition(">>")
    before = "INFO " if entry.get("at") == "after" else ""
    message = Peeler(builtin().prefixes, 2024).peel(before + prefix + follows + "loss: 3").message
    assert (follows + "loss: 3").endswith(message)


@pytest.mark.parametrize(
    "line", [line for e in shipped("prefix.toml")["prefix"] for line in e.get("misses", ())]
)
def test_what_only_looks_like_a_prefix_is_left(line: str) -> None:
    assert Peeler(builtin().prefixes, 2024).peel(line).message == line


@pytest.mark.parametrize("unit", ["node1", "a-", "ip-1.", "w1 "])
def test_a_word_without_end_is_read_in_time(unit: str) -> None:
    """A pattern whose cost grew with the square of the line would take hours."""
    line = unit * 250_000
    assert Peeler(builtin().prefixes, 2024).peel(line).message == line


@pytest.mark.parametrize("line", SILENCE["silent"])
def test_silent_samples_are_silent(line: str) -> None:
    """Lines that only look like measurements give no point."""
    assert said("step 1 loss 2.0\n" + line) == [(1, "loss", 2.0)]


def test_every_silencing_fragment_is_sensible() -> None:
    """No fragment is so short that it could stand in a metric line by chance."""
    assert [] == [f for f in SILENCE["fragments"] if len(re.sub(r"\W", "", f)) < 5]


OWN = """
fragments = ["wibble ignored"]
[[quantity]]
name = "loss"
clue = true
sure = true
exact = ["wibble"]
fits = ["Wibble"]
[[prefix]]
name = "acme"
pattern = '<<(?P<rank>\\d+)>>\\ '
samples = ["<<3>> "]
"""


def test_a_users_own_file_is_asked_first(tmp_path: Path) -> None:
    """Its prefixes are peeled, its names known, its fragments silent."""
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    parser = Parser(knowledge=Knowledge.with_own([path]))
    text = b"<<3>> step 1 wibble: 2.5\n<<3>> step 2 wibble ignored: 2.5\n"
    found = record_batch(parser.feed(Chunk(RUN, text, 0)).points).to_pylist()
    assert [("wibble", "loss", 3)] == [(p["metric"], p["quantity"], p["rank"]) for p in found]


@pytest.mark.parametrize("end", ["   ", " | "])
def test_a_users_own_prefix_takes_all_that_it_matches(tmp_path: Path, end: str) -> None:
    """Also the blanks and the bar at its end."""
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(r">>\ '", r">>[ |]+'").replace('"<<3>> "', f'"<<3>>{end}"'))
    prefixes = Knowledge.with_own([path]).prefixes
    assert Peeler(prefixes).peel(f"<<3>>{end}Loss 2.5 | 3 |").message == "Loss 2.5 | 3 |"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("<<3>> ", "<3> ", "does not peel its sample"),
        ('fits = ["Wibble"]', 'fits = ["wobble"]', "is taken for nothing"),
        ("(?P<rank>", "(?P<colour>", "groups that mean nothing: colour"),
        ("(?P<rank>", "(?P<rank", "none that works"),
        ("[[prefix]]", "[[postfix]]", "unknown postfix"),
        ("fragments = ", "fragments ", "own.toml"),
    ],
)
def test_a_users_own_file_must_keep_its_word(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    """A file that breaks its own samples is an error that says where, with a hint."""
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(before, after))
    with pytest.raises(FormatError, match=re.escape(said)) as caught:
        Knowledge.with_own([path])
    assert caught.value.hint


def test_a_slow_pattern_of_a_user_gives_up(tmp_path: Path) -> None:
    """A pattern that would take for ever on a line costs a moment and matches nothing."""
    path = tmp_path / "own.toml"
    path.write_text("[[prefix]]\nname = 'slow'\npattern = '(?:a|a|aa)+!'\nsamples = ['aaa!']\n")
    parser = Parser(knowledge=Knowledge.with_own([path]))
    batch = parser.feed(Chunk(RUN, b"a" * 64 + b"\nstep 1 loss 2.0\n", 0))
    assert [2.0] == batch.points.column("value").tolist()
