"""The error family. `cli.main` alone catches these and prints them.

RunwatchError
├── UsageError       2  the words on the command line are wrong
├── InputError       2  a log that cannot be read, or is no log
├── FormatError      2  a format, metric or signature file that breaks its own samples
├── QueryError       2  SQL that cannot be answered
├── StoreError       3  the history could not be opened or written
└── UnreachableError 3  a source did not answer: the state of the run is unknown, not bad
"""

from typing import ClassVar


class RunwatchError(Exception):
    """What went wrong, where, and one hint on what to do about it."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(RunwatchError):
    """The words on the command line are wrong."""


class InputError(RunwatchError):
    """A log that cannot be read, or is no log."""


class FormatError(RunwatchError):
    """A file of formats, metric names or signatures that breaks its own samples."""


class QueryError(RunwatchError):
    """SQL that cannot be answered."""


class StoreError(RunwatchError):
    """The history could not be opened or written."""

    exit_code = 3


class UnreachableError(RunwatchError):
    """A source did not answer: the state of the run is unknown, not bad."""

    exit_code = 3


def in_words(error: OSError) -> str:
    """What the system said, without its number."""
    return (error.strerror or str(error)).lower()
