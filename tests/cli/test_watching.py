"""What `runwatch watch` shows and takes, without a training beside it."""

import fcntl
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runwatch.cli import main
from runwatch.cli.report import lines
from runwatch.cli.report.lines import Lines
from runwatch.event import Found, Noted, Progressed
from runwatch.finding import Finding, Severity
from runwatch.target import Target
from runwatch.vitals import Gpu
from tests.conftest import ROOT
from tests.monitor.live import steps

AT = datetime(2026, 3, 1, 10, 3, 1).astimezone(UTC)
REPORT = Progressed(
    "train.log", AT, "RUNNING", 1200, 10000,
    {"loss": ("loss", 0.342), "lr": ("lr", 1e-4), "grad_norm": ("grad_norm", 0.8)},
    "142 samples/s", 4980, Gpu(94, 18.2 * 2**30, 24 * 2**30), 45, 30,
)  # fmt: skip


def shown(event: object, **options: object) -> str:
    """The lines of an event."""
    out = io.StringIO()
    Lines(out, **options).show(event)  # type: ignore[arg-type]
    return out.getvalue()


def test_a_report_has_two_lines() -> None:
    """Step and metrics with the time before them, then GPU, time left and the pace."""
    assert shown(REPORT) == (
        "[10:03:01] Step 1200/10000 (12%) | loss=0.342 | lr=1e-4 | grad_norm=0.8 | 142 samples/s\n"
        "  GPU: 94% util, 18.2/24 GB VRAM | ETA: ~1h 23m | next poll in 45s"
        " ← backed off 30s→45s\n"
    )
    assert "[Step 1200/10000] loss=0.342, lr=1e-4, grad_norm=0.8, gpu_util=94%" == lines.status(
        REPORT
    )


def test_a_remote_report_names_its_host() -> None:
    """`[user@host]` before everything; several local targets name themselves."""
    for target, who in (
        (Target.parse("me@gpu-box:~/runs/7/train.log"), "[me@gpu-box] "),
        (Target.parse("ssh://me@gpu-box:2222/runs/7/train.log"), "[me@gpu-box] "),
        (Target.parse("gpu-box:/runs/7/train.log"), "[gpu-box] "),
        (Target.of_proc("train.py", "me@gpu-box:22"), "[me@gpu-box] "),
        (Target.of_pid(7, "gpu-box"), "[gpu-box] "),
        (Target.of_wandb("a/b/c"), ""),
        (Target.of_proc("train.py"), ""),
        (Target.parse("run --x.log"), ""),  # a file of this machine
    ):
        note = Noted(str(target), AT, "Connecting...")
        told = shown(note, accounts={str(target): target.account})
        assert f"{who}[10:03:01] Connecting...\n" == told
    near = Noted("train.log", AT, "rotated")
    assert "[train.log] [10:03:01] rotated\n" == shown(near, several=True)


def test_an_anomaly_says_what_to_do() -> None:
    """With its step, line, last checkpoint, and that the pace starts over."""
    nan = Finding("nan_loss", Severity.CRITICAL, "train.log", 349, "the loss is nan", step=349,
                  evidence=("step 349 loss=nan",))  # fmt: skip
    text = shown(Found("train.log", AT, nan, "new", "step 340 (out/340)", 30))
    assert text.startswith("[10:03:01] Step 349 — ANOMALY: The loss is not a number [critical nan_")
    for part in ("(train.log:349)", "│ step 349 loss=nan", "Last checkpoint: step 340 (out/340).",
                 "Interval reset to 30s.", "Recommended: roll back"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1e-4, "1e-4"), (2.5e-5, "2.5e-5"), (3e-4, "3e-4"), (0.05, "0.05"), (0.0, "0")],
)
def test_learning_rates_read_as_people_write_them(number: float, text: str) -> None:
    """One digit before the power, no zeros."""
    assert text == lines.value("lr", number)


def test_ranks_are_named_that_are_behind_or_silent() -> None:
    """Not those that are a step behind: they do not write at the same moment."""
    ranks = (("r0", 0, 43, 0.2), ("r1", 1, 42, 0.1), ("r2", None, 30, 1.0), ("r3", 3, 20, 120.0))
    assert [
        "slowest of 4 streams, the first at 43: rank 3 at step 20, r2 at step 30",
        "silent: rank 3 for 2m",
    ] == list(lines.ranks(replace(REPORT, ranks=ranks)))
    assert [] == list(lines.ranks(replace(REPORT, ranks=ranks[:2])))


