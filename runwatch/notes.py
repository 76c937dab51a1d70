"""Project notes: what was seen when a run was to be stopped, appended to a Markdown file."""

import os
import re
from pathlib import Path

from runwatch.checkup import Checkup
from runwatch.errors import InputError, in_words
from runwatch.plain import one_line

_SHOWN = 500  # characters of a cited line


def entry(checkup: Checkup, action: str = "") -> str:
    """One stop as a section: run, reason, metrics, signals, the lines. `action` is what is about
    to be done about it."""
    answer = checkup.answer
    step = "unknown" if checkup.step is None else str(checkup.step)
    if checkup.total:
        step += f" of {checkup.total}"
    metrics = ", ".join(f"{name}={value:.6g}" for name, value in checkup.metrics.items())
    lines = [
        f"## {answer.judgement}: {_plain(checkup.run)}, {checkup.at:%Y-%m-%d %H:%M:%S %Z}".rstrip(),
        "",
        f"- Run: {_plain(checkup.where)}",
        f"- Step: {step}",
        f"- Reason: {_plain(answer.reason)}",
        f"- Decided by: {_plain(answer.decided_by)}",
        f"- Metrics: {_plain(metrics) or 'none'}",
        *(f"- {_plain(s.title)} ({s.opinion}): {_plain(s.words)}" for s in checkup.signals),
        *([f"- Action: {_plain(action)}"] if action else []),
        "",
        *_cited(checkup),
    ]
    return "\n".join(lines) + "\n"


def outcome(action: str) -> str:
    """What came of an action, for the end of the section."""
    return f"Outcome: {_plain(action)}\n\n"


def append(path: Path, text: str) -> None:
    """Add to a file, created if need be, and see it on the disk. Raises InputError."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            left = text.encode("utf-8", "replace")
            while left:
                left = left[os.write(number, left) :]
            if os.path.isfile(path):
                os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        raise InputError(
            f"{path}: the note cannot be written: {in_words(error)}",
            hint="name another file with --notes",
        ) from error


def _cited(checkup: Checkup) -> list[str]:
    if not checkup.evidence:
        return []
    told = [f"{s}:{n}: {_plain(text, _SHOWN)}" for s, n, text in checkup.evidence]
    longest = max((len(run) for line in told for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *told, fence, ""]


def _plain(text: str, room: int = 1000) -> str:
    """One line without control characters."""
    return one_line(text)[:room]
