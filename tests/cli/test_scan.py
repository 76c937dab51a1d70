"""`runwatch scan` from words to answer, with all rooms behind it."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runwatch.cli import main
from tests.conftest import ROOT

EXAMPLE = str(ROOT / "examples" / "eight-ranks")
HEALTHY = "".join(f"step {i}/100 | loss {3 - i / 50:.4f}\n" for i in range(1, 101))


def test_the_example_is_understood(capsys: pytest.CaptureFixture[str]) -> None:
    """Rank 5's memory is the cause, the timeouts of ranks 0 to 3 are echoes, and the code is 1."""
    assert main(["scan", EXAMPLE, "--json", "--no-store"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    cause = run["root_cause"]
    assert (cause["kind"], cause["rank"]) == ("cuda_oom", 5)
    assert cause["stream"].endswith("rank_5/stderr.log")
    assert (run["decision"], run["steps"]["last"], run["steps"]["total"]) == ("NO-GO", 840, 5000)
    timeouts = [one for one in run["findings"] if one["kind"] == "nccl_timeout"]
    assert {one["role"] for one in timeouts} <= {"follow-on", "symptom", "confirmation"}


def test_findings_cite_lines_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Each evidence line stands in its file, at or near the line that is named."""
    main(["scan", EXAMPLE, "--json", "--no-store"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    for one in run["findings"]:
        lines = (Path(EXAMPLE) / one["stream"]).read_text().splitlines()
        assert 1 <= one["line"] <= one["last_line"] <= len(lines)
        assert any(text in line or line in text for text in one["evidence"] for line in lines)


def test_several_runs_are_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that cannot be read is told, the others are scanned, and the code is 2."""
    healthy = tmp_path / "healthy.log"
    healthy.write_text(HEALTHY)
    missing = str(tmp_path / "missing.log")
    assert main(["scan", missing, str(healthy), "--json", "--no-store"]) == 2
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert [run["target"] for run in document["runs"]] == [str(healthy)]
    assert [error["target"] for error in document["errors"]] == [missing]
    assert err.startswith("error: ")
    assert "hint: " in err


def test_a_scan_is_told_again_by_show(capsys: pytest.CaptureFixture[str]) -> None:
    """What was stored is what was said, and a second scan doubles nothing."""
    main(["scan", EXAMPLE])
    first = capsys.readouterr().out
    main(["show", "last"])
    assert capsys.readouterr().out == first
    query = "SELECT count(*) AS n FROM points"
    main(["sql", query, "--format", "json"])
    before = capsys.readouterr().out
    assert main(["scan", EXAMPLE]) == 1
    capsys.readouterr()
    main(["sql", query, "--format", "json"])
    assert capsys.readouterr().out == before
    assert json.loads(before)[0]["n"] > 0


@pytest.mark.parametrize(
    ("name", "content"),
    [("binary.log", bytes(range(256)) * 64), ("cut.log.gz", b"\x1f\x8b\x08\x00broken")],
)
def test_what_is_no_log_is_an_error(
    name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One clear error with the file's name, and code 2."""
    place = tmp_path / name
    place.write_bytes(content)
    assert main(["scan", str(place), "--no-store"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert name in err
    assert "Traceback" not in err


def test_the_answer_can_go_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-o FILE` holds the same JSON, and stdout stays empty."""
    place = tmp_path / "answer.json"
    main(["scan", EXAMPLE, "--json", "--no-store", "-o", str(place)])
    assert capsys.readouterr().out == ""
    assert len(json.loads(place.read_text())["runs"]) == 1


def test_a_history_out_of_reach_does_not_hide_the_answer(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run is told, the trouble too, and the code says that something was out of reach."""
    (home / "history.duckdb").write_bytes(b"this is no database" * 999)
    assert main(["scan", EXAMPLE, "--json"]) == 3
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["runs"][0]["root_cause"]["rank"] == 5
    assert [error["exit_code"] for error in document["errors"]] == [3]
    assert err.startswith("error: ")


def test_what_came_by_pipe_is_told_without_a_history(home: Path) -> None:
    """Standard input comes only once, so a broken history must not cost it."""
    (home / "history.duckdb").write_bytes(b"this is no database" * 999)
    log = (Path(EXAMPLE) / "rank_5" / "stderr.log").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "runwatch", "scan", "-", "--json"], input=log, capture_output=True
    )
    assert done.returncode == 3
    assert json.loads(done.stdout)["runs"][0]["root_cause"]["kind"] == "cuda_oom"


def test_a_history_that_fails_while_it_is_written_is_told(home: Path) -> None:
    """The disk may fill up in the middle of a scan: here no file may grow beyond 8 blocks."""
    command = f'ulimit -f 8; exec "{sys.executable}" -m runwatch scan "{EXAMPLE}" --json'
    done = subprocess.run(["sh", "-c", command], capture_output=True)
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith(b"error: ")
    assert json.loads(done.stdout)["runs"][0]["root_cause"]["rank"] == 5


@pytest.mark.parametrize("command", ["scan", "parse", "watch"])
def test_a_pipe_without_a_writer_is_waited_for_aloud(command: str, tmp_path: Path) -> None:
    """On a terminal it says so after a second, and Ctrl-C ends it at once."""
    os.mkfifo(tmp_path / "train.fifo")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "runwatch", command, "train.fifo"], cwd=tmp_path,
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while b"train.fifo" not in seen or b"pipe" not in seen:
            seen += os.read(ours, 1 << 12)
        process.send_signal(signal.SIGINT)
        while process.poll() is None:
            seen += read_on(ours)
        assert 130 == process.returncode
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"Traceback" not in seen


def read_on(terminal: int) -> bytes:
    """What is drawn next; nothing where the program has left the terminal."""
    try:
        return os.read(terminal, 1 << 12)
    except OSError:
        return b""


def test_named_rules_are_applied_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their findings stand beside the others, are checks of their own, and end with the run; a run
    read on with other rules is read anew."""
    log = tmp_path / "log"
    log.write_text("".join(f"step {i} loss {2.0 + 0.1 * i}\n" for i in range(1, 9)))
    words = ["scan", str(log), "--json"]
    assert main([*words, "--rule", "monotonic=4"]) == 1
    run = json.loads(capsys.readouterr().out)["runs"][0]
    assert [("rule_monotonic", "open", 2)] == [
        (f["kind"], f["state"], f["line"]) for f in run["findings"]
    ]
    assert main([*words, "--rule", "monotonic=9"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["findings"] == []
    assert main(words) == 0
    assert main([*words, "--rule", "bogus"]) == 2
    assert "rules are monotonic, spike," in capsys.readouterr().err


def test_the_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its threshold and the kind of its findings."""
    assert main(["explain", "rules"]) == 0
    assert "5 steps in a row" in capsys.readouterr().out
    assert main(["explain", "rules", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0]["kind"] == "rule_monotonic"
