"""Runs at W&B and MLflow: the real clients, against servers on loopback."""

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runwatch.chunk import Cursor
from runwatch.errors import InputError, UnreachableError
from runwatch.ingest import Source, open_source
from runwatch.ingest.following import Following, open_following
from runwatch.ingest.service import service_of
from runwatch.ingest.service_follow import Tracking
from runwatch.judgement import TerminalState
from runwatch.target import Target
from tests.ingest import mlflow_server, wandb_server
from tests.ingest.following import Reader
from tests.ingest.logs import read


class Tracked:
    """A run of either service: the same words log to it, end it and name it."""

    def __init__(
        self, log: Callable[..., None], end: Callable[[str], None], target: Target
    ) -> None:
        self.log, self.end, self.target = log, end, target

    def source(self) -> Source:
        """It at rest."""
        return open_source(self.target)

    def follow(self) -> Following:
        """It followed, asked without a pause."""
        return Tracking(service_of(self.target), str(self.target.kind), turn=0.05)


@pytest.fixture(scope="module")
def wandb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wandb_server.Server]:
    pytest.importorskip("wandb")
    server = wandb_server.Server()
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_BASE_URL", server.url)
        patch.setenv("WANDB_API_KEY", server.key)
        patch.setenv("WANDB_HTTP_TIMEOUT", "3")
        patch.setenv("WANDB_DIR", str(tmp_path_factory.mktemp("wandb")))
        server.runs["team/proj/first"] = wandb_server.Kept()
        read(open_source(Target.of_wandb("team/proj/first")))  # its client takes long to begin
        yield server
    server.stop()


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mlflow_server.Server]:
    for name in ("mlflow", "flask", "sqlalchemy"):
        pytest.importorskip(name)
    server = mlflow_server.Server(tmp_path_factory.mktemp("mlflow"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["wandb", "mlflow"])
def run(request: pytest.FixtureRequest) -> Tracked:
    server = request.getfixturevalue(request.param)
    if request.param == "wandb":
        name = f"team/proj/{len(server.runs)}"
        kept = server.runs[name] = wandb_server.Kept(config={"max_steps": 1000, "lr": 1e-4})

        def log(first: int, last: int) -> None:
            kept.log(first, last, loss=loss, **{"eval/acc": 0.5})

        def end(state: str) -> None:
            kept.state = state

        return Tracked(log, end, Target.of_wandb(name))
    made = server.run(max_steps=1000, lr=1e-4)

    def log_all(first: int, last: int) -> None:
        steps = range(first, last)
        made.log([(m, v, s) for s in steps for m, v in (("loss", loss(s)), ("eval/acc", 0.5))])

    return Tracked(
        log_all, lambda state: made.end(state.upper()), Target.of_mlflow(made.id, uri=server.uri)
    )


def loss(step: int) -> float:
    return math.nan if step == 7 else 3 - step / 500


def rows(text: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def place(source: Source) -> tuple[bytes, Cursor]:
    """All that there is, and the cursor behind it."""
    text, last = b"", Cursor("")
    for chunk in source.chunks({}):
        text += chunk.data
        last = Cursor(chunk.identity, chunk.offset + len(chunk.data))
    return text, last


def test_a_step_is_a_line_of_all_that_was_logged_at_it(run: Tracked) -> None:
    """Numbers to the last bit, nan as it is, and the steps that the settings announce."""
    run.log(0, 20)
    told = rows(read(run.source())["history"])
    assert list(range(20)) == [row["step"] for row in told]
    assert math.isnan(told[7].pop("loss"))
    assert [loss(step) for step in range(20) if step != 7] == [
        row["loss"] for row in told if "loss" in row
    ]
    assert {(0.5, 1000)} == {(row["eval/acc"], row["max_steps"]) for row in told}


def test_it_goes_on_behind_the_last_step_that_was_seen(run: Tracked) -> None:
    """Law: a cursor behind what was given gives the rest, once; any other starts over."""
    run.log(0, 30)
    before, cursor = place(run.source())
    run.log(30, 50)
    after = read(run.source(), {"history": cursor})["history"]
    whole = read(run.source())["history"]
    assert whole == before + after
    assert list(range(30, 50)) == [row["step"] for row in rows(after)]
    for other in (Cursor("", 5), Cursor("{}", 5), Cursor(cursor.identity, 7), Cursor("[1]", 0)):
        assert whole == read(run.source(), {"history": other})["history"]


def test_where_nothing_is_new_the_place_stays(run: Tracked) -> None:
    """Followed from where it was left, it goes on from there whenever it is followed again."""
    run.log(0, 30)
    _, cursor = place(run.source())

    async def follow_it() -> Cursor:
        async with Reader(run.follow(), {"history": cursor}) as reader:
            await reader.turns(2)
            return reader.cursors["history"]

    assert cursor == asyncio.run(follow_it())


@pytest.mark.parametrize(
    ("word", "state"),
    [("finished", "SUCCEEDED"), ("failed", "FAILED"), ("killed", "CANCELLED")],
)
def test_its_end_is_what_the_service_says(run: Tracked, word: str, state: str) -> None:
    """A run that goes on has none."""
    run.log(0, 3)
    source: Any = run.source()
    read(source)
    assert source.said is None
    run.end(word)
    read(source)
    assert TerminalState(state) is source.said.state


def test_a_followed_run_gives_what_it_gives_at_rest(run: Tracked) -> None:
    """New steps come as they are logged; a second reader goes on where the first stopped."""
    run.log(0, 10)

    async def follow() -> bytes:
        async with Reader(run.follow()) as reader:
            await reader.until(lambda: reader.whole("history").count(b"\n") >= 10)
            run.log(10, 20)
            await reader.until(lambda: reader.whole("history").count(b"\n") >= 20)
            before, cursors = reader.whole("history"), reader.cursors
        run.log(20, 25)
        async with Reader(run.follow(), cursors) as reader:
            await reader.until(lambda: reader.whole("history").count(b"\n") >= 5)
            await reader.turns(2)
            return before + reader.whole("history")

    followed = asyncio.run(follow())
    assert read(run.source())["history"] == followed


def test_an_unknown_run_is_no_outage(run: Tracked) -> None:
    """The words on the command line are wrong, and that is said."""
    path = run.target.path[:-1] + "nope"
    wrong = Target.of_wandb(path) if "/" in path else Target.of_mlflow(path, uri=run.target.service)
    with pytest.raises(InputError, match="knows no run"):
        read(open_source(wrong))


def test_a_login_that_is_no_good_leaves_the_state_unknown(
    wandb: wandb_server.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An expired key is no word on the training; how to log in again is said."""
    wandb.runs["team/proj/x"] = wandb_server.Kept()
    monkeypatch.setattr(wandb, "key", "another")
    with pytest.raises(UnreachableError, match="state unknown") as raised:
        read(open_source(Target.of_wandb("team/proj/x")))
    assert "wandb login" in raised.value.hint


def test_an_outage_loses_and_doubles_nothing(tmp_path: Path, wandb: wandb_server.Server) -> None:
    """Down in the middle: the log is read instead; back again: the history goes on."""
    kept = wandb.runs["team/proj/down"] = wandb_server.Kept()
    kept.log(0, 10, loss=loss)
    log = tmp_path / "train.log"
    log.write_text("step 0 loss 3\n")
    target = Target.of_wandb("team/proj/down", beside=Target.parse(str(log)))

    async def follow() -> tuple[bytes, bytes, list[str]]:
        source: Any = open_following(target)
        source._service._turn = 0.05
        async with Reader(source) as reader:
            await reader.until(lambda: reader.whole("history").count(b"\n") >= 10)
            wandb.stop()
            await asyncio.wait_for(_until(lambda: "train.log" in reader.texts), 30)
            assert source.reach.ok
            assert "reading" in source.reach.note
            kept.log(10, 20, loss=loss)
            with log.open("a") as out:
                out.write("step 1 loss 2\n")
            await asyncio.wait_for(_until(lambda: reader.whole("train.log").count(b"\n") == 2), 30)
            wandb.start()
            await asyncio.wait_for(_until(lambda: reader.whole("history").count(b"\n") >= 20), 30)
            return reader.whole("history"), reader.whole("train.log"), source.events

    history, text, events = asyncio.run(follow())
    assert list(range(20)) == [row["step"] for row in rows(history)]
    assert text == log.read_bytes()
    assert any("reading" in event for event in events)
    assert any("reachable again" in event for event in events)


async def _until(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.01)


def test_a_long_history_is_asked_for_in_pages(wandb: wandb_server.Server) -> None:
    """Half a million steps with gaps: no answer is asked to hold them all, and a reader that has
    seen them asks for what is new only."""
    kept = wandb.runs["team/proj/long"] = wandb_server.Kept()
    kept.rows = {step: {"_step": step, "loss": 1.0} for step in range(0, 500_000, 50)}
    wandb.asked.clear()
    chunks = list(open_source(Target.of_wandb("team/proj/long")).chunks({}))
    assert 10_000 == sum(chunk.data.count(b"\n") for chunk in chunks)
    assert 50 == len(wandb.pages())
    assert 10_000 == max(last - first for first, last in wandb.pages())
    wandb.asked.clear()
    last = chunks[-1]
    kept.log(500_000, 500_001, loss=1.0)
    cursor = Cursor(last.identity, last.offset)
    text = read(open_source(Target.of_wandb("team/proj/long")), {"history": cursor})["history"]
    assert [500_000] == [row["step"] for row in rows(text)]
    assert [(499_951, 500_001)] == wandb.pages()


def test_a_dense_history_is_held_a_page_at_a_time(wandb: wandb_server.Server) -> None:
    """Every row comes once and in order, and no chunk holds more than an answer does."""
    wandb.runs["team/proj/dense"] = wandb_server.long(25_000)
    next_step, longest = 0, 0
    for chunk in open_source(Target.of_wandb("team/proj/dense")).chunks({}):
        told = rows(chunk.data)
        assert [row["step"] for row in told] == list(range(next_step, next_step + len(told)))
        next_step, longest = next_step + len(told), max(longest, len(told))
    assert (25_000, 10_000) == (next_step, longest)


def test_what_only_the_summary_says_is_told_at_the_end(wandb: wandb_server.Server) -> None:
    """Best and final results that no step has, once; pictures and texts are no numbers."""
    kept = wandb.runs["team/proj/sum"] = wandb_server.Kept(state="finished")
    kept.log(0, 5, loss=1.0)
    kept.summary = {"loss": 1.0, "best": {"acc": 0.9}, "_wandb": {"runtime": 3}, "note": "x"}
    text, cursor = place(open_source(Target.of_wandb("team/proj/sum")))
    assert {"step": 4, "best.acc": 0.9} == rows(text)[-1]
    source = open_source(Target.of_wandb("team/proj/sum"))
    assert b"" == read(source, {"history": cursor})["history"]


def test_metrics_that_count_on_another_axis_do_not_send_the_run_back(
    mlflow: mlflow_server.Server,
) -> None:
    """An evaluation that counts epochs stands at the step that training had reached."""
    made = mlflow.run()
    made.log([("loss", 2.0, 500)])
    made.log([("loss", 1.0, 1000)])
    told = rows(read(open_source(Target.of_mlflow(made.id, uri=mlflow.uri)))["history"])
    assert [500, 1000] == [row["step"] for row in told]


def test_the_page_of_a_run_holds_no_password(mlflow: mlflow_server.Server) -> None:
    """It is printed and kept; the address that it is from may have one in it."""
    made, server = mlflow.run(), mlflow.uri.removeprefix("http://")
    for uri in (mlflow.uri, f"http://me:SECRETPW@{server}/"):
        page = service_of(Target.of_mlflow(made.id, uri=uri)).look().url
        assert f"http://{server}/#/experiments/" in page
        assert page.endswith(f"/runs/{made.id}")
