"""What is done about a run that should stop: its session is ended, or the user's command run."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from glob import glob

from runwatch.errors import RunwatchError, UsageError, in_words
from runwatch.ingest.process_local import local
from runwatch.owner import Owner, descendants, stat, writer_of
from runwatch.repair import run
from runwatch.session import REMOTE
from runwatch.session import end_session as end_far_session
from runwatch.target import FILES, Kind, Target
from runwatch.termination import GRACE, end, outcome

KILL, NONE = "kill", "none"


def check_order(order: str, target: Target) -> None:
    """Raises UsageError where a session is to be ended that cannot be reached from here."""
    known = REMOTE if target.host else (*FILES, Kind.PID, Kind.PROC)
    if order == KILL and target.kind not in known:
        raise UsageError(
            f"--on-stop kill: no process is known for {target}",
            hint="give the command that ends it, such as --on-stop 'scancel 4711'",
        )


def announced(order: str) -> str:
    """What would be done, in words."""
    if order == NONE:
        return "nothing (--on-stop none)"
    return "end the session of the training" if order == KILL else f"run {order}"


def act(order: str, target: Target, told: Mapping[str, str]) -> tuple[bool, str]:
    """Do it; whether it was done, and what came of it in words. `told` are variables of the
    command's environment: what others wrote never becomes part of the command."""
    try:
        if order == KILL:
            return _ended(target)
        done, words = run(order, told)
    except OSError as error:
        return False, f"failed: {in_words(error)}"
    return done, "the command was run" if done else f"the command {words}"


def _ended(target: Target) -> tuple[bool, str]:
    try:
        if target.host:
            return asyncio.run(end_far_session(target))
        owner = _owner(target)
    except RunwatchError as error:
        return False, f"nothing was ended: {error}"
    if owner is None:
        return False, "nothing was ended: no process is known to write the log"
    return end_session(owner)


def _owner(target: Target) -> Owner | None:
    """The process behind a target of this machine."""
    if target.kind is Kind.PID:
        return Owner.of(int(target.path))
    if target.kind is Kind.PROC:
        return Owner.of(asyncio.run(local().find(name=target.path)).pid)
    paths = glob(target.path, recursive=True) if target.kind is Kind.GLOB else [target.path]
    return writer_of(paths)


def end_session(owner: Owner, grace: float = GRACE) -> tuple[bool, str]:
    """End the process group of a process and all that it started: asked first, then made to.
    Whether all are gone, and what was done in words.

    The group that we are in ourselves, and the first of a machine, are left alone: then only the
    process and what it started are ended.
    """
    who = f"process {owner.pid}" + (f" ({owner.process.name})" if owner.process.name else "")
    try:
        group = os.getpgid(owner.pid)
    except ProcessLookupError:
        return True, f"{who} had ended already"
    if group <= 1 or group == os.getpgrp():
        left = end(owner, descendants(owner.pid), grace)
        return not left, f"{who}: {outcome(owner.pid, left)}" if left else f"ended {who}"
    members = set(_members(group))
    if not owner.process.command and members <= {owner.pid}:
        return False, f"nothing was ended: only {owner.process.name} writes the log, for others"
    family = members | {owner.pid, *descendants(owner.pid)}
    left = end(owner, family, grace, lambda: _members(group))
    if left:
        return False, f"{who}: {outcome(owner.pid, left)}"
    return True, f"ended {who} and its group of {len(family)}"


def _members(group: int) -> Iterator[int]:
    """The living processes of a group."""
    for name in os.listdir("/proc"):
        if name.isdecimal() and (fields := stat(int(name))) and int(fields[2]) == group:
            yield int(name)
