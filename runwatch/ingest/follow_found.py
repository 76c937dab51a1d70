"""Which files a target on this machine names just now, and which of them are logs."""

import glob
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from runwatch.errors import InputError, in_words
from runwatch.ingest.file import printable, sample_at
from runwatch.ingest.folder import Walk
from runwatch.ingest.glob import before_signs
from runwatch.ingest.order import reading_order
from runwatch.ingest.sniff import is_one_document, looks_binary, passed_over
from runwatch.target import Kind, Target


@dataclass
class Names:
    """The files of a target: looked for again and again, as rank files join.

    `root` is what the streams' names are relative to; `folders` are what has to be watched.
    """

    target: Target
    listed: Callable[[], list[str]] | None = None  # gives the files, where no path names them
    root: str = ""
    recursive: bool = True
    rejected: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        path = os.path.abspath(self.target.path)
        if self.listed is not None:
            self.root, self.recursive = _common(self.listed()), False
        elif self.target.kind is Kind.FILE:
            self.root, self.recursive = os.path.dirname(path), False
        elif self.target.kind is Kind.FOLDER:
            self.root = path
        else:
            self.root = before_signs(self.target.path)
            self.recursive = "/" in os.path.relpath(path, self.root) or "**" in path

    @property
    def folders(self) -> list[str]:
        """What to watch: the folder, and for a link the folder of the file that it leads to."""
        if self.listed is not None:
            return [os.path.dirname(path) for path in self.listed()]
        found = [self.root]
        if self.target.kind is Kind.FILE:
            found.append(os.path.dirname(os.path.realpath(self.target.path)))
        return found

    def name_of(self, path: str) -> str:
        """The stream's name of a file."""
        return printable(os.path.relpath(path, self.root))

    def find(self) -> list[str]:
        """All files there are now, absolute, in reading order, without what no log is named."""
        if self.listed is not None:
            return self.listed()
        if self.target.kind is Kind.FILE:
            return [os.path.abspath(self.target.path)]
        found = Walk(os.path.splitext(self.target.path)[1].lower())
        if self.target.kind is Kind.FOLDER:
            found.enter([self.root])
        else:
            paths = sorted(map(os.path.abspath, glob.glob(self.target.path, recursive=True)))
            found.enter(
                p for p in sorted(paths, key=os.path.islink)
                if os.path.isdir(p) or not passed_over(p, found.wanted)
            )  # fmt: skip
        return sorted(found.files, key=lambda path: reading_order(self.name_of(path)))

    def may_join(self, path: str) -> bool:
        """Whether a path that changed may be a new log or hold one; files are told by name."""
        if self.target.kind is Kind.FILE or path in self.rejected:
            return False
        return not passed_over(path, os.path.splitext(self.target.path)[1].lower())

    def is_log(self, path: str) -> bool:
        """Whether a new file is to be followed, by its content so far; `rejected` keeps why not."""
        if self.target.kind is Kind.FILE:
            return True
        try:
            sample = sample_at(path)
            why = looks_binary(sample)
            why = why or ("a JSON document" if is_one_document(path, sample) else "")
        except FileNotFoundError:
            return False
        except OSError as error:
            why = in_words(error)
        except InputError as error:
            why = str(error)
        if why:
            self.rejected[path] = why
        return not why


def _common(paths: list[str]) -> str:
    return os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else "/"
