"""Findings folded into one answer: what to do now, how it ended, and how sure we are.

What each kind of finding means is data, in `kinds.toml`: this file holds no kind by name.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from runwatch import shipped
from runwatch.finding import Finding, Role, Severity, State
from runwatch.slotted import frozen


class TerminalState(StrEnum):
    """How a run ended, as far as its log tells."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    EARLY_STOPPED = "EARLY_STOPPED"
    RUNNING = "RUNNING"
    UNKNOWN = "UNKNOWN"


GOOD = (TerminalState.SUCCEEDED, TerminalState.EARLY_STOPPED)
OPEN = (TerminalState.RUNNING, TerminalState.UNKNOWN)


class Judgement(StrEnum):
    """What to do now, were the run live."""

    STOP = "STOP"
    CONTINUE = "CONTINUE"
    WAIT = "WAIT"


class Decision(StrEnum):
    """The final word on a run."""

    GO = "GO"
    NO_GO = "NO-GO"
    CONDITIONAL = "CONDITIONAL"


@frozen
class Ending:
    """How the run ended and the line that says so (line 0 where no line does).

    `settled` is the word of the platform that ran it, which knows more than the log.
    """

    state: TerminalState
    reason: str
    stream: str = ""
    line: int = 0
    settled: bool = False


GOES_ON = Ending(TerminalState.RUNNING, "more may be written")


@frozen
class Check:
    """One thing that was looked for, or could not be, and why."""

    name: str
    ran: bool
    why: str = ""


@frozen
class Verdict:
    """The one answer, the finding it rests on, and what a person would do next.

    `ending` is how the run ended once everything is known: a run that reached its last step with
    a loss that is no number has failed.
    """

    judgement: Judgement
    decision: Decision
    confidence: str
    root_cause: Finding | None
    reason: str
    next_steps: tuple[str, ...] = field(default=())
    ending: Ending | None = None


@frozen
class Rule:
    """What a kind of finding means; the fields are those of `kinds.toml`."""

    title: str
    severity: Severity = Severity.MEDIUM
    judgement: Judgement = Judgement.STOP
    ends: TerminalState = TerminalState.FAILED
    look: str = ""
    steps: tuple[str, ...] = ()
    wrecks: bool = False
    retry: bool = True
    restart: bool = False
    caused: bool = False

    @property
    def advice(self) -> str:
        """Look and steps in one sentence."""
        parts = [f"Look at {self.look}" if self.look else "", *self.steps]
        return ". ".join(part[0].upper() + part[1:] for part in parts if part) + "."


@lru_cache(maxsize=1)
def rules() -> dict[str, Rule]:
    """The rule of every kind, read once."""
    return {kind: _rule(row) for kind, row in shipped.table("kinds.toml").items()}


def _rule(row: dict[str, Any]) -> Rule:
    types = {"severity": Severity, "judgement": Judgement, "ends": TerminalState, "steps": tuple}
    parts: dict[str, Any] = {key: types.get(key, _same)(value) for key, value in row.items()}
    return Rule(**parts)


def _same(value: Any) -> Any:
    return value


def rule(kind: str) -> Rule:
    """The rule of this kind; a kind that no table knows is judged by its finding's severity."""
    return rules().get(kind) or Rule(
        title=kind.replace("_", " ").capitalize(), judgement=Judgement.WAIT, look="the cited lines"
    )


def fold(
    findings: Sequence[Finding], ending: Ending, *, written: bool = True, blind: str = ""
) -> Verdict:
    """One answer from all findings and the ending that the text tells.

    Where nothing is `written` yet the answer is to wait, and so it is where what is written shows
    nothing, for the reason that `blind` gives. The root is the earliest cause: a loss
    that was no number before the crash outranks the crash, unless the crash has a cause of its
    own. What recovered asks for nothing.
    """
    standing = [
        f for f in findings if f.state is not State.RECOVERED and f.role is not Role.FOLLOW_ON
    ]
    fault = next((f for f in standing if _ended_it(f, ending)), None)
    wreck = min((f for f in standing if _wrecks(f)), key=_place, default=None)
    root = fault
    if wreck and wreck is not fault and (fault is None or _explains(wreck, fault)):
        root = wreck
        ending = _wrecked(ending, wreck)
    if root is None and ending.state not in GOOD:
        root = _gravest(standing)
    if root is None and not written and ending.state in OPEN:
        return _nothing(ending)
    if root is None and blind and ending.state in OPEN:
        step = "log the compute time, or the time spent waiting for data, of each rank"
        return Verdict(
            Judgement.WAIT, Decision.CONDITIONAL, "low", None, blind, (step,), ending
        )  # fmt: skip
    return _verdict(root, findings, ending)


def blind(checks: Sequence[Check]) -> str:
    """Why the numbers of a log show nothing: they are times of ranks that cannot be attributed,
    and none of the checks of the numbers could run. Empty where something can be judged."""
    by_name = {check.name: check for check in checks}
    told = by_name.get("straggler")
    if told is None or not told.why.startswith("not attributable"):
        return ""
    return "" if any(check.ran for check in checks if check.name != "faults") else told.why


