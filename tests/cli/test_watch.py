"""`runwatch watch` beside a real training, through every way that it can go."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runwatch.cli import main
from runwatch.home import default_path
from runwatch.store import Store
from tests.monitor.live import Training, Watcher, finding, progress, state, steps

Pair = Callable[..., tuple[Training, Watcher]]
QUICK = ("--interval", "0.3", "--max-interval", "1")
LENIENT = ("--interval", "0.3", "--max-interval", "60")  # a crowded machine makes no stall of it


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Pair]:
    """Starts a training, and a watcher beside it; both are gone afterwards."""
    made: list[Any] = []

    def pair(*attempts: Any, words: tuple[str, ...] = ()) -> tuple[Training, Watcher]:
        training = Training(tmp_path, *attempts)
        training.start()
        made.append(training)
        assert training.process is not None
        watcher = Watcher(
            str(training.log), *QUICK, *words, folder=tmp_path / "out", reap=training.process.poll
        )
        made.append(watcher)
        return training, watcher

    yield pair
    for one in reversed(made):
        one.close() if isinstance(one, Watcher) else one.stop()


def test_a_training_that_completes_is_a_go(beside: Pair, tmp_path: Path) -> None:
    """The baseline first, reports as it goes, the final word with the artifact, and code 0."""
    cue = tmp_path / "cue"
    saved = f"Saving checkpoint to {tmp_path}/step-100"
    _, watcher = beside(
        [*steps(1, 50), {"wait": str(cue)}, *steps(51, 100), saved, "Training finished"]
    )
    baseline = watcher.until(state("watching"))
    assert baseline["format"] == "fields between bars"
    watcher.until(progress(50))
    assert watcher.events[0]["event"] == "state"
    assert watcher.events[0]["process"]["state"] in ("running", "sleeping")
    cue.touch()
    assert watcher.end() == 0
    last = watcher.events[-1]
    assert (last["event"], last["terminal_state"], last["decision"]) == (
        "summary", "SUCCEEDED", "GO"
    )  # fmt: skip
    told = watcher.artifact
    assert (told["decision"], told["total_steps"], told["best_checkpoint"]) == (
        "GO", 100, f"{tmp_path}/step-100"
    )  # fmt: skip
    assert {
        "target", "target_type", "terminal_state", "decision", "confidence", "total_steps",
        "final_metrics", "best_checkpoint", "anomalies_detected", "findings", "duration_seconds",
        "next_commands", "schema_version", "run_id", "timestamp", "summary",
    } <= set(told)  # fmt: skip


def test_a_loss_that_is_no_number_needs_a_person(beside: Pair, tmp_path: Path) -> None:
    """It is told at once; nothing is restarted, and the way out is proposed."""
    lines = [*steps(1, 40), *(f"step {i}/100 | loss nan | lr 1e-4" for i in range(41, 61))]
    training, watcher = beside([*lines, {"wait": str(tmp_path / "never")}], words=LENIENT)
    found = watcher.until(finding("nan_loss"))
    assert (found["severity"], found["step"]) == ("critical", 41)
    assert watcher.end() == 1
    told = watcher.artifact
    assert (told["terminal_state"], told["decision"]) == ("FAILED", "NO-GO")
    assert [a["type"] for a in told["anomalies_detected"]] == ["nan_loss"]
    assert [f["title"] for f in told["findings"]] == ["The loss is not a number"]
    assert training.starts == 1


def test_a_crash_is_restarted_once_and_the_run_succeeds(
    beside: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Said before it is done; the crash is overcome when the run comes further."""
    training, watcher = beside(
        [*steps(1, 30), {"wait": str(tmp_path / "cue")}, {"raise": "lost a worker"}],
        [*steps(20, 100), "Training finished"],
    )
    watcher.until(progress(30))
    (tmp_path / "cue").touch()
    acting = watcher.until(state("acting"))
    assert acting["action"] == "restart"
    assert str(training.plan) in acting["command"]
    acted = watcher.until(state("acted"))
    assert acted["outcome"].startswith("started as process")
    assert watcher.end() == 0
    assert (training.starts, watcher.artifact["decision"]) == (2, "GO")
    (action,) = watcher.artifact["actions"]
    assert "went on past step 30" in action["outcome"]
    (kept,) = (
        Store(default_path(os.environ)).query("SELECT kind, step, outcome FROM actions").to_pylist()
    )
    assert {name: action[name] for name in ("kind", "step", "outcome")} == kept
    assert main(["show", "last"]) == 0
    assert "restart (" in capsys.readouterr().out


