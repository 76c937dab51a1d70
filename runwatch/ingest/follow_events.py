"""Which files may have changed: told by the system where it can, else nobody tells.

The one home of watchfiles. Network and shared disks send no events for what others write, and
the system's watches may be used up; `Events.why` then says so, and files are looked at in turn.
"""

import asyncio
import os
import threading
from collections.abc import Iterable
from typing import Any

_STEP_MS, _CALM_MS = 5, 25  # how often events are handed over, and where none came for a while
_TURN_MS = 1000  # without events after which all is calm
_MOUNTS = "/proc/self/mountinfo"
_REMOTE = frozenset((
    "9p", "afs", "beegfs", "ceph", "cifs", "cvmfs", "drvfs", "glusterfs", "gpfs", "lustre", "ncpfs",
    "nfs", "nfs4", "orangefs", "panfs", "prl_fs", "quobyte", "smb3", "smbfs", "vboxsf", "virtiofs",
    "vmhgfs", "wekafs",
))  # fmt: skip


def disk_of(path: str, mounts: str = _MOUNTS) -> str:
    """The type of the file system that a path lies on, "" where the system does not tell."""
    path = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                before, _, behind = line.partition(" - ")
                point = before.split(" ")[4].encode().decode("unicode_escape")
                inside = path == point or path.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, behind.split(" ")[0]
    except (OSError, IndexError, UnicodeError):
        return ""
    return kind


def silent(disk: str) -> bool:
    """Whether a disk of this type sends no events for what other machines write."""
    return disk in _REMOTE or disk.startswith("fuse")


class Events:
    """The paths that changed below some folders, gathered by a thread of its own.

    `why` is "" where events come, else words on why they do not; `wait` then only waits.
    """

    def __init__(self, *, mounts: str = _MOUNTS) -> None:
        self.why = ""
        self.remote = False
        self._mounts = mounts
        self._watched: dict[str, bool] = {}
        self._changed: set[str] = set()
        self._wake = asyncio.Event()
        self._stop = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def watch(self, folders: Iterable[str], *, recursive: bool) -> None:
        """Watch these folders too. Those that are watched already cost nothing."""
        new = [f for f in dict.fromkeys(folders) if os.path.isdir(f) and not self._covers(f)]
        if not new:
            return
        self._watched.update(dict.fromkeys(new, recursive))
        far = next((disk for folder in new if silent(disk := disk_of(folder, self._mounts))), "")
        if far:
            self.remote = True
            self.why = f"looking by turns: a {far} disk tells no changes"
        if not self.why:
            self._begin(new, recursive)

    def _covers(self, folder: str) -> bool:
        if folder in self._watched:
            return True
        return any(
            deep and folder.startswith(f.rstrip("/") + "/") for f, deep in self._watched.items()
        )

    def _begin(self, folders: list[str], recursive: bool) -> None:
        try:
            from watchfiles._rust_notify import RustNotify
        except ImportError:
            self.why = (
                "looking by turns: watchfiles is not installed, pip install 'runwatch[watch]'"
            )
            return
        self._loop = asyncio.get_running_loop()
        try:
            told = RustNotify(folders, False, False, 0, recursive, True)
        except (OSError, RuntimeError) as error:
            self.why = f"looking by turns: the system gives no more watches ({error})"
            return
        threading.Thread(target=self._gather, args=(told,), daemon=True).start()

    def _gather(self, told: Any) -> None:
        """Hand the events over until the end. Watchfiles' own loop over them knows one pace only,
        and the quick one costs one per cent of a core while nothing happens."""
        pace = _STEP_MS
        try:
            with told:
                while (events := told.watch(0, pace, _TURN_MS, self._stop)) not in (
                    "stop",
                    "signal",
                ):
                    pace = _CALM_MS if events == "timeout" else _STEP_MS
                    if events != "timeout":
                        self._hand_over({path for _, path in events})
        except (OSError, RuntimeError) as error:
            self._hand_over(set())
            self.why = f"looking by turns: the system's events ended ({error})"

    def _hand_over(self, paths: set[str]) -> None:
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(self._arrived, paths)
        except RuntimeError:  # the loop has ended
            self._stop.set()

    def _arrived(self, paths: set[str]) -> None:
        self._changed |= paths
        self._wake.set()

    async def wait(self, seconds: float) -> set[str]:
        """The paths that changed, as soon as there are some; none after so many seconds."""
        if not self._wake.is_set():
            try:
                async with asyncio.timeout(max(seconds, 0.0)):
                    await self._wake.wait()
            except TimeoutError:
                return set()
        self._wake.clear()
        changed, self._changed = self._changed, set()
        return changed

    def wake(self) -> None:
        """End the wait."""
        self._wake.set()

    def close(self) -> None:
        """Watch no longer."""
        self._stop.set()
        self._wake.set()
