"""Trainings that are started again by the script that runs on a host, here in a shell of ours."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runwatch.ingest.process import Process
from runwatch.origin import Origin, begun, starting

if not Path("/proc/self/environ").exists():
    pytest.skip("this system has no /proc", allow_module_level=True)
TOOLS = ("sh", "env", "nohup", "cat", "touch", "sed")
SECRETS = ("KEY=it's a \n secret", "PWD=/", "HOME=/nowhere", "UID=7", "PATH=/usr/bin:/bin", "IFS=1")


def without_setsid(folder: Path) -> Path:
    """A folder of tools as on a system that has no setsid."""
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def told(script: str, path: str = os.environ["PATH"], shell: str = "sh") -> bytes:
    """What the script says."""
    made = subprocess.run(
        [shutil.which(shell) or shell], input=script.encode("utf-8", "surrogateescape"),
        capture_output=True, env={"PATH": path, "LEFT": "over"},
    )  # fmt: skip
    return made.stdout


def until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("setsid", [True, False])
def test_it_starts_with_its_environment_and_no_other(
    tmp_path: Path, shell: str, setsid: bool
) -> None:
    """In one answer, `started` and its number, with or without `setsid`."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    log, path = tmp_path / "train.log", os.environ["PATH"]
    log.touch()
    if not setsid:
        path = str(without_setsid(tmp_path / "tools"))
    words = ("sh", "-c", "cat /proc/$$/environ; exec sleep 600")
    origin = Origin(SECRETS, (str(log), str(log)))
    before = Process(1, command=words, folder=str(tmp_path))
    answer = told(starting(shlex.join(words), before, origin, ""), path, shell)
    pid, said = begun(answer)
    assert (answer, said) == (f"started {pid}\n".encode(), f"started as process {pid}")
    try:
        until(lambda: log.read_bytes().endswith(b"\0"))
        seen = set(log.read_bytes().decode().split("\0")) - {""}
        known = {word for word in SECRETS if not word.startswith("UID")}  # some shells keep it
        assert known <= seen
        assert {word.partition("=")[0] for word in seen - known} <= {"_", "UID"}
    finally:
        os.kill(pid, 9)


def test_no_command_shows_its_environment(tmp_path: Path) -> None:
    """Neither its own, nor one of those that started it."""
    log = tmp_path / "train.log"
    log.touch()
    # Each program that is run says the words that it was run with.
    tools = without_setsid(tmp_path / "tools")
    for name in ("setsid", "env", "nohup"):
        real = shutil.which(name)
        (tools / name).unlink(missing_ok=True)
        (tools / name).write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$*" >>{tmp_path}/said\nexec {real} "$@"\n'
        )
        (tools / name).chmod(0o755)
    origin = Origin((*SECRETS, "a.b=1", "BASH_FUNC_f%%=() { :\n}"), (str(log), str(log)))
    answer = told(starting("cat /proc/$$/cmdline; echo over", None, origin, ""), str(tools))
    assert begun(answer)[1].endswith(", without a.b")
    until(lambda: log.read_text().endswith("over\n"))
    assert "setsid -f /bin/sh" in (tmp_path / "said").read_text()
    assert "secret" not in (tmp_path / "said").read_text() + log.read_text()


def test_an_output_that_goes_nowhere_is_told(tmp_path: Path) -> None:
    """A pipe cannot be taken up again; what wrote to nowhere before does so still."""
    pipe, nowhere = Origin((), ("pipe:[7]", "pipe:[7]")), Origin((), ("/dev/null", "/dev/null"))
    log = tmp_path / "train.log"
    log.touch()
    assert begun(told(starting("true", None, pipe, "")))[1].endswith("its output goes nowhere")
    for origin, place in ((pipe, str(log)), (nowhere, "")):
        assert "," not in begun(told(starting("true", None, origin, place)))[1]


def test_what_did_not_start_is_an_error(tmp_path: Path) -> None:
    """With what was said there."""
    before = Process(1, folder=str(tmp_path / "gone"))
    with pytest.raises(OSError, match="its folder is gone"):
        begun(told(starting("true", before, Origin(), "")))
    with pytest.raises(OSError, match="no answer"):
        begun(b"")
    assert 7 == begun(b"welcome!\n\nstarted 7\n")[0]