def test_three_tries_without_progress_are_the_end(beside: Pair, tmp_path: Path) -> None:
    """The first run and three more; then a person is asked."""
    training, watcher = beside(
        [*steps(1, 30), {"wait": str(tmp_path / "cue")}, {"raise": "always the same"}]
    )
    watcher.until(progress(30))
    (tmp_path / "cue").touch()
    assert watcher.end() == 1
    assert training.starts == 4
    told = watcher.artifact
    assert "3 tries brought no progress" in told["stopped_because"]
    assert len(told["actions"]) == 3
    assert str(training.plan) in told["next_commands"][0]


def test_what_cannot_be_helped_is_not_restarted(beside: Pair, tmp_path: Path) -> None:
    """Memory that ran out comes again: the command is proposed, and nothing is done."""
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"
    training, watcher = beside([*steps(1, 30), {"wait": str(tmp_path / "cue")}, error, {"exit": 1}])
    watcher.until(progress(30))
    (tmp_path / "cue").touch()
    watcher.until(finding("cuda_oom"))
    asking = watcher.until(state("needs approval"))
    assert str(training.plan) in asking["command"]
    assert watcher.end() == 1
    assert training.starts == 1


def test_a_person_can_allow_it_in_advance(beside: Pair, tmp_path: Path) -> None:
    """`--yes restart` starts again whatever the cause was."""
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"
    training, watcher = beside(
        [*steps(1, 30), {"wait": str(tmp_path / "cue")}, error, {"exit": 1}],
        [*steps(20, 100), "Training finished"],
        words=("--yes", "restart"),
    )
    watcher.until(progress(30))
    (tmp_path / "cue").touch()
    assert watcher.end() == 0
    assert training.starts == 2


def test_no_fix_touches_nothing(beside: Pair, tmp_path: Path) -> None:
    """The crash is told, and that is all."""
    training, watcher = beside(
        [*steps(1, 30), {"wait": str(tmp_path / "cue")}, {"raise": "lost"}], words=("--no-fix",)
    )
    watcher.until(progress(30))
    (tmp_path / "cue").touch()
    assert watcher.end() == 1
    assert training.starts == 1
    assert not any(e.get("state") == "acting" for e in watcher.events)


def test_a_process_killed_without_a_word_is_a_crash(beside: Pair, tmp_path: Path) -> None:
    """Its log says nothing, so its absence has to."""
    training, watcher = beside(
        [*steps(1, 30), {"wait": str(tmp_path / "never")}], words=("--no-fix",)
    )
    watcher.until(progress(30))
    training.stop()
    found = watcher.until(finding("process_crash"))
    assert (found["severity"], found["line"]) == ("critical", 30)
    assert watcher.end() == 1
    assert watcher.artifact["terminal_state"] == "FAILED"


def test_the_users_command_clears_the_cache(beside: Pair, tmp_path: Path) -> None:
    """Where memory ran out, once; what came of it is kept."""
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"
    mark = tmp_path / "cleared"
    _, watcher = beside(
        [*steps(1, 30), {"wait": str(tmp_path / "cue")}, error, {"exit": 1}],
        words=("--clear-cache-cmd", f"echo x >> {mark}"),
    )
    watcher.until(progress(30))
    (tmp_path / "cue").touch()
    watcher.end()
    assert mark.read_text() == "x\n"
    (anomaly,) = [a for a in watcher.artifact["anomalies_detected"] if a["type"] == "cuda_oom"]
    assert anomaly["action_taken"] == "clear-cache: done"


def test_silence_is_a_stall(beside: Pair, tmp_path: Path) -> None:
    """No line for much longer than ever before, while the process lives."""
    never = {"wait": str(tmp_path / "never")}
    _, watcher = beside([*steps(1, 30), never], words=("--no-backoff",))
    found = watcher.until(finding("stalled"))
    assert (found["severity"], found["step"]) == ("high", 30)
    watcher.interrupt()
    assert watcher.end() == 130
    assert watcher.events[-1]["judgement"] == "STOP"


