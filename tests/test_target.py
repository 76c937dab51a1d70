"""What a person names is told apart by its words and one look at the disk."""

from pathlib import Path

import pytest

from runwatch.errors import UsageError
from runwatch.target import Kind, Target


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    """A dash, a folder, a file, a glob, and what is missing, which is a file to be looked for."""
    (tmp_path / "train.log").touch()
    (tmp_path / "run[1].log").touch()
    kinds = {
        "-": Kind.STANDARD_INPUT,
        str(tmp_path): Kind.FOLDER,
        f"{tmp_path}/": Kind.FOLDER,
        f"{tmp_path}/train.log": Kind.FILE,
        f"{tmp_path}/rank_*/stderr.log": Kind.GLOB,
        f"{tmp_path}/rank_[0-3].log": Kind.GLOB,
        f"{tmp_path}/missing.log": Kind.FILE,
        "user@host:/logs/train.log": Kind.SSH,
        "gpu-box:~/runs/rank_*.log": Kind.SSH,
        "ssh://host/logs/train.log": Kind.SSH,
        "C:train.log": Kind.FILE,
        "run:1.log": Kind.FILE,
    }
    assert kinds == {text: Target.parse(text).kind for text in kinds}


def test_a_file_with_glob_signs_in_its_name_is_a_file(tmp_path: Path) -> None:
    """A file that exists wins over a glob."""
    path = tmp_path / "run[1].log"
    path.touch()
    assert Target(Kind.FILE, str(path), str(path)) == Target.parse(str(path))


def test_the_home_folder_is_expanded_in_quoted_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell leaves `~` alone within quotes, where globs have to be; what was typed is kept."""
    monkeypatch.setenv("HOME", "/home/someone")
    target = Target.parse("~/runs/*.log")
    assert Target(Kind.GLOB, "~/runs/*.log", "/home/someone/runs/*.log") == target
    assert str(target) == "~/runs/*.log"


@pytest.mark.parametrize("text", ["", "train\0.log"])
def test_words_that_can_name_nothing_are_wrong_usage(text: str) -> None:
    """An empty name and one with a NUL byte are told before anything is opened."""
    with pytest.raises(UsageError):
        Target.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ada@gpu-box:runs/a b.log", ("ada", "gpu-box", 0, "runs/a b.log")),
        ("ada@gpu-box:~/runs/*.log", ("ada", "gpu-box", 0, "~/runs/*.log")),
        ("gpu-box:/runs/x:y.log", ("", "gpu-box", 0, "/runs/x:y.log")),
        ("ssh://ada@10.0.0.7:2222/runs/train.log", ("ada", "10.0.0.7", 2222, "/runs/train.log")),
        ("ssh://ada@host/~/train.log", ("ada", "host", 0, "~/train.log")),
        ("ada@[fe80::1]:/t.log", ("ada", "fe80::1", 0, "/t.log")),
    ],
)
def test_logs_of_other_hosts(text: str, expected: tuple[str, str, int, str]) -> None:
    """User, host, port and path are told apart; a `~` is for the other host to expand."""
    target = Target.parse(text)
    assert (Kind.SSH, *expected) == (
        target.kind, target.user, target.host, target.port, target.path,
    )  # fmt: skip


def test_a_file_that_looks_like_a_host_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What exists here wins."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ada@host:1.log").touch()
    assert Target.parse("ada@host:1.log").kind is Kind.FILE


@pytest.mark.parametrize("text", ["ssh://host", "ssh://host:99999/a", "ssh:///a", "ssh://-oX/a"])
def test_addresses_that_name_no_log_are_wrong_usage(text: str) -> None:
    """Without a path, with no such port, without a host."""
    with pytest.raises(UsageError):
        Target.parse(text)


def test_processes_and_jobs_here_and_at_an_account() -> None:
    """Their text is what names them again."""
    assert Target(Kind.PID, "--pid 7", "7") == Target.of_pid(7)
    far = Target.of_proc("train.py", "ada@gpu-box:2222")
    expected = Target(
        Kind.PROC, "ada@gpu-box:2222 --proc train.py", "train.py", "gpu-box", "ada", 2222
    )
    assert expected == far
    assert far.account == "ada@gpu-box"
    assert Target.of_slurm("12_3", "login").host == "login"
    with pytest.raises(UsageError):
        Target.of_pid(7, "a b")
