"""What is kept of a run, to go on from it in another process."""

from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from runwatch import pipeline
from runwatch.chunk import Chunk, Stream
from runwatch.detect.named import chosen, known
from runwatch.parse.knowledge import builtin
from runwatch.past import STATE_VERSION
from runwatch.pipeline import Analysis
from runwatch.scanning import scan
from runwatch.store import Store
from tests.detect.numbers.numeric_batches import detector, feed
from tests.detect.numbers.test_firing_and_silent import FIRES
from tests.detect.test_platform import STATES, Bench
from tests.store.test_actions import action

MEASURED = ("loss", "eval_loss", "lr", "grad_norm", "throughput", "loss_scale")
CHOSEN = {"log", *MEASURED, *known()}  # names of streams, metrics and rules, which may be keys, too
DEATH = """\
[rank0]:[E ProcessGroupNCCL.cpp:616] [PG 0 Rank 0] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=22, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600025 \
milliseconds before timing out.
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    main()
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 is full
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-01_00:00:00
  host      : node-a
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 12)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org
============================================================
Training completed
Traceback (most recent call last):
  File "train.py", line 3
"""


def log(steps: int) -> str:
    """Most of what can happen to a run."""
    lines = ["world_size=4, num_train_epochs: 3", "args: lr=0.1"]
    for i in range(1, steps + 1):
        at = datetime.fromtimestamp(1.7e9 + i + (4000 if i > 300 else 0), UTC)
        loss = float("nan") if i > 390 else 9.0 if i > 350 else 5.0 - i / 100
        lines.append(
            f"{at:%Y-%m-%d %H:%M:%S} INFO epoch {1 + i // 200} step {i}/1000 | loss {loss:.4f} | "
            f"lr {1e-3 * 0.99**i:.3e} | grad_norm {500 if 320 < i < 340 else 1 + i % 5} | "
            f"throughput {100 if i < 300 else 20} | loss_scale {65536 >> max(0, i - 390)}"
        )
        if i % 50 == 0:
            lines += [f"Saving checkpoint to out/step-{i}", "***** Running Evaluation *****",
                      f"eval_loss: {abs(3 - i / 100):.4f}",
                      "loss scale: 64, reducing to 32"]  # fmt: skip
    return "\n".join([*lines, DEATH])


def keys(value: Any, at: str = "") -> set[str]:
    """The keys of nested tables, those that a log has chosen as one; what a line has told besides
    is all the log's."""
    if isinstance(value, list | tuple):
        return set().union(*(keys(one, f"{at}[]") for one in value))
    if not isinstance(value, dict) or at.endswith(".told"):
        return set()
    found: set[str] = set()
    for key, one in value.items():
        field = key.isidentifier() and (at == ".detectors" or key not in CHOSEN)
        inner = f"{at}.{key if field else '*'}"
        found |= {inner} | keys(one, inner)
    return found


def everything(folder: Path) -> set[str]:
    """The keys of all that is kept, of a run in which much happened and of each detector that
    found what it looks for."""
    (folder / "logs").mkdir()
    for rank in range(4):
        (folder / "logs" / f"rank_{rank}.log").write_text(log(400 if rank else 60))
    store = Store(folder / "history.duckdb")
    scan(str(folder / "logs"), store=store, clock=lambda: datetime(2026, 3, 1, tzinfo=UTC),
         rules=chosen(["all"]))  # fmt: skip
    past = store.past(store.runs()[0]["run"])
    assert past is not None
    found = keys(past.state)
    for name, cases in FIRES.items():
        for records, _ in cases:
            watching = detector(name)
            feed(watching, records)
            found |= keys(watching.state(), f".detectors.{name}")
    bench = Bench()
    bench.say(STATES, "JOB_STATE_RUNNING a", "ERROR pipeline_job_task_events b: no image")
    for _ in range(2):
        bench.after(300)
        bench.say(STATES, "TASK_STATE_RUNNING b")
    bench.after(1)
    return found | keys(bench.detector.state(), ".detectors.stall")


def test_who_keeps_something_else_raises_its_version(tmp_path: Path) -> None:
    """Where the keys of what is kept change, a past of before must not be taken up."""
    found = sorted(everything(tmp_path))
    digest = blake2b("\n".join(found).encode(), digest_size=8).hexdigest()
    assert (STATE_VERSION, digest) == (15, "f29089eed926f83b"), (
        "what is kept of a run has other keys than before: raise STATE_VERSION in past.py, "
        "and put it here with the new digest"
    )


def test_what_is_stored_already_is_not_stored_again(tmp_path: Path) -> None:
    """A run that says nothing costs nothing; each new line and each action is kept at once."""
    file = tmp_path / "history.duckdb"
    analysis = Analysis(
        "r", "train.log", store=Store(file), clock=lambda: datetime.fromtimestamp(1.7e9, UTC),
        knowledge=builtin(),
    )  # fmt: skip

    def stores() -> bool:
        """Whether a flush changes the history."""
        before = file.read_bytes() if file.exists() else b""
        analysis.flush()
        return before != file.read_bytes()

    line = b"step 1 loss 2.0\n"
    for offset in (0, len(line)):
        analysis.take(Chunk(Stream("train.log"), line, offset))
        assert stores()
        assert not stores()
    analysis.actions.append(action())
    assert stores()
    assert not stores()
    analysis.actions[0]["outcome"] = "started as process 7; went on past step 30"
    assert stores()
    assert not stores()


def test_lines_of_note_do_not_wait_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of thousands of ranks may write them, and hardly a number."""
    monkeypatch.setattr(pipeline, "_MOST_PENDING", 1_000)
    store = Store(tmp_path / "history.duckdb")
    analysis = Analysis(
        "r", "logs", store=store, clock=lambda: datetime.fromtimestamp(1.7e9, UTC),
        knowledge=builtin(),
    )  # fmt: skip
    for name in ("rank_0.log", "rank_1.log"):
        analysis.take(Chunk(Stream(name), b"WARNING: this node is slow\n" * 100, 0))
    found = store.query("SELECT count(*) AS n FROM lines WHERE stream = 'rank_0.log'")
    assert found.to_pylist() == [{"n": 100}]
