"""Rules that are asked for by name say what their threshold says, no more and no less."""

import json
import random
import re
from typing import Any

import numpy as np
import pytest

from bench.false_alarms import in_a_row, sigma
from runwatch.detect import Columns
from runwatch.detect.named import Rules, chosen, known
from runwatch.errors import UsageError
from runwatch.finding import Finding
from runwatch.judgement import rules as kinds
from tests.detect.numbers.numeric_batches import (
    INF,
    NAN,
    Record,
    batch,
    found,
    losses,
    pieces,
    record,
)

random.seed(11)
CALM = [2.0 + random.gauss(0.0, 0.05) for _ in range(150)]


NORMS = [1.0 + i % 7 for i in range(200)]


def told(word: str, records: list[Record], cuts: int = 1) -> list[Finding]:
    """What a rule says of a log, read in pieces, its past through JSON between them."""
    watching = Rules(chosen([word]))
    for part in pieces(records, set(range(0, len(records), 1 + len(records) // cuts))):
        again = Rules(chosen([word]))
        again.restore(json.loads(json.dumps(watching.state(), allow_nan=False)))
        again.feed(part, Columns(part))
        watching = again
    return watching.findings()


SIGMA = sigma(2.0, 100, 50)


def monotonic_of(steps: int) -> Any:
    """So many rises in a row."""
    return lambda x: in_a_row(np.diff(x, prepend=x[0]) > 0, steps)


def norms(values: list[float]) -> list[Record]:
    """A record for each gradient norm."""
    return [record(1 + i, step=1 + i, grad_norm=value) for i, value in enumerate(values)]


def speeds(values: list[float]) -> list[Record]:
    """A record for each throughput."""
    return [record(1 + i, step=1 + i, throughput=value) for i, value in enumerate(values)]


def clocked(seconds: list[float]) -> list[Record]:
    """A loss at each of these times."""
    return [record(1 + i, step=1 + i, seconds=s, loss=2.0) for i, s in enumerate(seconds)]


RISE = [3.0, 2.5, 2.4, 2.45, 2.5, 2.55, 2.6, 2.65]
FIRES: dict[str, list[tuple[str, list[Record], tuple[Any, ...]]]] = {
    "monotonic": [
        ("monotonic", losses(RISE), ("high", "open", 4)),
        ("monotonic", losses([*RISE, 2.3]), ("low", "recovered", 4)),
        ("monotonic=3", losses(RISE[:6]), ("high", "open", 4)),
    ],
    "spike": [
        ("spike", losses([*CALM, 4.0, 4.0]), ("medium", "open", 151)),
        ("spike=4", losses([*CALM, 2.5, 2.0, 2.0]), ("low", "recovered", 151)),
    ],
    "grad-norm": [
        ("grad-norm", norms([1.0, 2.0, 1001.0]), ("high", "open", 3)),
        ("grad-norm=5", norms([1.0, 6.0, 2.0]), ("low", "recovered", 2)),
    ],
    "grad-baseline": [
        ("grad-baseline", norms([1.0] * 30 + [11.0]), ("high", "open", 31)),
        ("grad-baseline=3", norms([1.0] * 30 + [4.0, 1.0]), ("low", "recovered", 31)),
    ],
    "throughput": [
        ("throughput", speeds([100.0] * 30 + [45.0] * 3), ("medium", "open", 31)),
        ("throughput=20", speeds([100.0] * 30 + [75.0, 99.0]), ("low", "recovered", 31)),
    ],
    "stall": [
        ("stall", clocked([*range(30), 40.0, 41.0]), ("low", "recovered", 30)),
        ("stall=1.5", clocked([*range(30), 31.0, 32.0]), ("low", "recovered", 30)),
    ],
    "nan": [
        ("nan", losses([2.0, NAN]), ("critical", "open", 2)),
        ("nan", norms([2.0, INF, 1.0]), ("low", "recovered", 2)),
    ],
}
SILENT: dict[str, list[tuple[str, list[Record]]]] = {
    "monotonic": [("monotonic", losses(RISE[:7])), ("monotonic=9", losses(RISE))],
    "spike": [("spike", losses([*CALM, 2.4, 2.4])), ("spike", losses([*CALM[:40], 90.0]))],
    "grad-norm": [("grad-norm", norms([999.0, 1000.0]))],
    "grad-baseline": [("grad-baseline", norms([1.0] * 30 + [9.9])),
                      ("grad-baseline", norms([1.0] * 11 + [500.0]))],
    "throughput": [("throughput", speeds([100.0] * 30 + [51.0] * 9)),
                   ("throughput", speeds([9.0] + [100.0] * 12))],
    "stall": [("stall", clocked([2.0 * i for i in range(30)])),
              ("stall", clocked([0.0, 1.0, 900.0, 901.0]))],
    "nan": [("nan=2", losses([2.0, NAN, 2.0])), ("nan", losses(CALM))],
}  # fmt: skip


@pytest.mark.parametrize("name", known())
def test_a_rule_fires_at_its_threshold(name: str) -> None:
    """One finding, of the rule's kind, with severity and state, at the line where it broke."""
    for word, records, expected in FIRES[name]:
        (item,) = told(word, records)
        assert known()[name].kind == item.kind
        assert expected == (item.severity.value, item.state.value, item.line)
        assert item.message.startswith(f"rule {name}=")


@pytest.mark.parametrize("name", known())
def test_a_rule_is_silent_below_its_threshold(name: str) -> None:
    """Nothing is said of what stays within."""
    for word, records in SILENT[name]:
        assert told(word, records) == []


@pytest.mark.parametrize("cuts", [2, 7])
@pytest.mark.parametrize("name", known())
def test_where_the_log_is_cut_does_not_matter(name: str, cuts: int) -> None:
    """The same findings, with the same ids, whether scanned at once or tailed and taken up."""
    for word, records, _ in FIRES[name]:
        whole, tailed = told(word, records), told(word, records, cuts)
        assert whole == tailed
        assert [f.id for f in whole] == [f.id for f in tailed]


def test_a_restart_begins_anew() -> None:
    """A spell that a restart cut short is told as such, and the new segment has its own past."""
    again = losses([1.0, 0.9], start=9, segment=1)
    (item,) = told("monotonic", [*losses(RISE), *again])
    assert ("low", "progressed") == (item.severity.value, item.state.value)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("cuts", [1, 7])
def test_each_spell_has_its_own_peak(sign: float, cuts: int) -> None:
    """Whatever the spells before it reached, and below zero too."""
    rises = [20.0 * sign + 0.5 * i for i in range(5)]
    calm = [20.0 * sign - 0.1 * i for i in range(20)]
    records = losses([*(x + 1.0 for x in rises), *calm, *rises, *calm])
    peaks = [float(f.message.rpartition(" ")[2]) for f in told("monotonic=3", records, cuts)]
    assert [rises[-1] + 1.0, rises[-1]] == peaks


@pytest.mark.parametrize("seed", range(5))
def test_the_rules_are_the_published_ones(seed: int) -> None:
    """Each is first broken where the formula, written anew, fires first."""
    noise = np.random.default_rng(seed)
    x = np.cumsum(noise.standard_normal(150)) * 0.5 + noise.standard_t(2, 150)
    for word, rule, ahead in (("monotonic=3", monotonic_of(3), 2), ("spike=2", SIGMA, 0)):
        fires = np.flatnonzero(rule(x)).tolist()
        lines = [f.line for f in told(word, losses(x.tolist()))]
        assert [i + 1 - ahead for i in fires[:1]] == sorted(lines)[:1]


def test_what_is_asked_for_is_understood_or_refused() -> None:
    """Names, thresholds, all of them; the last word counts, and nonsense is told."""
    assert ["monotonic=8", "nan=1"] == [str(n) for n in chosen(["monotonic", "nan", "monotonic=8"])]
    assert list(known().values()) == list(chosen(["all"]))
    for word in ("bogus", "monotonic=", "monotonic=x", "spike=-1", "spike=nan", "all=3", ""):
        with pytest.raises(UsageError):
            chosen([word])


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("bogus", "rules are monotonic, .*, nan, and all for all of them"),
        ("all=3", "name one rule"),
        ("grad-norm=0", r"a number above 0 \(as printed\)"),
        ("throughput=150", r"a number above 0 and below 100 \(per cent below"),
        ("throughput=100", "below 100"),
        ("monotonic=2.5", r"a whole number above 0 \(steps in a row\)"),
        ("nan=0.5", "a whole number"),
    ],
)
def test_what_is_refused_is_told_with_what_is_taken(word: str, hint: str) -> None:
    """A threshold that can never be reached, or that counts by halves, is none."""
    with pytest.raises(UsageError) as raised:
        chosen([word])
    assert re.search(hint, raised.value.hint)


def test_every_rule_has_its_kind() -> None:
    """A finding of a named rule has a rule in the table of kinds, and no other rule shares it."""
    of = [named.kind for named in known().values()]
    assert len(set(of)) == len(of)
    assert set(of) <= set(kinds())


@pytest.mark.parametrize(
    ("detector", "records", "rule"),
    [
        ("spike", losses([*CALM, *[9.0] * 30]), "rule spike=10: "),
        ("gradient", norms(NORMS + [5e3] * 12), "rule grad-norm=1000: "),
        ("gradient", norms(NORMS + [5e3] * 12), "rule grad-baseline="),
        ("throughput", speeds([100.0] * 120 + [40.0] * 60), "rule throughput=50: "),
        ("nonfinite", losses([*CALM, NAN]), "rule nan=1: "),
    ],
)  # fmt: skip
def test_a_finding_names_the_rules_that_hold(
    detector: str, records: list[Record], rule: str
) -> None:
    """What the checks find unasked has the named rules that hold in its evidence."""
    (item,) = found(detector, batch(records))
    assert [line for line in item.rules if line.startswith(rule)]
    assert () == item.evidence
    assert [*item.rules] == item.as_dict()["evidence"] == item.as_dict()["rules"]
