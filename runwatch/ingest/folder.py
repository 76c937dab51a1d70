"""A folder as one run: a stream for each log in it, at any depth."""

import os
import stat
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from runwatch.chunk import Stream
from runwatch.errors import InputError, in_words
from runwatch.ingest.file import Files, LogFile, printable, sample_at, unreadable
from runwatch.ingest.kinds import READING, kind_of, lasting, outdated
from runwatch.ingest.order import reading_order
from runwatch.ingest.ranks import ranks
from runwatch.ingest.records import STATE
from runwatch.ingest.sniff import closed_folder, is_one_document, looks_binary, passed_over
from runwatch.ingest.source import Skipped
from runwatch.plain import counted
from runwatch.target import Target


def open_target(target: Target) -> Files:
    """All logs below a folder. Raises InputError where it holds none or may not be read."""
    root = target.path
    try:
        os.scandir(root).close()
    except OSError as error:
        raise unreadable(root, error) from error
    found = Walk()
    found.enter([root])
    return logs_of(found, root, printable(target.text))


def logs_of(found: "Walk", root: str, text: str) -> Files:
    """The logs among the files found, named by their paths below `root`.

    Raises InputError where none is a log; `text` is what was typed.
    """
    paths: dict[str, str] = {}
    for path in found.files:
        paths[_free(_named(path, root), paths)] = path
    skipped = [replace(skip, name=_named(skip.name, root)) for skip in found.skipped]
    kinds: dict[str, str] = {}
    for name in sorted(paths, key=reading_order):
        why = _no_log(paths[name])
        if why:
            skipped.append(Skipped(name, why))
        else:
            kinds[name] = kind_of(paths[name])
    for name, newer in outdated(name for name, kind in kinds.items() if kind == STATE):
        skipped.append(Skipped(name, f"an earlier state of the run than {newer}"))
        del kinds[name]
    names = sorted(kinds, key=lambda name: READING.index(kinds[name]))
    if not names:
        raise InputError(f"{text}: no logs in it", hint=_what_was_there(skipped))
    top = os.path.basename(os.path.abspath(root))
    told = ranks([f"{top}/{name}" for name in names])
    files = [
        LogFile(Stream(_lasting(name, kinds), rank, kinds[name]), paths[name])
        for name, rank in zip(names, told, strict=True)
    ]
    return Files(files, skipped)


@dataclass
class Walk:
    """Files found below some folders, each once however many names lead to it.

    Links are followed after everything that stands where it stands, so a link to a file of the
    same run gives way to the file, and a link to a folder above ends the way.
    """

    wanted: str = ""
    files: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    _seen: dict[tuple[int, int], str] = field(default_factory=dict)
    _by_name: dict[tuple[str, str], int] = field(default_factory=dict)

    def enter(self, paths: Iterable[str]) -> None:
        """Take up files and folders, and all that is below the folders."""
        waiting, links = deque(paths), deque[str]()
        while waiting or links:
            path = waiting.popleft() if waiting else links.popleft()
            try:
                if self._is_new(path, status := os.stat(path)):
                    if stat.S_ISDIR(status.st_mode):
                        self._open(path, waiting, links)
                    elif self._is_file(path, status.st_mode):
                        self.files.append(path)
            except FileNotFoundError:
                self.skipped.append(Skipped(path, "a link to nothing"))
            except OSError as error:
                self.skipped.append(Skipped(path, in_words(error)))

    def _open(self, folder: str, waiting: deque[str], links: deque[str]) -> None:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                is_folder = _leads_to_folder(entry)
                why = closed_folder(entry.name) if is_folder else ""
                why = why or ("" if is_folder else passed_over(entry.path, self.wanted))
                if why:
                    self.pass_over(folder, entry.path, why)
                else:
                    (links if entry.is_symlink() else waiting).append(entry.path)

    def pass_over(self, folder: str, path: str, why: str) -> None:
        """Ten thousand images of one folder are one entry."""
        at = self._by_name.setdefault((folder, why), len(self.skipped))
        if at == len(self.skipped):
            self.skipped.append(Skipped(path, why))
        else:
            self.skipped[at] = replace(self.skipped[at], count=self.skipped[at].count + 1)

    def _is_new(self, path: str, status: os.stat_result) -> bool:
        key = (status.st_dev, status.st_ino)
        first = self._seen.get(key) if status.st_ino else None  # some network disks tell none
        if first is not None:
            if os.path.normpath(first) != os.path.normpath(path):  # a glob may match it twice
                self.skipped.append(Skipped(path, f"the same as {printable(first)}"))
            return False
        self._seen[key] = path
        return True

    def _is_file(self, path: str, mode: int) -> bool:
        if stat.S_ISREG(mode):
            return True
        self.skipped.append(Skipped(path, "a pipe, socket or device"))
        return False


def _lasting(name: str, kinds: Mapping[str, str]) -> str:
    return lasting(name) if kinds[name] == STATE else name


def _named(path: str, root: str) -> str:
    return printable(os.path.relpath(path, root))


def _free(name: str, taken: Collection[str]) -> str:
    """Two names with other bytes may print the same; streams need names of their own."""
    return next(
        free for at in count(1) if (free := f"{name}~{at}" if at > 1 else name) not in taken
    )


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself: taken as a file, it is told as unreadable
        return False


def _no_log(path: str) -> str:
    """Why a file is no log by its content or cannot be read, else ""."""
    try:
        sample = sample_at(path)
    except OSError as error:
        return in_words(error)
    except InputError as error:
        return str(error)
    return looks_binary(sample) or ("a JSON document" if is_one_document(path, sample) else "")


def _what_was_there(skipped: Sequence[Skipped]) -> str:
    if not skipped:
        return "the folder is empty; name the folder that the run writes its logs to"
    some = "; ".join(f"{skip.name} ({skip.reason})" for skip in skipped[:3])
    return f"passed over {counted(sum(skip.count for skip in skipped), 'file')}: {some}"
