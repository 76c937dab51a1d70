"""Words in, exit codes out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import runwatch
from runwatch.cli import main
from runwatch.cli.words.grammar import names
from runwatch.store.instance import THREADS
from tests.conftest import ROOT

HEAVY = {"duckdb", "llvmlite", "numpy", "orjson", "pyarrow", "polars", "regex", "rich", "shtab"}


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the program as people do."""
    command = [sys.executable, "-m", "runwatch", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload]


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the name and the version."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"runwatch {runwatch.__version__}\n"


def test_the_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` lists each command with one line."""
    assert main(["--help"]) == 0
    listing = capsys.readouterr().out.partition("commands:\n")[2].partition("\n\n")[0]
    listed = dict(line.split(maxsplit=1) for line in listing.splitlines())
    assert names() == list(listed)


@pytest.mark.parametrize("name", names())
def test_every_command_explains_itself_with_examples(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`COMMAND --help` shows what it does and examples that begin with the program's name."""
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: runwatch {name}")
    assert f"runwatch {name}" in text.partition("examples:\n")[2]


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in names())])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    """The quickest answer must not wait for Arrow, DuckDB, LLVM or rich."""
    code = f"""
import contextlib, io, sys
from runwatch.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main({words!r})
print(*{{name.split(".")[0] for name in sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set() == HEAVY & set(done.stdout.split())


@pytest.mark.parametrize(
    ("kept", "heavy"),
    [
        ("--no-store", {"pyarrow", "duckdb", "_duckdb", "runwatch.store"}),
        ("--db=history.duckdb", {"pyarrow", "duckdb"}),
    ],
)
def test_a_small_log_is_read_without_what_takes_long_to_load(
    tmp_path: Path, kept: str, heavy: set[str]
) -> None:
    """And by one thread, but for those of DuckDB, which wait: a machine that trains has no core
    to spare."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"iter {i}: loss {2 - i / 100:.4f}, time 98.2ms\n" for i in range(100)))
    code = f"""
import io, os, sys
from runwatch.cli import main
sys.stdout = io.TextIOWrapper(io.BytesIO())
main(["scan", {kept!r}, {str(log)!r}])
threads = len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1
print(threads, os.environ.get("OPENBLAS_NUM_THREADS"), file=sys.__stdout__)
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={name: said for name, said in os.environ.items() if name != "OPENBLAS_NUM_THREADS"},
    )  # fmt: skip
    loaded = set(done.stderr.split())
    assert "runwatch.pipeline" in loaded
    always = {
        "llvmlite", "pandas", "pyarrow.compute", "numpy.ma", "numpy._typing", "asyncio",
        "_hashlib",
    }  # fmt: skip
    assert set() == {*heavy, *always} & loaded
    threads, told = done.stdout.split()
    assert told == "None"
    assert int(threads) <= (1 if kept == "--no-store" else 2 + THREADS)


@pytest.mark.parametrize("words", [["scan", "--no-store"], ["scan", "--db=h.duckdb"], ["parse"]])
def test_who_has_no_home_reads_all_the_same(tmp_path: Path, words: list[str]) -> None:
    """A daemon, or a container, whose user has no folder of their own."""
    (tmp_path / "train.log").write_text("step 1 loss 2.5\n")
    homes = ("HOME", "RUNWATCH_HOME", "XDG_DATA_HOME", "USERPROFILE")
    env = {name: said for name, said in os.environ.items() if name not in homes}
    done = run(*words, "train.log", cwd=tmp_path, env=env)
    assert (0, "") == (done.returncode, done.stderr)
    assert "2.5" in done.stdout


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["scna", "x"], "unknown command 'scna'", "did you mean `runwatch scan`?"),
        (["--vresion"], "unknown option '--vresion'", "`runwatch --help` lists the commands"),
        (["scan", "x", "--jsno"], "unknown option '--jsno'", "did you mean --json?"),
        (["scan", "--jsno"], "unknown option '--jsno'", "did you mean --json?"),
        (["scan"], "nothing to read", "name a file, a folder"),
        (["parse", "x", "--to", "xml"], "argument --to: invalid choice: 'xml'", "--help"),
        (["parse", "x", "--json"], "--json goes with --summary", "--to jsonl"),
    ],
)
def test_wrong_words_end_with_2_and_a_hint(
    words: list[str], error: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped word names its closest relative; nothing goes to stdout."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith(f"error: {error}")
    assert second.startswith("hint: ")
    assert hint in second


def test_a_log_in_place_of_a_command_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`runwatch train.log` is told to be `runwatch scan train.log`."""
    monkeypatch.chdir(tmp_path)
    Path("train.log").write_text("step 1 loss 2\n")
    assert main(["train.log"]) == 2
    assert "did you mean `runwatch scan train.log`?" in capsys.readouterr().err


def test_no_words_show_the_overview_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A script whose command went missing must notice."""
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: runwatch COMMAND")


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`runwatch … | head -1` ends quietly."""
    command = f'"{sys.executable}" -m runwatch completion bash | head -1'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_options(shell: str) -> None:
    """The script names the commands and their options."""
    done = run("completion", shell)
    assert done.returncode == 0
    assert {"scan", "no-store"} <= set(re.split(r"[^\w-]+|--", done.stdout))


@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
@pytest.mark.parametrize(
    "words", ["scan examples/eight-ranks --no-store", "explain", "--help", "runs --help"]
)
def test_an_answer_that_cannot_be_written_is_one_error(words: str, where: str) -> None:
    """A full disk or a closed output says nothing of the run: code 2, never that of a stop."""
    command = f'"{sys.executable}" -m runwatch {words} {where}'
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", ">&- 2>&-"])
def test_an_error_that_nobody_can_read_has_its_code_all_the_same(where: str) -> None:
    """That of a stop would make a script end a healthy run."""
    command = f'"{sys.executable}" -m runwatch scan nowhere.log {where}'
    assert subprocess.run(["sh", "-c", command], cwd=ROOT, check=False).returncode == 2
