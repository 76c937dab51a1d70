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
        "user@host:/logs/train.log": Kind.FILE,
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
