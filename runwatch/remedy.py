"""What may be done about a run that broke, what needs a person, and how often it was tried.

Policy only, as pure values: nothing here touches a process (see `repair`). Which causes a restart
may help against unasked is data, `restart` in `kinds.toml`.
"""

import shlex
from collections.abc import Collection
from dataclasses import asdict, field, replace
from typing import Any, Protocol

from runwatch.finding import Finding
from runwatch.ingest.process import Process
from runwatch.judgement import rule
from runwatch.slotted import frozen

TRIES = 3
RESTART, REVIVE, CLEAR, CANCEL = "restart", "kill-restart", "clear-cache", "cancel"
KINDS = (RESTART, REVIVE, CLEAR, CANCEL)


@frozen
class Allowed:
    """What the user allows: `fix` is off with --no-fix; `yes` names kinds allowed in advance, for
    any cause; the commands are the user's own, in words of a shell. `remote` is on with
    --fix-remote. `away` is why nothing can be done about this run from here, if so."""

    fix: bool = True
    yes: frozenset[str] = frozenset()
    restart_command: str = ""
    clear_command: str = ""
    remote: bool = False
    away: str = ""


@frozen
class Remedy:
    """One thing to do. `asks` where only a person may; `command` does it in a shell in `folder`."""

    kind: str
    why: str
    command: str = ""
    folder: str = ""
    asks: bool = False
    tried: int = 0

    @property
    def told(self) -> str:
        """The exact command, as it can be pasted."""
        return f"cd {shlex.quote(self.folder)} && {self.command}" if self.folder else self.command


@frozen
class Action:
    """A remedy that was tried: for which finding, at which step, and what came of it."""

    kind: str
    why: str
    command: str
    at: str
    step: int | None = None
    finding: str = ""
    outcome: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@frozen
class Budget:
    """Tries by kind since the run last came further than where it failed."""

    tries: dict[str, int] = field(default_factory=dict)
    failed_at: int | None = None

    def at(self, step: int | None) -> "Budget":
        """The budget for a failure at this step: whole again if the run came further."""
        further = step is not None and (self.failed_at is None or step > self.failed_at)
        if further:
            return Budget({}, step)
        return self

    def spent(self, kind: str) -> "Budget":
        """After one more try."""
        return replace(self, tries={**self.tries, _fix(kind): self.tried(kind) + 1})

    def left(self, kind: str) -> int:
        """Tries that may still be made."""
        return max(0, TRIES - self.tried(kind))

    def tried(self, kind: str) -> int:
        """Tries that were made."""
        return self.tries.get(_fix(kind), 0)


def _fix(kind: str) -> str:
    """Whether it is a zombie or gone when it is started again is chance: both are one fix."""
    return RESTART if kind == REVIVE else kind


def remedy(
    cause: Finding | None, process: Process | None, budget: Budget, allowed: Allowed, *,
    sure: bool = True,
) -> Remedy | None:  # fmt: skip
    """What to do about a run that has ended badly, or hangs; None where nothing can be.

    What needs a person comes back with `asks`: for its cause, because the tries are used up, or
    because fixes are off, or because it may have ended well (not `sure`).
    """
    command, folder = _command(process, allowed)
    if not command:
        return None
    hangs = process is not None and process.alive
    zombie = process is not None and process.state == "zombie"
    kind = REVIVE if hangs or zombie else RESTART
    reason = why_not(kind, cause, budget, allowed, hangs=hangs)
    if not reason and not sure and kind not in allowed.yes:
        reason = f"nothing says whether it has finished (`--yes {kind}` starts it all the same)"
    title = rule(cause.kind).title if cause is not None else "The process is gone"
    why = title if not reason else f"{title}; {reason}"
    return Remedy(kind, why, command, folder, bool(reason), budget.tried(kind))


def why_not(
    kind: str, cause: Finding | None, budget: Budget, allowed: Allowed, *, hangs: bool = False
) -> str:
    """Why this is not done unasked; empty where it may be."""
    if not allowed.fix:
        return "fixes are off (--no-fix)"
    if allowed.away:
        return allowed.away
    if not budget.left(kind):
        return f"{TRIES} tries brought no progress"
    if kind in allowed.yes:
        return ""
    if cause is not None and not rule(cause.kind).retry:
        return f"starting again unchanged cannot help (`--yes {kind}` does it all the same)"
    if hangs or (cause is not None and not rule(cause.kind).restart):
        return f"this needs a person (`--yes {kind}` allows it)"
    return ""


def cancelling(process: Process | None, allowed: Allowed) -> Remedy | None:
    """Ending a run whose numbers are lost, which only a person may ask for."""
    if process is None or not process.alive:
        return None
    may = allowed.fix and not allowed.away and CANCEL in allowed.yes
    return Remedy(CANCEL, "its numbers are lost", f"kill {process.pid}", asks=not may)


def clearing(cause: Finding, budget: Budget, allowed: Allowed) -> Remedy | None:
    """The user's own command that frees GPU memory, where memory ran out."""
    if cause.kind != "cuda_oom" or not allowed.clear_command or not allowed.fix:
        return None
    if not budget.left(CLEAR):
        return None
    return Remedy(CLEAR, rule(cause.kind).title, allowed.clear_command)


def _command(process: Process | None, allowed: Allowed) -> tuple[str, str]:
    folder = process.folder if process else ""
    if allowed.restart_command:
        return allowed.restart_command, folder
    return (shlex.join(process.command), folder) if process and process.command else ("", "")


def proposals(remedies: Collection[Remedy | None]) -> list[str]:
    """The commands that a person may run, each once."""
    return list(dict.fromkeys(r.told for r in remedies if r is not None and r.asks and r.command))


class Doing(Protocol):
    """Something that is being done, as futures of threads and of asyncio are."""

    def done(self) -> bool:
        """Whether it is over."""

    def result(self) -> str:
        """What came of it, in words. Raises OSError or RunwatchError where it failed."""


class Body(Protocol):
    """The process behind a run: looked at, started again, ended."""

    @property
    def away(self) -> str:
        """Why nothing can be done about it from here, "" where it can."""

    def look(self) -> Process | None:
        """How it is now; None where no process is known."""

    def is_fresh(self) -> bool:
        """Whether `look` tells how it is since this was asked first."""

    def carry_out(self, chosen: Remedy) -> Doing:
        """Begin a remedy; nobody waits here."""
