"""The commands and their options; a wrong word gets the closest right one as a hint."""

import argparse
import re
from collections.abc import Iterable
from functools import cache, partial
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from runwatch import shipped
from runwatch.errors import UsageError


class Command(Protocol):
    """What each module of `runwatch.cli` is."""

    EXAMPLES: str

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add what the command takes."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the return value is the exit code."""


class Grammar(argparse.ArgumentParser):
    """An argument parser that raises UsageError, with a hint, instead of leaving the program."""

    def error(self, message: str) -> NoReturn:
        """Never returns: raises UsageError."""
        raise UsageError(message, hint=f"`{self.prog} --help` shows what it takes")

    def format_help(self) -> str:
        """As in argparse, as wide as the terminal."""
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_help()

    def print_help(self, file: Any = None) -> None:
        """As in argparse, but a full disk or a closed output is an OSError."""
        print(self.format_help(), end="", file=file, flush=True)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse, but an unknown option names its closest relative."""
        # Unknown options first: an option misspelt may be why a required word is missing.
        known = [option for action in self._actions for option in action.option_strings]
        for word in _options_among(args or []):
            if word.split("=", 1)[0] not in known and not _glued(word, known):
                near = closest(word, known)
                hint = f"did you mean {near}?" if near else f"`{self.prog} --help` lists them"
                raise UsageError(f"unknown option {word!r}", hint=hint)
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(f"unexpected words: {' '.join(unknown)}")
        return options


def names() -> list[str]:
    """The commands, by the files that they are."""
    found = (name.removesuffix(".py") for name in shipped.names("cli", ".py"))
    return [name for name in found if name.isidentifier() and not name.startswith("_")]


@cache
def command(name: str) -> Command:
    """The module of a command; only this one is imported to run it."""
    return cast("Command", import_module(f"runwatch.cli.{name}"))


def summary(name: str) -> str:
    """The command in one line."""
    return (command(name).__doc__ or "").split("\n", 1)[0].rstrip(".")


def parser_of(name: str) -> Grammar:
    """The grammar of one command."""
    module = command(name)
    parser = Grammar(
        prog=f"runwatch {name}",
        description=module.__doc__,
        epilog=f"examples:\n{module.EXAMPLES}",
        # One is made for each option; how wide the terminal is need not be asked so often.
        formatter_class=partial(argparse.HelpFormatter, width=80),
        allow_abbrev=False,
    )
    module.arguments(parser)
    return parser


def whole() -> argparse.ArgumentParser:
    """One parser with all commands below it, as shell completion wants it."""
    parser = argparse.ArgumentParser(prog="runwatch", allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="the version")
    below = parser.add_subparsers(dest="command")
    for name in names():
        command(name).arguments(below.add_parser(name, help=summary(name), allow_abbrev=False))
    return parser


def closest(word: str, choices: Iterable[str]) -> str:
    """The choice most like a mistyped word, or nothing."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.split("=", 1)[0], list(choices), n=1, cutoff=0.55)), "")


def _options_among(words: list[str]) -> list[str]:
    """The words that look like options, before a lone `--`."""
    end = words.index("--") if "--" in words else len(words)
    return [word for word in words[:end] if re.match(r"--?[A-Za-z]", word)]


def _glued(word: str, known: list[str]) -> bool:
    """Whether it is a short option with its value glued on, like `-oFILE`."""
    return not word.startswith("--") and word[:2] in known
