"""Rules that somebody asked for by name, with thresholds of their own."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, place, run
from runwatch.errors import UsageError
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check, rule
from runwatch.kernels import named as kernels
from runwatch.kernels.named import FIELDS, SPELL
from runwatch.kernels.run import SEGMENT
from runwatch.kernels.tracks import Tracks, unkeyed
from runwatch.records import Batch
from runwatch.shipped import table
from runwatch.slotted import frozen

ALL = "all"  # asks for every rule, each with its own threshold
_ANY = 1e300  # where a threshold has no limit
_KEPT = 10  # spells told per rule and series, the last ones


@frozen
class Named:
    """A rule as `named.toml` describes it, `value` being the threshold: above 0 and `below` that, a
    `whole` number where it counts."""

    name: str
    kind: str
    kernel: str
    value: float
    unit: str
    quantities: tuple[str, ...]
    means: str
    message: str
    source: str
    whole: bool = False
    below: float = _ANY

    def __str__(self) -> str:
        return f"{self.name}={self.value:g}"


@lru_cache(maxsize=1)
def known() -> dict[str, Named]:
    """Every rule there is, by name, with the threshold it has by itself."""
    return {
        name: Named(name, **{**row, "quantities": tuple(row["quantities"])})
        for name, row in table("detect/named.toml").items()
    }


def chosen(words: Iterable[str]) -> tuple[Named, ...]:
    """The rules that NAME or NAME=VALUE ask for, the last word on each. Raises UsageError where
    there is no such rule, or its threshold is none."""
    found: dict[str, Named] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if word == ALL:
            found |= known()
            continue
        if name == ALL:
            raise UsageError(f"--rule {word}: {ALL} has no threshold", hint="name one rule with it")
        if name not in known():
            hint = f"rules are {', '.join(known())}, and {ALL} for all of them"
            raise UsageError(f"--rule {word}: no such rule", hint=hint)
        found[name] = _with(known()[name], value, word) if equals else known()[name]
    return tuple(found.values())


def _with(named: Named, value: str, word: str) -> Named:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0.0 < number < named.below or (named.whole and not number.is_integer()):
        kind = "whole number" if named.whole else "number"
        most = f" and below {named.below:g}" if named.below < _ANY else ""
        hint = f"a {kind} above 0{most} ({named.unit})"
        raise UsageError(f"--rule {word}: not a threshold", hint=hint)
    return replace(named, value=number)


def holds(name: str, said: str) -> str:
    """A rule that holds at its own threshold, and what it measured."""
    return f"rule {known()[name]}: {said}"


def threshold(name: str) -> float:
    """The threshold that a rule has by itself."""
    return known()[name].value


class Rules:
    """Named rules with thresholds of their own (`rule_monotonic`, `rule_spike`, `rule_grad_norm`,
    `rule_grad_baseline`, `rule_throughput`, `rule_stall`, `rule_nan`).

    Sees: what the rule says and nothing else, where it is asked for with `--rule NAME[=VALUE]`:
    `runwatch explain rules` lists them. A spell counts from where the rule was first broken; once
    it no longer is, the finding is low and recovered.

    Matters: a team may have agreed on a threshold, or want a second opinion.

    Misses: everything that a fixed threshold does not fit. On calm curves the rule of five rises
    in a row fires 144 times in 100,000 steps; nothing here asks whether a spike heals by itself,
    which is why the checks that run unasked do not use these rules.

    Tune: the value is the threshold, as in `--rule monotonic=8`.
    """

    def __init__(self, rules: Sequence[Named]) -> None:
        self.name = "rules" if not rules else f"rules {' '.join(map(str, rules))}"
        self._rules = tuple(rules)
        self._tracks = {named.name: Tracks(FIELDS) for named in rules}
        self._over: dict[str, dict[str, list[dict[str, Any]]]] = {n.name: {} for n in rules}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        for named in self._rules:
            tracks, kernel = self._tracks[named.name], getattr(kernels, named.kernel)
            for quantity in named.quantities:
                groups = columns.groups.get(quantity)
                if groups is None:
                    continue
                value = -float(named.value) if quantity == "step_time" else float(named.value)
                for code, slot, key, segment, _ in run(kernel, tracks, groups, value):
                    track = tracks[slot]
                    if code != SEGMENT:
                        self._keep(named.name, key, track, State.RECOVERED)
                        continue
                    if track.open:
                        self._keep(named.name, key, track, State.PROGRESSED)
                    tracks[slot] = tracks.fresh(segment=segment)

    def _keep(self, name: str, key: str, track: Any, state: State) -> None:
        spell = _spell(track) | {"state": state.value}
        over = self._over[name]
        over[key] = [*over.get(key, ()), spell][-_KEPT:]

    def findings(self) -> list[Finding]:
        """Where a rule is or was broken, the same in several series told once."""
        found = []
        for named in self._rules:
            for key, spells in self._over[named.name].items():
                found += [_told(named, key, spell, State(spell["state"])) for spell in spells]
            for key, track in self._tracks[named.name].marked("open"):
                found.append(_told(named, key, _spell(track), State.OPEN))
        return fold(found)

    def check(self) -> Check:
        """Ran where what the rules are about was reported."""
        silent = [named.name for named in self._rules if not len(self._tracks[named.name])]
        why = f"nothing in the log for {', '.join(silent)}" if silent else ""
        return Check(self.name, len(silent) < len(self._rules), why)

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        tracks = {name: tracks.state() for name, tracks in self._tracks.items()}
        return {"tracks": tracks, "over": self._over}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        for name, tracks in self._tracks.items():
            tracks.restore(state["tracks"][name])
        self._over = state["over"]


def _spell(track: Any) -> dict[str, Any]:
    return {name: getattr(track, name) for name in SPELL}


def _told(named: Named, key: str, spell: dict[str, Any], state: State) -> Finding:
    at = place(key, spell["line"], spell["step"], spell["time"])
    words = {"metric": unkeyed(key)[1], "value": named.value}
    return finding(
        named.kind,
        rule(named.kind).severity if state is State.OPEN else Severity.LOW,
        at,
        f"rule {named}: {named.message.format(**spell | words)}",
        state=state,
        last_line=spell["last_line"],
        role=Role.SYMPTOM,
    )
