"""`runwatch check` as people and timers run it."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runwatch.cli import main
from runwatch.store import Store
from tests.crontab import crontab, listed
from tests.endpoint import Answer, Endpoint, endpoints, gives, says
from tests.ingest.server import Server
from tests.judge.logs import healthy, lines, write

__all__ = ["crontab"]  # a fixture
Start = Callable[[Answer], Endpoint]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and no reviewer in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Runs `check --json`: the code and the document."""

    def checking(*words: str) -> tuple[int, dict[str, Any]]:
        code = main(["check", *words, "--json"])
        return code, json.loads(capsys.readouterr().out or "null")

    return checking


@pytest.fixture
def reviewer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts an endpoint that the environment names."""
    with endpoints() as start:

        def starting(answer: Answer) -> Endpoint:
            endpoint = start(answer)
            monkeypatch.setenv("LLM_BASE_URL", endpoint.url)
            monkeypatch.setenv("LLM_MODEL", "judge-1")
            monkeypatch.setenv("LLM_API_KEY", "sk-very-secret-0123456789")
            return endpoint

        yield starting


Check = Callable[..., tuple[int, dict[str, Any]]]
NAN = lines(200, lambda step: math.nan if step > 170 else healthy(step))
FLAT = lines(200, lambda step: 2.0)


def log(told: list[str], name: str = "train.log") -> str:
    return str(write(Path(name), told))


def history() -> Store:
    """The one that checks keep unless they are told another."""
    return Store(Path(os.environ["RUNWATCH_HOME"], "history.duckdb"))


@pytest.mark.parametrize(
    ("told", "code", "judgement"),
    [(lines(200), 0, "CONTINUE"), (NAN, 1, "STOP"), (FLAT, 4, "WAIT"), (lines(3), 4, "WAIT")],
    ids=["healthy", "nan", "flat", "short"],
)
def test_the_answer_is_the_exit_code(
    check: Check, told: list[str], code: int, judgement: str
) -> None:
    """STOP 1, CONTINUE 0, WAIT 4; without a reviewer the rules alone decide."""
    got, document = check(log(told))
    assert (got, document["judgement"], document["decided_by"]) == (code, judgement, "rules")
    assert document["reason"]
    assert document["review"] is None


def test_the_interval_climbs_while_all_is_well_and_falls_at_once(check: Check) -> None:
    """10, 20, 30, 60, 60 minutes, then 10 after an anomaly; each check is a row of the history."""
    minutes = []
    for last in (100, 200, 300, 400, 500):
        _, document = check(log(lines(last)))
        minutes.append(document["interval_seconds"] / 60)
    sick = lines(550, lambda step: math.nan if step > 510 else healthy(step))
    code, document = check(log(sick))
    assert (code, [*minutes, document["interval_seconds"] / 60]) == (1, [10, 20, 30, 60, 60, 10])
    rows = history().query(
        "SELECT judgement, interval_s / 60 AS m, next_due - time = to_seconds(interval_s) AS due "
        "FROM checks ORDER BY time"
    ).to_pylist()  # fmt: skip
    assert [row["judgement"] for row in rows] == ["CONTINUE"] * 5 + ["STOP"]
    assert [row["m"] for row in rows] == [10, 20, 30, 60, 60, 10]
    assert all(row["due"] for row in rows)


def test_it_reads_on_from_where_it_was(check: Check) -> None:
    """Every point is stored once, and nothing is read twice."""
    for last in (100, 150, 400):
        check(log(lines(last)))
    (row,) = history().query(
        "SELECT count(*) n, count(DISTINCT step) s, max(step) m FROM points WHERE metric = 'loss'"
    ).to_pylist()  # fmt: skip
    assert row["n"] == row["s"] > 0


def test_before_its_time_a_due_check_does_nothing(check: Check) -> None:
    """The log is not even looked at; without --due it is checked whenever one asks."""
    path = log(lines(200))
    check(path)
    log(NAN)
    code, document = check(path, "--due")
    assert (code, document["due"], document["judgement"]) == (0, False, "CONTINUE")
    assert check(path)[0] == 1


def test_when_it_is_due_it_is_checked(check: Check) -> None:
    """Intervals of a tenth of a second have passed before the next program runs."""
    path = log(lines(200))
    check(path, "--intervals", "0.000001")
    code, document = check(log(NAN), "--due", "--intervals", "0.000001")
    assert (code, document["due"]) == (1, True)


def test_silence_for_a_whole_interval_is_no_good_news(check: Check) -> None:
    """Nothing new was written: that is said, and the interval stays."""
    path = log(lines(200))
    check(path, "--intervals", "0.000001,10")
    code, document = check(path, "--intervals", "0.000001,10")
    assert (code, "no new lines" in document["reason"]) == (4, True)


def test_a_finished_run_needs_no_more(check: Check) -> None:
    """The last step was reached: go on to something else."""
    code, document = check(log([*lines(1000), "Training finished"]))
    assert (code, document["ended"], document["judgement"]) == (0, True, "CONTINUE")


def test_a_crash_is_a_stop(check: Check) -> None:
    """Process health is for `watch`, yet a dead run is not called fine."""
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0"
    told = ["Traceback (most recent call last):", '  File "train.py", line 1, in <module>', error]
    code, document = check(log([*lines(100), *told]))
    assert (code, document["reason"].split(",")[0]) == (1, "Out of GPU memory")
    assert error in [line["text"] for line in document["evidence"]]


def test_baselines_and_a_reference_run(check: Check) -> None:
    """Significantly worse is a stop, with the name of what it was measured against."""
    check(log(lines(1000), "good.log"))
    path = log(lines(700, lambda step: 2.6 - step / 2500), "lags.log")
    good = history().runs()[0]["run"]
    assert check(path, "--baseline", "loss=3")[0] == 0
    code, document = check(path, "--reference", good)
    assert (code, document["signals"][-1]["name"]) == (1, f"reference {good}")
    still = log(lines(700, lambda step: 2.0), "still.log")
    code, document = check(still, "--baseline", "loss=1.5")
    assert (code, document["signals"][-1]["opinion"]) == (1, "bad")
    assert check(still, "--baseline", "loss=1.5", "--tolerance", "50")[0] == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no target"),
        (["a.log", "--pid", "1"], "one target"),
        (["a.log", "--baseline", "loss"], "no baseline"),
        (["a.log", "--intervals", "30,10"], "--intervals"),
        (["a.log", "--tolerance", "-1"], "--tolerance"),
        (["--slurm", "7", "--on-stop", "kill"], "no process is known for --slurm 7"),
        (["missing.log"], "missing.log"),
        (["a.log", "--reference", "nobody", "--no-store"], "--reference needs a history"),
    ],
)  # fmt: skip
def test_wrong_words_are_told_in_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code 2, and a hint."""
    assert main(["check", *words]) == 2
    error = capsys.readouterr().err
    assert said in error.splitlines()[0]
    assert "hint:" in error


