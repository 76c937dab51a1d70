"""Words in, words out: finds the command, runs it, and turns errors into an exit code.

Each module beside this file is a command: `arguments(parser)` says what it takes, `run(options)`
does it and returns the exit code, the first line of its docstring is its line in `--help`, the
rest its description, and `EXAMPLES` what `--help` shows at the end. `words/` reads what was typed,
`report/` writes what is answered. Only this room prints, and only this room reads the environment.

Exit codes: 0 continue, go, or simply worked; 1 stop, no-go; 2 wrong usage or unreadable input;
3 a source or the store could not be reached; 4 wait; 130 interrupted.
"""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from runwatch.errors import InputError, RunwatchError, UsageError

INTERRUPTED = 130
# New objects after which cycles are looked for. Hardly any of ours are in one, and to look at every
# 700, as Python does, is felt while modules are loaded.
_FEW_CYCLES = 100_000


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; the console script passes it to the shell."""
    if sys.stdout is None:  # closed by the shell (`>&-`): nothing can be written to this one
        sys.stdout = open(os.devnull)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    gc.set_threshold(_FEW_CYCLES)
    try:
        code = _run(list(sys.argv[1:] if words is None else words))
        sys.stdout.flush()
        _save_what_is_kept()
    except RunwatchError as error:
        complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        _hear_no_more()
        _tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        drop_stdout()
        return 0
    except OSError as error:  # what is read and kept has errors of its own
        if error.filename is None:
            drop_stdout()
        complain(_failed(error))
        return InputError.exit_code
    return code


def _save_what_is_kept() -> None:
    from runwatch.kept import save

    save()
    # Loaded by who read a large log; nobody else has anything to leave there.
    if (remembered := sys.modules.get("runwatch.parse.remembered")) is not None:
        remembered.save()


def _failed(error: OSError) -> InputError:
    why = error.strerror or "standard output is closed"
    if error.filename is None:
        return InputError(f"cannot write: {why}", hint="is the disk full?")
    return InputError(f"{error.filename}: {why}", hint="check the file and its permissions")


def complain(error: RunwatchError, about: str = "") -> None:
    """Print an error and its hint to stderr, as data: without escape sequences and secrets."""
    from runwatch.cli.report.text import clean, paint
    from runwatch.redact import redact

    message = f"{about}: {error}" if about and about not in str(error) else str(error)
    _tell(f"{paint('error:', 'red', sys.stderr)} {clean(redact(message))}")
    if error.hint:
        _tell(f"{paint('hint:', 'cyan', sys.stderr)} {clean(redact(error.hint))}")


def _tell(text: str) -> None:
    """Print to stderr. Where that cannot be written, the exit code tells all the same."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def _run(words: list[str]) -> int:
    from runwatch.cli.words.grammar import command, names, parser_of

    if not words:
        print(_overview(), end="", file=sys.stderr)
        return UsageError.exit_code
    first, *rest = words
    if first in ("-h", "--help", "help"):
        if rest:
            return _run([rest[0], "--help"])
        print(_overview(), end="")
        return 0
    if first in ("-V", "--version"):
        from runwatch import __version__

        print(f"runwatch {__version__}")
        return 0
    if first not in names():
        raise _unknown(first)
    module = command(first)
    options = parser_of(first).parse_args(rest)
    return module.run(options)


def _overview() -> str:
    from runwatch import __doc__ as about
    from runwatch.cli.words.grammar import names, summary

    listing = "".join(f"  {name:<12}{summary(name)}\n" for name in names())
    return (
        "usage: runwatch COMMAND [OPTIONS]\n\n"
        f"{(about or '').removeprefix('runwatch: ').capitalize()}\n\n"
        f"commands:\n{listing}\n"
        "options:\n"
        "  -h, --help  this text; `runwatch COMMAND --help` says more\n"
        "  --version   the version\n\n"
        "examples:\n"
        "  runwatch scan train.log          what it measured, how it went, what broke first\n"
        "  runwatch scan logs/              a folder with one log per rank is one run\n"
        '  runwatch sql "FROM runs"         ask the history\n'
    )


def _unknown(word: str) -> UsageError:
    from pathlib import Path

    from runwatch.cli.words.grammar import closest, names

    what = "option" if word.startswith("-") else "command"
    near = closest(word, names())
    hint = f"did you mean `runwatch {near}`?" if near else "`runwatch --help` lists the commands"
    if what == "command" and not near and Path(word).exists():
        hint = f"did you mean `runwatch scan {word}`?"
    return UsageError(f"unknown {what} {word!r}", hint=hint)


def _hear_no_more() -> None:
    """Another Ctrl-C has nothing left to end: as the interpreter ends, it would be a traceback."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def drop_stdout() -> None:
    """Nobody reads (`| head`): let the interpreter's last flush go nowhere, quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