def test_times_and_shares_are_short() -> None:
    """What a person takes in at a glance."""
    assert ["40s", "12m", "1h 23m", "13h 20m", "3d 4h"] == [
        lines.span(count) for count in (40, 720, 4980, 48000, 273600)
    ]
    assert ["6.8%", "7.0%", "12%", "100%"] == [lines.percent(s) for s in (0.068, 0.07, 0.12, 1)]
    assert "▁█x" == lines.sparkline((1.0, 2.0, float("nan")))


def test_one_look_tells_and_leaves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A healthy run that is not at its end: code 0, and the artifact beside it."""
    log = tmp_path / "train.log"
    log.write_text("\n".join(steps(1, 50)) + "\n")
    words = ["watch", str(log), "--once", "--out-dir", str(tmp_path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "[Step 50/100] loss=2, lr=1e-4" in out
    assert "next poll" not in out
    assert "Terminal state:   RUNNING" in out
    told = json.loads((tmp_path / "babysit-training.json").read_text())
    assert ("RUNNING", "one look (--once)") == (told["terminal_state"], told["stopped_because"])
    assert main([*words, "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ["state", "progress", "summary"] == [event["event"] for event in events]
    assert events[0]["resumed"] == "going on after 50 lines read before"


@pytest.mark.parametrize("text", ["\n".join(steps(1, 50)) + "\n", "loading\nready\n"])
@pytest.mark.parametrize("way", ["train.log", ".", "*.log"])
def test_an_old_log_may_have_ended_without_a_word(
    way: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One look cannot tell it from a hang: wait (4), not stop; measured or not."""
    log = tmp_path / "logs/train.log"
    log.parent.mkdir()
    log.write_text(text)
    hours = log.stat().st_mtime - 7200
    os.utime(log, (hours, hours))
    words = ["watch", str(log.parent / way), "--once", "--json", "--out-dir", str(tmp_path)]
    assert main(words) == 4
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert ("UNKNOWN", "WAIT", ["quiet"]) == (
        last["terminal_state"], last["judgement"], [one["kind"] for one in last["findings"]]
    )  # fmt: skip
    assert "2 hours" in last["reason"]


def test_another_run_under_the_same_name_is_a_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The findings of a run that had ended do not stick to the next."""
    log = tmp_path / "train.log"
    failed = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"
    log.write_text("\n".join([*steps(1, 50), "Traceback (most recent call last):", failed]) + "\n")
    words = ["watch", str(log), "--once", "--json", "--out-dir", str(tmp_path)]
    assert main(words) == 1
    log.unlink()
    log.write_text("\n".join(["another run begins", *steps(1, 100), "Training finished"]) + "\n")
    capsys.readouterr()
    assert main(words) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (102, [], "GO") == (last["lines"], last["findings"], last["decision"])


@pytest.mark.parametrize("words", [("--once",), ("--interval", "0.1")])
@pytest.mark.parametrize("replaced", [0, 1])
def test_of_another_run_all_files_are_read_anew(
    replaced: int, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where only some files of a run that had ended were replaced, whichever is read first."""
    folder = tmp_path / "logs"
    folder.mkdir()
    ranks = [folder / f"rank_{rank}.log" for rank in (0, 1)]
    failed = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"
    for log in ranks:
        log.write_text("\n".join([*steps(1, 50), failed]) + "\n")
    told = ["watch", str(folder), *words, "--json", "--out-dir", str(tmp_path)]
    assert main(told) == 1
    for rank, log in enumerate(ranks):
        text = [*steps(1, 100), "Training finished"] if rank == replaced else steps(51, 100)
        with log.open("w" if rank == replaced else "a") as out:
            out.write("\n".join(text) + "\n")
    capsys.readouterr()
    main(["scan", str(folder), "--json", "--no-store"])
    anew = json.loads(capsys.readouterr().out)
    main(told)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    keys = ("streams", "lines", "bytes", "steps", "decision", "findings", "final_metrics")
    for key in keys:
        assert anew["runs"][0][key] == events[-1][key]
    main(["sql", "--format", "json", "SELECT count(*) AS n FROM points WHERE metric = 'loss'"])
    assert json.loads(capsys.readouterr().out) == [{"n": 200}]


