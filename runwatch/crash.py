"""What it means that a process is gone and its log does not say why."""

from dataclasses import replace

from runwatch.detect.exits import kind_of_exit
from runwatch.finding import Finding, Severity, State
from runwatch.ingest.process import Process
from runwatch.judgement import rule
from runwatch.standing import Course
from runwatch.summary import Steps


def is_sure(process: Process, steps: Steps, stride: int) -> bool:
    """Whether it has crashed, rather than just ended. Only its parent learns its exit code; for
    all others a run has failed that was to report once more, and nobody knows of one that may have
    done its last steps: reports come every `stride` steps, counted from 0 or from 1. Where that is
    not known, as just after a watch went on, the next report may be as far off as the first."""
    last = steps.last or 0
    stride = stride or last - (steps.first or 0)
    unfinished = steps.total is not None and last + max(1, stride) < steps.total
    return process.state == "zombie" or bool(process.exit_code) or unfinished


def died(process: Process) -> str:
    """What became of it, in words."""
    who = f"process {process.pid}" + (f" ({process.name})" if process.name else "")
    how = "" if process.exit_code is None else f" with exit code {process.exit_code}"
    return f"{who} is a zombie" if process.state == "zombie" else f"{who} is gone{how}"


def crash(process: Process, course: Course, steps: Steps, time: str) -> Finding:
    """The finding, behind the last line of the log."""
    code, told = process.exit_code, died(process)
    kind = "process_crash" if code is None else kind_of_exit({"code": str(code)})
    found = Finding(
        kind, Severity.CRITICAL, course.stream, course.line,
        f"{told}, and the log does not say why", state=State.TERMINAL, step=steps.last,
        advice=rule(kind).advice, rank_note="undetermined: the process said nothing",
        confidence="medium", time=time,
    )  # fmt: skip
    if is_sure(process, steps, course.stride):
        return found
    unknown = f"{told}, and nothing says whether it has finished"
    return replace(found, confidence="low", message=unknown)