def test_folders_globs_and_pipes_are_targets_too(check: Check, place: Path) -> None:
    """Whatever scan takes."""
    (place / "logs").mkdir()
    for rank in (0, 1):
        write(place / "logs" / f"rank_{rank}.log", lines(200))
    assert check("logs")[0] == 0
    assert check("logs/rank_*.log")[0] == 0
    with open("logs/rank_0.log") as piped:
        done = subprocess.run(
            [sys.executable, "-m", "runwatch", "check", "-", "--no-store"], stdin=piped,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout.split()[0]) == (0, "CONTINUE"), done.stderr


def test_a_history_that_cannot_be_used_does_not_hide_the_answer(check: Check, place: Path) -> None:
    """It is told all the same, and the code is 3."""
    (place / "broken.duckdb").write_bytes(b"no database at all" * 400)
    code, document = check(log(NAN), "--db", "broken.duckdb")
    assert (code, document["judgement"]) == (3, "STOP")


def test_a_run_that_another_program_keeps_is_left_to_it(
    check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    """A watcher that has just written goes on writing after a check, and the check sees it all."""
    path = log(lines(100))
    assert main(["scan", path]) == 0
    capsys.readouterr()
    store = history()
    run = store.runs()[0]["run"]
    past = store.past(run)
    assert past is not None
    code, document = check(log(lines(300)))
    assert (code, document["steps"]["last"]) == (0, 300)
    assert document["signals"][1]["words"].endswith("step 300: falling")
    store.flush(run, path, state=past.state)  # raises where somebody wrote the run meanwhile


# Out of reach


def test_another_host_up_down_and_up_again(check: Check, server: Server, place: Path) -> None:
    """Down is unknown, code 3, the same interval, and no stop; afterwards it goes on."""
    target = f"gpu-box:{place / 'train.log'}"
    log(lines(200))
    code, first = check(target)
    assert (code, first["judgement"], first["steps"]["last"]) == (0, "CONTINUE", 200)
    server.kill()
    code, down = check(target, "--on-stop", "touch acted")
    assert (code, down["judgement"], down["decided_by"]) == (3, None, "source")
    assert "unknown" in down["reason"]
    assert down["interval_seconds"] == first["interval_seconds"]
    server.start()
    log(lines(300))
    code, up = check(target)
    assert (code, up["steps"]["last"], up["interval_seconds"]) == (0, 300, 1200)
    assert not (place / "acted").exists()


def test_a_log_beside_it_is_read_where_the_host_is_out_of_reach(
    check: Check, server: Server, place: Path
) -> None:
    """And where that cannot be read either, both are named, and nothing is called bad."""
    server.kill()
    target = f"gpu-box:{place / 'train.log'}"
    code, document = check(target, "--log", log(lines(200), "copy.log"))
    assert (code, document["judgement"]) == (0, "CONTINUE")
    assert "copy.log was read instead" in document["notes"][0]
    code, document = check(target, "--log", "missing.log")
    assert (code, document["judgement"]) == (3, None)
    assert "missing.log" in document["reason"]


# The reviewer


@pytest.mark.parametrize(("word", "code"), [("STOP", 1), ("CONTINUE", 0), ("WAIT", 4)])
def test_a_reviewer_decides_what_the_rules_leave_open(
    check: Check, reviewer: Start, word: str, code: int
) -> None:
    """The rules' own opinion stands beside its word."""
    endpoint = reviewer(says(word))
    got, document = check(log(FLAT))
    assert (got, document["judgement"], document["decided_by"]) == (code, word, "reviewer")
    assert "flat" in document["concern"]
    assert document["signals"][1]["opinion"] == "unsure"
    (asked,) = endpoint.asked
    assert "flat" in asked["body"]["messages"][0]["content"]


@pytest.mark.parametrize("answer", [says("banana"), gives(b"", 500), gives(b"", 401)])
def test_a_reviewer_that_answers_rubbish_is_wait(
    check: Check, reviewer: Start, answer: Answer
) -> None:
    """With its reason beside the rules' own."""
    reviewer(answer)
    code, document = check(log(FLAT))
    assert (code, document["judgement"], document["decided_by"]) == (4, "WAIT", "rules")
    assert document["review"]["why"]


def test_nobody_is_asked_where_the_rules_are_sure(check: Check, reviewer: Start) -> None:
    """Nor with --no-reviewer."""
    endpoint = reviewer(says("STOP"))
    assert check(log(lines(200)))[0] == 0
    assert check(log(NAN))[0] == 1
    assert check(log(FLAT), "--no-reviewer")[0] == 4
    assert endpoint.asked == []


def test_the_key_is_neither_shown_nor_stored(
    reviewer: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    """--verbose shows the whole question, and the answer."""
    endpoint = reviewer(says("CONTINUE"))
    assert main(["check", log(FLAT), "--verbose"]) == 0
    shown = capsys.readouterr()
    for line in endpoint.asked[0]["body"]["messages"][0]["content"].splitlines():
        assert line in shown.err
    assert endpoint.asked[0]["key"] == "Bearer sk-very-secret-0123456789"
    stored = b"".join(p.read_bytes() for p in Path(os.environ["RUNWATCH_HOME"]).iterdir())
    for place in (shown.out, shown.err, stored.decode("latin-1")):
        assert "sk-very-secret-0123456789" not in place


def test_a_file_names_the_reviewer_for_a_timer(
    check: Check, reviewer: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers pass no environment on."""
    endpoint = reviewer(says("STOP"))
    Path("llm.env").write_text(f"# mine\nLLM_BASE_URL={endpoint.url}\nexport LLM_MODEL='m'\n")
    for name in ("LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"):
        monkeypatch.delenv(name)
    assert check(log(FLAT), "--env-file", "llm.env")[0] == 1
    assert endpoint.asked[0]["key"] is None


# Acting on a stop


def test_the_evidence_is_there_before_anything_is_done(check: Check) -> None:
    """The command itself finds the note; its outcome follows, in the note and in the history."""
    path = log(NAN)
    order = 'cp "$RUNWATCH_NOTES" before.md; echo "$RUNWATCH_TARGET" > target'
    code, document = check(path, "--on-stop", order, "--notes", "NOTES.md")
    assert (code, document["action"]) == (1, "the command was run")
    before, after = Path("before.md").read_text(), Path("NOTES.md").read_text()
    for word in ("STOP", os.path.abspath("train.log"), "loss is nan", "step 171", "loss=nan"):
        assert word in before, word
    assert after == before + "Outcome: the command was run\n\n"
    assert Path("target").read_text() == f"{path}\n"
    (row,) = history().query("SELECT judgement, action, details FROM checks").to_pylist()
    kept = json.loads(row["details"])
    assert (row["judgement"], row["action"]) == ("STOP", "the command was run")
    assert kept["evidence"][0]["text"].startswith("step 171/")
    assert kept["where"] == os.path.abspath("train.log")


def test_the_same_stop_is_acted_on_once(check: Check) -> None:
    """A timer finds it every ten minutes; another one is acted on again."""
    order = ("--on-stop", "echo x >> acted", "--notes", "NOTES.md")
    for _ in range(2):
        assert check(log(NAN), *order)[0] == 1
    assert Path("acted").read_text() == "x\n"
    assert Path("NOTES.md").read_text().count("## STOP") == 1
    again = lines(250, lambda step: math.nan if step > 230 else healthy(step), first=120)
    assert check(log([*NAN, *again]), *order)[0] == 1
    assert Path("acted").read_text() == "x\nx\n"


def test_another_order_is_carried_out_although_the_stop_was_noted(check: Check) -> None:
    """First only a note; the note is not written twice when somebody adds a command."""
    assert check(log(NAN), "--notes", "NOTES.md")[0] == 1
    code, document = check("train.log", "--notes", "NOTES.md", "--on-stop", "touch acted")
    assert (code, document["action"], Path("acted").exists()) == (1, "the command was run", True)
    assert Path("NOTES.md").read_text().count("## STOP") == 1


def test_a_command_that_failed_is_tried_again(check: Check) -> None:
    """With the next check."""
    order = ("--on-stop", "test -e ready && touch acted")
    code, document = check(log(NAN), *order)
    assert (code, document["action"]) == (1, "the command failed with code 1")
    Path("ready").touch()
    code, document = check("train.log", *order)
    assert (code, document["action"], Path("acted").exists()) == (1, "the command was run", True)


def test_nothing_is_done_unless_it_stops(check: Check) -> None:
    """Neither a command nor a note."""
    order = ("--on-stop", "touch acted", "--notes", "NOTES.md")
    assert check(log(lines(200)), *order)[0] == 0
    assert check(log(FLAT), *order)[0] == 4
    assert not Path("acted").exists()
    assert not Path("NOTES.md").exists()


def test_nothing_is_done_where_the_evidence_can_be_kept_nowhere(check: Check) -> None:
    """No history, and a note that cannot be written."""
    code, document = check(
        log(NAN), "--no-store", "--on-stop", "touch acted", "--notes", "missing/NOTES.md"
    )
    assert (code, document["action"]) == (1, "nothing: the evidence could be kept nowhere")
    assert not Path("acted").exists()


def test_a_stop_ends_the_session_of_the_training(check: Check, place: Path) -> None:
    """A real one, that would go on for long."""
    write(place / "plan", NAN)
    with open("train.log", "wb") as out:
        training = subprocess.Popen(
            [sys.executable, "-c", "import time; print(open('plan').read(), flush=True); "
             "time.sleep(600)"], stdout=out, start_new_session=True,
        )  # fmt: skip
    try:
        while not Path("train.log").read_text().endswith("\n\n"):
            assert training.poll() is None
        code, document = check("train.log", "--on-stop", "kill")
        assert (code, document["action"].split(" (")[0]) == (1, f"ended process {training.pid}")
        assert training.wait(30) < 0
    finally:
        training.kill()
        training.wait()


# Timers


def test_a_timer_is_shown_and_written_only_if_agreed_to(
    capsys: pytest.CaptureFixture[str], crontab: Path
) -> None:
    """Without a terminal, --yes agrees; what it writes works, and goes again."""
    path = log(lines(200), "my train.log")
    words = ["check", path, "--baseline", "loss=2", "--timer", "cron"]
    assert main([*words, "--install-timer"]) == 2
    said = capsys.readouterr().err
    assert "*/10 * * * *" in said
    assert "--yes" in said
    assert listed(crontab) == []
    assert main([*words, "--install-timer", "--yes"]) == 0
    (line,) = listed(crontab)
    for word in ("CONTINUE", ""):  # due, then not, without a word
        command = line.removeprefix("*/10 * * * * ").replace("\\%", "%")
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(word)
        assert bool(done.stdout) is bool(word)
    assert main(["check", path, "--remove-timer"]) == 0
    assert listed(crontab) == []


def test_a_timer_keeps_the_words_it_was_made_with(capsys: pytest.CaptureFixture[str]) -> None:
    """Target, host and options; what is only for its making stays out."""
    words = ("--pid", "7", "--host", "me@gpu-box:2222", "--redact-paths", "--notes", "N.md")
    assert main(["check", *words, "--on-stop", "echo 100%", "--install-timer"]) == 2
    (line,) = [
        one for one in capsys.readouterr().err.splitlines() if "*/10" in one or "Exec" in one
    ]
    for word in ("--due", "--pid=7", "--host=me@gpu-box:2222", "--redact-paths", "--notes=N.md"):
        assert word in line
    assert "--on-stop=echo 100" in line
    assert "--install-timer" not in line


def test_a_timer_of_a_pipe_makes_no_sense(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does one without a history."""
    assert main(["check", "-", "--install-timer"]) == 2
    assert main(["check", "a.log", "--no-store", "--install-timer"]) == 2