def one_root(findings: Sequence[Finding], root: Finding | None) -> list[Finding]:
    """The findings, of which no other that stands is called a root beside the one that is."""
    return [_beside(finding, root) if root else finding for finding in findings]


def _beside(finding: Finding, root: Finding) -> Finding:
    if finding == root or finding.role is not Role.ROOT or finding.state is State.RECOVERED:
        return finding
    if finding.kind == root.kind:
        return replace(finding, role=Role.CONFIRMATION)
    terminal = finding.state is State.TERMINAL
    return replace(finding, role=Role.FOLLOW_ON if terminal else Role.SYMPTOM)


def concluded(findings: Sequence[Finding], ending: Ending) -> list[Finding]:
    """The findings without silences that the end explains: behind the last measurement of a run
    that came to its end, lines of its closing work follow, and no stall."""
    over = ending.state in GOOD
    silent = ("stalled", "stalled_eval", "rank_silent", "job_stalled", "pipeline_stuck")
    return [f for f in findings if not (over and f.kind in silent and f.state is State.OPEN)]


def _nothing(ending: Ending) -> Verdict:
    """An empty log says neither that the run is well nor that it is not."""
    return Verdict(
        Judgement.WAIT, Decision.CONDITIONAL, "low", None, "nothing is in the log yet",
        ("look again later, or check that this is the log of the run",), ending,
    )  # fmt: skip


def _ended_it(finding: Finding, ending: Ending) -> bool:
    """Whether this is the finding that the ending rests on."""
    cause = finding.role is Role.ROOT and finding.state is State.TERMINAL
    return cause and (finding.stream, finding.line) == (ending.stream, ending.line)


def _place(finding: Finding) -> tuple[int, str, int]:
    return (finding.step if finding.step is not None else -1, finding.stream, finding.line)


def _wrecks(finding: Finding) -> bool:
    return rule(finding.kind).wrecks and finding.severity.weight >= Severity.HIGH.weight


def _explains(earlier: Finding, fault: Finding) -> bool:
    """A run whose numbers were lost is stopped by assertions, people and limits."""
    if earlier.stream == fault.stream and earlier.line > fault.line:
        return False
    return rule(fault.kind).caused


def _wrecked(ending: Ending, wreck: Finding) -> Ending:
    if ending.state in (*GOOD, TerminalState.CANCELLED):
        reason = f"{rule(wreck.kind).title.lower()}; {ending.reason}"
        return replace(ending, state=TerminalState.FAILED, reason=reason)
    return ending


def _gravest(findings: Sequence[Finding]) -> Finding | None:
    """What asks for most attention while the run is not known to have failed."""
    asking = [f for f in findings if _asks(f) is not Judgement.CONTINUE]
    return max(
        asking, key=lambda f: (_asks(f) is Judgement.STOP, f.severity.weight, -f.line), default=None
    )


def _asks(finding: Finding) -> Judgement:
    """What one standing finding asks for; what is only a hint never asks for a stop."""
    told = rule(finding.kind).judgement
    if told is Judgement.STOP and finding.severity.weight < Severity.HIGH.weight:
        return Judgement.WAIT if finding.severity is Severity.MEDIUM else Judgement.CONTINUE
    return told


def _verdict(root: Finding | None, findings: Sequence[Finding], ending: Ending) -> Verdict:
    judgement = _asks(root) if root else Judgement.CONTINUE
    if root is None and ending.state not in (*GOOD, *OPEN):
        judgement = Judgement.STOP
    decision = _decision(judgement, ending)
    reason = root.message if root else ending.reason
    return Verdict(
        judgement,
        decision,
        _confidence(root, ending),
        root,
        reason,
        _steps(root, findings, ending),
        ending,
    )


def _decision(judgement: Judgement, ending: Ending) -> Decision:
    if ending.state in GOOD:
        return Decision.GO
    if judgement is Judgement.STOP:
        return Decision.NO_GO
    if judgement is Judgement.WAIT or ending.state in OPEN:
        return Decision.CONDITIONAL
    return Decision.NO_GO


def _confidence(root: Finding | None, ending: Ending) -> str:
    if root:
        return root.confidence
    if ending.state in OPEN:
        return "low"
    return "high" if ending.line else "medium"


def _steps(root: Finding | None, findings: Sequence[Finding], ending: Ending) -> tuple[str, ...]:
    """What a person would do: the root's steps, then those of other standing findings."""
    kinds = [root.kind] if root else []
    kinds += [f.kind for f in findings if f.state in (State.OPEN, State.PROGRESSED)]
    steps = [step for kind in dict.fromkeys(kinds) for step in _first_look(kind)]
    if not steps and ending.state in OPEN:
        steps = ["nothing to do; look again later"]
    return tuple(dict.fromkeys(steps))[:6]


def _first_look(kind: str) -> tuple[str, ...]:
    known = rule(kind)
    return (f"look at {known.look}", *known.steps) if known.look else known.steps
