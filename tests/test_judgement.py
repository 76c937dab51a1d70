"""What findings fold into."""

import pytest

from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import (
    Check,
    Decision,
    Ending,
    Judgement,
    TerminalState,
    Verdict,
    blind,
    concluded,
    fold,
    one_root,
    rule,
    rules,
)

UNKNOWN = Ending(TerminalState.UNKNOWN, "the log just stops")
DONE = Ending(TerminalState.SUCCEEDED, "it says so", "a", 900)
CRASH = Ending(TerminalState.FAILED, "an exception", "a", 500)


def found(kind: str, line: int, **more: object) -> Finding:
    severity = more.pop("severity", rule(kind).severity)
    return Finding(kind, severity, "a", line, f"{kind} at {line}", **more)  # type: ignore[arg-type]


def answer(verdict: Verdict) -> tuple[str, str, str | None]:
    root = verdict.root_cause
    return verdict.judgement, verdict.decision, root and root.kind


CRASHED = found("python_exception", 500, state=State.TERMINAL)

CASES = {
    "a healthy log that just stops goes on": ([], UNKNOWN, ("CONTINUE", "CONDITIONAL", None)),
    "a finished run is a go": ([], DONE, ("CONTINUE", "GO", None)),
    "a failed run is none": ([CRASHED], CRASH, ("STOP", "NO-GO", "python_exception")),
    "a lost loss stops": ([found("nan_loss", 9)], UNKNOWN, ("STOP", "NO-GO", "nan_loss")),
    "a lost loss explains the assertion after it": (
        [CRASHED, found("nan_loss", 400)], CRASH, ("STOP", "NO-GO", "nan_loss"),
    ),
    "a loss lost after the crash explains nothing": (
        [CRASHED, found("nan_loss", 600)], CRASH, ("STOP", "NO-GO", "python_exception"),
    ),
    "a crash with a cause of its own keeps it": (
        [found("gpu_ecc", 500, state=State.TERMINAL), found("nan_loss", 400)],
        CRASH, ("STOP", "NO-GO", "gpu_ecc"),
    ),
    "a loss that came back asks for nothing": (
        [found("nan_loss", 9, state=State.RECOVERED, severity=Severity.LOW)],
        UNKNOWN, ("CONTINUE", "CONDITIONAL", None),
    ),
    "a run that finished diverged has failed": (
        [found("diverged", 9)], DONE, ("STOP", "NO-GO", "diverged"),
    ),
    "a teardown error is a go with a warning": (
        [found("finished_teardown_error", 950, role=Role.SYMPTOM, state=State.PROGRESSED)],
        DONE, ("CONTINUE", "GO", None),
    ),
    "slow is worth a wait": (
        [found("throughput_drop", 9)], UNKNOWN, ("WAIT", "CONDITIONAL", "throughput_drop"),
    ),
    "a spike that came back is none": (
        [found("loss_spike_recovered", 9, state=State.RECOVERED)],
        UNKNOWN, ("CONTINUE", "CONDITIONAL", None),
    ),
    "preemption waits for the requeue": (
        [found("slurm_preemption", 500, state=State.TERMINAL)],
        Ending(TerminalState.CANCELLED, "preempted", "a", 500),
        ("WAIT", "CONDITIONAL", "slurm_preemption"),
    ),
    "a hint never stops a run": (
        [found("diverged", 9, severity=Severity.LOW)],
        UNKNOWN, ("CONTINUE", "CONDITIONAL", None),
    ),
    "the graver finding is the root": (
        [found("plateau", 3), found("nan_loss", 9)], UNKNOWN, ("STOP", "NO-GO", "nan_loss"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_fold(name: str) -> None:
    """The case's name is the fact."""
    findings, ending, want = CASES[name]
    assert want == answer(fold(findings, ending))


def test_a_person_who_stopped_a_lost_run_did_not_cancel_it() -> None:
    """A run interrupted after its loss was lost has failed, by its loss."""
    stopped = found("interrupted", 500, state=State.TERMINAL)
    ending = Ending(TerminalState.CANCELLED, "interrupted", "a", 500)
    verdict = fold([stopped, found("nan_loss", 400)], ending)
    assert verdict.ending
    assert verdict.ending.state is TerminalState.FAILED
    assert answer(verdict)[2] == "nan_loss"


def test_every_order_of_findings_folds_alike() -> None:
    """The answer does not depend on the order in which detectors report."""
    findings = [CRASHED, found("nan_loss", 400), found("throughput_drop", 100)]
    assert fold(findings, CRASH) == fold(findings[::-1], CRASH) or (
        fold(findings, CRASH).root_cause == fold(findings[::-1], CRASH).root_cause
    )


@pytest.mark.parametrize("kind", rules())
def test_every_kind_tells_what_to_do(kind: str) -> None:
    """A rule has a title, something to look at and a step; advice is a sentence of them."""
    known = rule(kind)
    assert known.title
    assert known.steps
    assert known.advice.startswith("Look at ")
    assert known.advice.endswith(".")


def test_an_unknown_kind_waits() -> None:
    """A kind of a user's own signature without a rule never stops a run by itself."""
    verdict = fold([found("my_own", 9, severity=Severity.CRITICAL)], UNKNOWN)
    assert verdict.judgement is Judgement.WAIT
    assert verdict.decision is Decision.CONDITIONAL


def test_the_next_steps_begin_with_the_root() -> None:
    """What to do first is what the root asks for."""
    verdict = fold([found("throughput_drop", 3), CRASHED], CRASH)
    assert verdict.next_steps[0].startswith("look at the exception")


def test_an_empty_log_asks_to_wait() -> None:
    """It says neither that the run is well nor that it is not; an ending is an answer."""
    assert answer(fold([], UNKNOWN, written=False)) == ("WAIT", "CONDITIONAL", None)
    assert answer(fold([], DONE, written=False)) == ("CONTINUE", "GO", None)


def test_one_episode_has_one_root() -> None:
    """What stands beside the root confirms it, follows it, or is a symptom."""
    root = found("loss_scale_collapse", 6)
    said = found("loss_scale_collapse", 9, state=State.TERMINAL)
    late, slow = CRASHED, found("throughput_drop", 4)
    spike = found("loss_spike_recovered", 2, state=State.RECOVERED)
    roles = [f.role for f in one_root([said, root, late, slow, spike], root)]
    assert [Role.CONFIRMATION, Role.ROOT, Role.FOLLOW_ON, Role.SYMPTOM, Role.ROOT] == roles
    assert [said, slow] == one_root([said, slow], None)


def test_a_run_that_came_to_its_end_is_not_stalled() -> None:
    """What is silent behind the last measurement is a stall only while the end is not known."""
    silent = found("stalled", 800, state=State.OPEN)
    assert ([], [silent]) == (concluded([silent], DONE), concluded([silent], UNKNOWN))


def test_times_of_ranks_alone_ask_to_wait() -> None:
    """Where nothing but times that no rank can be blamed for is in the log, nobody can judge it."""
    why = "not attributable: only wall time per step is logged by rank"
    checks = [Check("faults", True), Check("straggler", False, why), Check("spike", False, "none")]
    assert why == blind(checks)
    assert ("WAIT", "CONDITIONAL", None) == answer(fold([], UNKNOWN, blind=why))
    assert ("CONTINUE", "GO", None) == answer(fold([], DONE, blind=why))
    assert blind([*checks, Check("plateau", True)]) == ""
    assert blind([Check("faults", True), Check("straggler", False, "no ranks")]) == ""
