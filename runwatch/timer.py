"""A timer that fires a check every ten minutes: a systemd user timer, or a line of the crontab.

The check itself knows whether it is due, so the timer's pace never changes. What is written is
shown first; `runwatch check --remove-timer` takes it away again.
"""

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from runwatch.errors import InputError, UsageError, in_words
from runwatch.slotted import frozen

EVERY = 10  # minutes
_PATIENCE = 30.0  # seconds for systemctl and crontab


class Timer(Protocol):
    """A timer of one run."""

    def shown(self) -> str:
        """Exactly what is written, and where."""

    def install(self) -> str:
        """Write it, in place of an older one; what is to be known, in words. Raises InputError."""

    def remove(self) -> bool:
        """Take it away; whether there was one. Raises InputError."""


def timer_of(
    kind: str, run: str, command: Sequence[str], folder: Path, environment: Mapping[str, str],
    units: Path,
) -> Timer:  # fmt: skip
    """A timer of the kind `systemd`, `cron`, or whichever is there for `auto`.

    `folder` is where the command runs, `environment` what it needs to find its history, `units`
    the user's folder of systemd units. Raises UsageError where there is neither.
    """
    if kind == "systemd" or (kind == "auto" and _has_user_systemd()):
        return Systemd(run, tuple(command), folder, dict(environment), units)
    if kind == "cron" or shutil.which("crontab"):
        return Cron(run, tuple(command), folder, dict(environment))
    raise UsageError(
        "neither systemd for users nor crontab is here",
        hint="run `runwatch check --due TARGET` every ten minutes from whatever there is",
    )


@frozen
class Systemd:
    """Two unit files in the user's folder of units."""

    run: str
    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    units: Path

    @property
    def name(self) -> str:
        """Of both units."""
        plain = "".join(c if c.isascii() else "_" for c in self.run)
        return f"runwatch-check-{plain}"

    def files(self) -> dict[Path, str]:
        """The texts by their places."""
        words = " ".join(_unit_word(word).replace("$", "$$") for word in self.command)
        variables = "".join(
            f"Environment={_unit_word(f'{name}={value}')}\n"
            for name, value in self.environment.items()
        )
        service = (
            f"[Unit]\nDescription=Training check of {_unit_text(self.run)}\n\n"
            f"[Service]\nType=oneshot\nWorkingDirectory={_unit_path(self.folder)}\n{variables}"
            f"ExecStart={words}\nSuccessExitStatus=4\n"
        )
        timer = (
            f"[Unit]\nDescription=Training check of {_unit_text(self.run)}, when due\n\n"
            f"[Timer]\nOnActiveSec=1min\nOnUnitActiveSec={EVERY}min\nAccuracySec=10s\n\n"
            "[Install]\nWantedBy=timers.target\n"
        )
        return {
            self.units / f"{self.name}.service": service,
            self.units / f"{self.name}.timer": timer,
        }

    def shown(self) -> str:
        """Both files."""
        return "\n".join(f"# {path}\n{text}" for path, text in self.files().items())

    def install(self) -> str:
        """Write the files and start the timer; files that cannot be used are not left behind."""
        files = self.files()
        try:
            self.units.mkdir(parents=True, exist_ok=True)
            for path, text in files.items():
                path.write_text(text, "utf-8")
        except OSError as error:
            self._unlink()
            raise _failed(str(error.filename or self.units), error) from error
        try:
            _tool("systemctl", "--user", "daemon-reload")
            _tool("systemctl", "--user", "enable", "--now", f"{self.name}.timer")
        except InputError:
            self._unlink()
            raise
        return (
            f"`systemctl --user list-timers` shows it, `journalctl --user -u {self.name}` what it "
            "said; `loginctl enable-linger` keeps it while you are logged out"
        )

    def remove(self) -> bool:
        """Stop the timer and remove its files."""
        there = any(path.exists() for path in self.files())
        if there:
            try:
                _tool("systemctl", "--user", "disable", "--now", f"{self.name}.timer")
            finally:
                self._unlink()
            _tool("systemctl", "--user", "daemon-reload")
        return there

    def _unlink(self) -> None:
        for path in self.files():
            path.unlink(missing_ok=True)


@frozen
class Cron:
    """One line of the user's crontab, told by the mark at its end."""

    run: str
    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]

    @property
    def mark(self) -> str:
        """The end of the line."""
        return f"# runwatch check {self.run}"

    def line(self) -> str:
        """The line; `%` would end a command of cron, so it is escaped."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        words = " ".join([*variables, shlex.join(self.command)])
        told = f"cd {shlex.quote(str(self.folder))} && {words}"
        if "\n" in told or "\r" in told:
            raise UsageError("a line end in a path or an option fits into no crontab")
        return f"*/{EVERY} * * * * {told} {self.mark}".replace("%", "\\%")

    def shown(self) -> str:
        """The line."""
        return f"# crontab -e\n{self.line()}\n"

    def install(self) -> str:
        """Add the line, in place of an older one of this run; the others stay as they are."""
        kept, _ = self._others()
        self._write([*kept, self.line()])
        return "`crontab -l` shows it; cron mails what it says"

    def remove(self) -> bool:
        """Take the line away."""
        kept, found = self._others()
        if found:
            self._write(kept)
        return found

    def _others(self) -> tuple[list[str], bool]:
        done = _run(["crontab", "-l"])
        if done.returncode and "no crontab" not in done.stderr.lower():
            raise InputError(f"the crontab cannot be read: {_said(done)}", hint="try `crontab -l`")
        lines = done.stdout.splitlines() if not done.returncode else []
        mark = self.mark.replace("%", "\\%")
        kept = [line for line in lines if not line.endswith(mark)]
        return kept, len(kept) < len(lines)

    def _write(self, lines: Sequence[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        done = _run(["crontab", "-"], text) if lines else _run(["crontab", "-r"])
        if done.returncode:
            raise InputError(f"the crontab cannot be written: {_said(done)}", hint="is it allowed?")


def _has_user_systemd() -> bool:
    if not shutil.which("systemctl"):
        return False
    return _run(["systemctl", "--user", "show-environment"]).returncode == 0


def _tool(*words: str) -> None:
    if not shutil.which(words[0]):
        raise InputError(f"there is no {words[0]} here", hint="try --timer cron")
    done = _run(list(words))
    if done.returncode:
        raise InputError(f"{' '.join(words)}: {_said(done)}", hint="try --timer cron")


def _run(words: list[str], text: str | None = None) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603 systemctl and crontab, our own words
            words, input=text, capture_output=True, text=True, timeout=_PATIENCE, check=False,
            errors="surrogateescape", stdin=None if text is not None else subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{words[0]} cannot be run", hint=str(error)) from error


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"code {done.returncode}"


def _failed(place: str, error: OSError) -> InputError:
    why = in_words(error)
    return InputError(f"{place}: {why}", hint="try --timer cron")


def _unit_word(word: str) -> str:
    """A word of a unit file: quoted, and no specifiers are read into it."""
    if "\n" in word or "\r" in word:
        raise UsageError("a line end in a path or an option fits into no unit file")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("%", "%%") + '"'


def _unit_path(path: Path) -> str:
    text = str(path)
    if "\n" in text or "\r" in text:
        raise UsageError("a line end in a path fits into no unit file")
    return text.replace("%", "%%")


def _unit_text(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text).replace("%", "%%")