def test_a_log_that_is_rotated_is_read_on(beside: Pair, tmp_path: Path) -> None:
    """Moved away while it is written and begun anew: no step is missed, none told twice."""
    cues = [tmp_path / name for name in ("one", "two")]
    training, watcher = beside(
        [*steps(1, 30), {"wait": str(cues[0])}, *steps(31, 40), {"wait": str(cues[1])}],
        words=("--no-fix",),
    )
    watcher.until(progress(30))
    os.rename(training.log, tmp_path / "train.log.1")
    new = training.log.open("w")
    cues[0].touch()
    watcher.until(progress(40))
    with new:
        new.write("\n".join(steps(41, 60)) + "\n")
    watcher.until(progress(60))
    watcher.interrupt()
    assert watcher.end() == 130
    assert watcher.events[-1]["lines"] == 60


def test_a_log_that_is_never_quiet_is_reported_on(beside: Pair) -> None:
    """The baseline does not wait for a pause between lines."""
    lines = [it for i in range(1, 10_000) for it in (*steps(i, i, 10_000), {"pause": 0.01})]
    _, watcher = beside(lines)
    first = watcher.until(lambda event: event["event"] == "progress")
    assert first["state"] == "RUNNING"
    assert first["step"] < 9_999
    watcher.interrupt()
    assert watcher.end() == 130


def test_started_again_it_goes_on_where_it_stopped(
    beside: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed without warning and started again: every point once, the findings of before known."""
    from runwatch.cli import main

    cue = tmp_path / "cue"
    lines = [*steps(1, 40), *(f"step {i}/100 | loss nan | lr 1e-4" for i in range(41, 51))]
    training, first = beside(
        [*lines, {"wait": str(cue)}, *steps(51, 100), "Training finished"],
        words=("--interval", "5"),
    )
    first.until(finding("nan_loss"))
    first.until(progress(50))
    first.process.send_signal(signal.SIGKILL)
    first.end()
    again = Watcher(
        str(training.log), *QUICK, "--interval", "5", folder=tmp_path / "out",
        reap=training.process.poll if training.process else None,
    )  # fmt: skip
    again.until(state("watching"))
    cue.touch()
    again.end()
    main(["sql", "SELECT count(*) n, count(DISTINCT step) s FROM points WHERE metric = 'loss'",
          "--format", "json"])  # fmt: skip
    assert json.loads(capsys.readouterr().out) == [{"n": 100, "s": 100}]
    again.close()


def test_a_person_who_leaves_gets_a_summary(beside: Pair, tmp_path: Path) -> None:
    """Ctrl-C: what was read is stored and summed up, and the code is 130."""
    _, watcher = beside([*steps(1, 30), {"wait": str(tmp_path / "never")}])
    watcher.until(progress(30))
    watcher.interrupt()
    assert watcher.end() == 130
    assert watcher.events[-1]["terminal_state"] == "RUNNING"
    assert watcher.artifact["stopped_because"] == "interrupted"


@pytest.mark.parametrize("once", [True, False])
def test_a_glob_that_was_scanned_is_watched_from_there(
    tmp_path: Path, once: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scanned, looked at or watched, and scanned again: every point once, none missing."""
    from runwatch.cli import main

    one, two = tmp_path / "runs/a/rank_0.log", tmp_path / "runs/a/rank_1.log"
    one.parent.mkdir(parents=True)
    one.write_text("\n".join(steps(1, 30)) + "\n")
    pattern = str(tmp_path / "runs/*/rank_*.log")
    assert main(["scan", pattern]) == 0
    two.write_text("\n".join(steps(1, 20)) + "\n")
    with one.open("a") as log:
        log.write("\n".join(steps(31, 40)) + "\n")
    watcher = Watcher(pattern, *(["--once"] if once else LENIENT), folder=tmp_path / "out")
    assert "30 lines" in watcher.until(state("watching"))["resumed"]
    if not once:
        watcher.until(lambda event: event.get("lines") == 60)
        watcher.interrupt()
    assert watcher.end() == (0 if once else 130)
    watcher.close()
    two.write_text("\n".join(steps(1, 25)) + "\n")
    assert main(["scan", pattern]) == 0
    capsys.readouterr()
    main(["sql", "--format", "json", "SELECT stream, count(*) AS n FROM points"
          " WHERE metric = 'loss' GROUP BY stream ORDER BY stream"])  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    assert told == [{"stream": "a/rank_0.log", "n": 40}, {"stream": "a/rank_1.log", "n": 25}]