def test_a_target_that_fails_leaves_the_others_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says why and makes the code 2; the others come to their own last word."""
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text("\n".join([*steps(1, 100), "Training finished"]) + "\n")
    bad.write_bytes(bytes(range(256)) * 9)
    words = ["watch", str(bad), str(good), "--json", "--once", "--out-dir", str(tmp_path)]
    assert main(words) == 2
    out, err = capsys.readouterr()
    ends = [json.loads(line) for line in out.splitlines()]
    assert [(str(good), "GO")] == [
        (e["target"], e["decision"]) for e in ends if e["event"] == "summary"
    ]
    assert "looks binary" in err


def test_who_reads_no_more_gets_the_code_all_the_same(tmp_path: Path) -> None:
    """`| head -1`: the watch ends with its last word, the artifact and the code of the run."""
    log = tmp_path / "train.log"
    log.write_text("\n".join([*steps(1, 50), *["step 51/100 | loss nan"] * 3]) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "runwatch", "watch", str(log), "--interval", "0.2", "--out-dir",
         str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert b"No process found" in process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as talk:
        assert b"" == talk.read()
    assert 1 == process.wait(60)
    assert "NO-GO" == json.loads((tmp_path / "babysit-training.json").read_text())["decision"]


def test_several_runs_are_watched_in_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its own final word and artifact; the worst code counts."""
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text("\n".join([*steps(1, 100), "Training finished"]) + "\n")
    bad.write_text("\n".join([*steps(1, 50), *["step 51/100 | loss nan"] * 3]) + "\n")
    words = ["watch", str(good), str(bad), "--json", "--interval", "0.2"]
    assert main([*words, "--out-dir", str(tmp_path / "out")]) == 1
    ends = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(str(good), "GO"), (str(bad), "NO-GO")} == {
        (e["target"], e["decision"]) for e in ends if e["event"] == "summary"
    }
    assert 2 == len(list((tmp_path / "out").glob("babysit-training-*.json")))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "no target to watch"),
        (["a.log", "a.log"], "a target is named twice"),
        (["a.log", "--tee"], "--tee goes with -"),
        (["a.log", "--interval", "0"], "--interval 0: not a time"),
        (["missing.log"], "missing.log"),
        (["a.log", "--yes", "rollback"], "argument --yes: invalid choice"),
    ],
)
def test_wrong_words_end_with_2(
    words: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """One error with a hint, nothing on standard output, nothing left behind."""
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_text("step 1 loss 2\n")
    assert main(["watch", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert error in err
    assert "hint: " in err
    assert ["a.log"] == os.listdir()


def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--notify` without apprise says what to install."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    log = tmp_path / "a.log"
    log.write_text("step 1 loss 2\n")
    assert main(["watch", str(log), "--notify", "ntfy://topic"]) == 2
    assert "pip install 'runwatch[notify]'" in capsys.readouterr().err


def test_a_message_is_sent_for_what_somebody_should_know() -> None:
    """A new finding, something done or to be approved, the end; no report, no change."""
    from runwatch.cli.report.notify import message
    from runwatch.event import Acting
    from runwatch.remedy import Remedy

    nan = Finding("nan_loss", Severity.CRITICAL, "train.log", 349, "the loss is nan")
    assert message(REPORT) is None
    assert message(Found("train.log", AT, nan, "changed")) is None
    assert ("train.log: The loss is not a number", "[critical] the loss is nan") == message(
        Found("train.log", AT, nan)
    )
    asking = Remedy("restart", "it broke", "python train.py", "/runs", asks=True)
    assert ("train.log: needs your approval restart", "cd /runs && python train.py") == message(
        Acting("train.log", AT, asking)
    )


def test_a_pipe_is_passed_through(tmp_path: Path) -> None:
    """With --tee the text goes to standard output byte by byte, the reports to stderr."""
    text = "\n".join([*steps(1, 100), "Training finished"]) + "\n"
    done = subprocess.run(
        [sys.executable, "-m", "runwatch", "watch", "-", "--tee", "--out-dir", str(tmp_path)],
        input=text.encode(), capture_output=True, timeout=60,
    )  # fmt: skip
    assert (0, text) == (done.returncode, done.stdout.decode())
    assert b"Terminal state:   SUCCEEDED" in done.stderr


def _led_by_the_terminal() -> None:
    """What is done in the new process, so that the terminal's end is its own, even where the tests
    run behind `nohup`."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def on_a_terminal(
    *words: str, cwd: Path | None = None, code: int = 0, **environment: str
) -> Iterator[tuple[int, bytearray]]:
    """`runwatch watch` on a terminal of ours, which is read to its end, with this code; and a
    place for what was seen. Whoever closes the terminal need not read on."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "runwatch", "watch", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, cwd=cwd,
        env={**os.environ, **environment}, preexec_fn=_led_by_the_terminal,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield ours, bytearray()
        with suppress(OSError):
            while _read(ours):
                pass
        assert code == process.wait(60)
    finally:
        process.kill()
        process.wait()
        with suppress(OSError):
            os.close(ours)


def read_until(wanted: bytes, terminal: int, seen: bytearray) -> None:
    """Add to what was seen until it is there."""
    while wanted not in seen and (piece := _read(terminal)):
        seen += piece
    assert wanted in seen, seen.decode("utf-8", "replace")


def test_on_a_terminal_there_is_a_live_view_that_q_ends(tmp_path: Path) -> None:
    """A block with the step and the loss; p pauses it, q leaves it, and the summary stays."""
    log = tmp_path / "train.log"
    log.write_text("\n".join(steps(1, 50)) + "\n")
    words = [str(log), "--out-dir", str(tmp_path)]
    with on_a_terminal(*words, COLUMNS="100", LINES="40", TERM="xterm") as (ours, seen):
        for wanted, key in ((b"Step 50/100", b"p"), (b"paused", b"q"), (b"Decision:", b"")):
            read_until(wanted, ours, seen)
            os.write(ours, key)
    assert (tmp_path / "babysit-training.json").exists()


def test_words_of_the_live_view_go_with_the_run(tmp_path: Path) -> None:
    """A finding that goes on is told as it stands now, not as it was found."""
    log = tmp_path / "train.log"
    log.write_text("\n".join([*steps(1, 50), "step 51/100 | loss nan"]) + "\n")
    words = [str(log), "--out-dir", str(tmp_path)]
    with on_a_terminal(*words, code=1, COLUMNS="100", LINES="40", TERM="xterm") as (ours, seen):
        read_until(b"loss is nan on 1 step", ours, seen)
        with log.open("a") as more:
            more.writelines(f"step {i}/100 | loss nan\n" for i in range(52, 56))
        read_until(b"loss is nan on 5 steps", ours, seen)
        os.write(ours, b"q")


def test_a_terminal_that_is_closed_loses_nothing(tmp_path: Path) -> None:
    """As with Ctrl-C, what was read is stored and summed up."""
    log = tmp_path / "train.log"
    log.write_text("\n".join(steps(1, 50)) + "\n")
    words = [str(log), "--out-dir", str(tmp_path)]
    for more in ([], ["--plain"]):
        with on_a_terminal(*words, *more, code=130, TERM="xterm") as (ours, seen):
            read_until(b"Step 50/100", ours, seen)
            os.close(ours)
        artifact = tmp_path / "babysit-training.json"
        why = json.loads(artifact.read_text())["stopped_because"]
        assert why in ("interrupted", "nobody reads what it tells")  # whichever is seen first
        artifact.unlink()


def test_a_run_that_has_ended_says_so_beside_those_that_go_on(tmp_path: Path) -> None:
    """Its block keeps the last word until all are left."""
    over, on = tmp_path / "over.log", tmp_path / "on.log"
    over.write_text("\n".join([*steps(1, 100), "Training finished"]) + "\n")
    on.write_text("\n".join(steps(1, 50)) + "\n")
    words = [str(over), str(on), "--interval", "0.3", "--out-dir", str(tmp_path)]
    with on_a_terminal(*words, COLUMNS="160", LINES="40", TERM="xterm") as (ours, seen):
        for wanted, key in ((b"SUCCEEDED, GO", b""), (b"stopped watching: the", b"q")):
            read_until(wanted, ours, seen)
            os.write(ours, key)


def test_without_a_target_a_person_is_asked(tmp_path: Path) -> None:
    """What grows here is offered, and a number chooses it."""
    (tmp_path / "train.log").write_text("\n".join(steps(1, 100)) + "\n")
    with on_a_terminal("--once", cwd=tmp_path, PYTHONPATH=str(ROOT)) as (ours, seen):
        read_until(b"to leave: ", ours, seen)
        offered = [line for line in seen.splitlines() if b"train.log  (written" in line]
        assert offered, seen
        os.write(ours, offered[0].split()[0] + b"\n")
        read_until(b"Decision:", ours, seen)
    assert b"Target:           train.log" in seen


def _read(terminal: int) -> bytes:
    """What is drawn next; nothing where the program has left the terminal."""
    if not select.select([terminal], [], [], 60)[0]:
        return b""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""
