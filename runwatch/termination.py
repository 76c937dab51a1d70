"""Processes ended, here and by a script on a host: all are asked first, and have the same time to
save what they must; whoever lives on is made to end, and whoever outlives that is told.
"""

import os
import shlex
import signal
import time
from collections.abc import Callable, Collection, Iterable, Sequence

from runwatch.ingest.process import Process
from runwatch.ingest.process_remote import RemoteProcesses
from runwatch.ingest.ssh import Host
from runwatch.owner import Owner, stat

GRACE = 10.0  # seconds between asking processes to end and ending them
_GOING = 5  # seconds until one that was made to end is gone


def end(
    owner: Owner, family: Iterable[int], grace: float = GRACE,
    more: Callable[[], Iterable[int]] = tuple,
) -> list[int]:  # fmt: skip
    """End a process and its family, and whatever `more` finds that joined it meanwhile; the
    numbers of those that live on. A number that was given away is nobody's any more."""
    known = {pid: _born(pid) for pid in [owner.pid, *family]}
    left = _left(owner, known)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in left:
            send(pid, number)
        end_at = time.monotonic() + grace
        while left := _left(owner, known):
            if time.monotonic() >= end_at:
                break
            time.sleep(0.05)
        else:
            return []
        known = {pid: _born(pid) for pid in more()} | known
        left = _left(owner, known)
    return left


def _left(owner: Owner, known: dict[int, str]) -> list[int]:
    """Those that live, of processes by number with the time of their start."""
    alive = owner.look().alive  # which reaps a child of ours
    return [
        pid for pid, born in known.items()
        if (alive if pid == owner.pid else born and _born(pid) == born)
    ]  # fmt: skip


def _born(pid: int) -> str:
    """When it started; "" where it does not live."""
    fields = stat(pid)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process; nothing where it has ended or is not ours."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


async def end_there(
    host: Host, processes: RemoteProcesses, process: Process, family: Sequence[int]
) -> tuple[Process, list[int]]:
    """The same on a host: how the process is then, and the numbers of those that live on. Raises
    UnreachableError."""
    left = survivors(await host.run(ending(process, family), patience=GRACE + 20))
    seen = await processes.look(process)
    return seen, [seen.pid, *left] if seen.alive else left


def ending(process: Process, family: Sequence[int], grace: float = GRACE) -> str:
    """A script that ends a process, if its number is still its own, and its family; it says
    `left` and the numbers of those that live on. Where there is no /proc, ps is asked."""
    if process.started:
        seen = "sed 's/.*) //' /proc/$1/stat | cut -d' ' -f1,20"
        own = f'set -- $(seen {process.pid}); [ "$2" = {shlex.quote(process.started)} ] || exit'
    else:
        seen, own = "ps -o stat= -p $1", ":"
    return f"""\
seen() {{ {seen}; }}
{own}
left() {{
    now=
    for one in $rest; do
        set -- $(seen ${{one%:*}})
        case $1 in ''|Z*|X*) ;; *) [ "$2" != "${{one#*:}}" ] || now="$now $one";; esac
    done
    rest=$now; [ -n "$rest" ]
}}
make() {{
    for one in $rest; do kill -$1 ${{one%:*}}; done
    n=0; while left && [ $n -lt $2 ]; do sleep 1; n=$((n+1)); done
}}
rest=
for one in {" ".join(map(str, family))}; do set -- $(seen $one); rest="$rest $one:$2"; done
left
make TERM {grace:.0f}
make KILL {_GOING}
echo left; for one in $rest; do echo ${{one%:*}}; done"""


def survivors(answer: bytes) -> list[int]:
    """Who lives on after `ending`, by what it said; nobody where it did not come so far."""
    _, found, told = answer.rpartition(b"left\n")
    return [int(word) for word in told.split() if word.isdigit()] if found else []


def outcome(pid: int, left: Collection[int]) -> str:
    """What came of it, in words."""
    if pid in left:
        return "it could not be ended"
    some = ", ".join(map(str, sorted(left)[:4]))
    return f"ended, but what it started lives on: {some}" if left else "ended"
