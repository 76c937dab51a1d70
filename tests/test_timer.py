"""Timers: a real crontab of an account that has none, and unit files that systemd itself reads."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runwatch.errors import InputError, UsageError
from runwatch.timer import Cron, Systemd
from tests.crontab import crontab, listed

__all__ = ["crontab"]  # a fixture

NASTY = ["a b", "100%", "$HOME", "it's", 'say "x"', "back\\slash", "ünï"]


def cron(run: str = "train-1", *words: str) -> Cron:
    return Cron(run, ("runwatch", "check", "--due", *words), Path("/runs"), {"RUNWATCH_HOME": "/h"})


def test_a_line_is_added_renewed_and_taken_away(crontab: Path) -> None:
    """What others wrote there stays, to the last line."""
    own = ["# mine", "5 4 * * 0 echo 100\\%"]
    subprocess.run([crontab, "-"], input="\n".join(own) + "\n", text=True, check=True)
    cron().install()
    cron("train-10").install()
    assert listed(crontab) == [*own, cron().line(), cron("train-10").line()]
    renewed = cron("train-1", "--on-stop=kill")
    renewed.install()
    assert listed(crontab) == [*own, cron("train-10").line(), renewed.line()]
    assert renewed.remove()
    assert not renewed.remove()
    assert cron("train-10").remove()
    assert listed(crontab) == own


def test_the_first_line_and_the_last(crontab: Path) -> None:
    """No crontab before, none after."""
    assert not cron().remove()
    cron().install()
    assert listed(crontab) == [cron().line()]
    assert cron().remove()
    assert listed(crontab) == []


def test_cron_runs_the_words_as_they_were_given(tmp_path: Path) -> None:
    """As cron reads a line: `%` unescaped, the rest given to a shell."""
    show = "import os, sys; print(os.getcwd(), os.environ['RUNWATCH_HOME'], sys.argv[1:])"
    home, folder = "/h o/100%", tmp_path / "100% it's"
    folder.mkdir()
    words = (sys.executable, "-c", show, *NASTY)
    line = Cron("r", words, folder, {"RUNWATCH_HOME": home}).line()
    assert line.startswith("*/10 * * * * ")
    command = line.removeprefix("*/10 * * * * ").replace("\\%", "%")
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == f"{folder} {home} {NASTY}\n"


def units(tmp_path: Path, run: str = "train-1") -> Systemd:
    words = (sys.executable, "-m", "runwatch", "check", "--due", *NASTY)
    (tmp_path / "100% it's").mkdir(exist_ok=True)
    return Systemd(
        run, words, tmp_path / "100% it's", {"RUNWATCH_HOME": "/h o/100%"}, tmp_path / "units"
    )


def test_systemd_reads_the_units_without_a_word(tmp_path: Path) -> None:
    """`systemd-analyze verify` finds nothing to say about either file."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze (apt-get install systemd)")
    (tmp_path / "units").mkdir()
    for path, text in units(tmp_path).files().items():
        path.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units(tmp_path).files()],
        capture_output=True, text=True, env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "runwatch-check" in line]
    assert (done.returncode, ours) == (0, []), done.stderr


def test_a_unit_starts_the_words_as_they_were_given(tmp_path: Path) -> None:
    """Quoted as systemd.service(5) says: `%%`, `$$`, backslashes and quotes."""
    service = next(iter(units(tmp_path).files().values()))
    (command,) = [line for line in service.splitlines() if line.startswith("ExecStart=")]
    plain = command.removeprefix("ExecStart=").replace("%%", "%").replace("$$", "$")
    assert shlex.split(plain)[-len(NASTY) :] == NASTY
    assert 'Environment="RUNWATCH_HOME=/h o/100%%"' in service


def test_units_that_cannot_be_started_are_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no systemd runs for this user."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "nothing"))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    with pytest.raises(InputError) as told:
        units(tmp_path).install()
    assert "--timer cron" in told.value.hint
    assert list((tmp_path / "units").iterdir()) == []


def test_a_line_end_in_a_word_fits_nowhere(tmp_path: Path) -> None:
    """It would begin a line of its own."""
    with pytest.raises(UsageError):
        cron("train-1", "a\n* * * * * evil").line()
    timer = Systemd("r", ("x", "a\nExecStart=evil"), tmp_path, {}, tmp_path)
    with pytest.raises(UsageError):
        timer.files()
