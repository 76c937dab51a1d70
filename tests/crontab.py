"""A real crontab for tests: that of an account which has none."""

import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def crontab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The crontab of `nobody`, empty, and given back empty; one test at a time has it.

    `crontab` edits that of whoever calls it, unless root names another: a script of that name
    does nothing but name it.
    """
    program = shutil.which("crontab")
    if program is None or os.getuid() != 0:
        pytest.skip("needs cron (apt-get install cron) and root, to use an account of its own")
    user = pwd.getpwnam("nobody").pw_name
    (tmp_path / "crontab").write_text(f'#!/bin/sh\nexec {program} -u {user} "$@"\n')
    (tmp_path / "crontab").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with open("/tmp/runwatch-test-crontab.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([program, "-u", user, "-r"], capture_output=True)
        yield tmp_path / "crontab"
        subprocess.run([program, "-u", user, "-r"], capture_output=True)


def listed(crontab: Path) -> list[str]:
    done = subprocess.run([crontab, "-l"], capture_output=True, text=True)
    return done.stdout.splitlines()
