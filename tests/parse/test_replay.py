"""Replay on or off is the same: points, lines of note, coverage, places, to the last bit."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.arrow import record_batch
from runwatch.chunk import Chunk, Stream
from runwatch.kernels import native
from runwatch.parse import Parser, crew, gate, learner
from runwatch.tally import Tally
from tests.parse.reading import MIXED, RUN, points, rows

WATCHWORDS = ("error", "nccl warn", "checkpoint 0 failed")


def told(
    data: bytes, *, replay: bool, cuts: tuple[int, ...] = (), stream: Stream = RUN,
    threads: int = 1, remember: bool = False,
) -> Any:  # fmt: skip
    """Everything that a parser says of the bytes, and how it would go on."""
    parser = Parser(
        watchwords=WATCHWORDS, year=2024, replay=replay, threads=threads, remember=remember
    )
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    chunks = [Chunk(stream, data[a:b], a) for a, b in pairwise(edges)]
    batches = [parser.feed(*pair) for pair in zip(chunks, [*chunks[1:], None], strict=True)]
    state = json.loads(json.dumps(parser.state()))
    batches.append(parser.finish(stream))
    progress: dict[Any, Any] = {}
    for batch in batches:
        progress |= batch.progress
    writers = {(name, rank): writer for name, rank, writer in state["writers"]}
    fresh = Parser(replay=False)
    unused = fresh.writers.of(stream.name, None).state()
    return (
        [row for batch in batches for row in rows(batch.points)],
        [row for batch in batches for row in record_batch(batch.lines).to_pylist()],
        parser.account,
        progress,
        {key: w for key, w in writers.items() if w != unused},
        parser.cursor(stream),
    )


NUMBER = st.one_of(
    st.floats(-1e6, 1e6).map(repr),
    st.integers(-(10**12), 10**12).map(str),
    st.floats(1e-30, 1e30).map(lambda x: f"{x:.6e}"),
    st.sampled_from(["nan", "inf", "-inf", "NaN", "0", "-0.0", "1,234", "1e-400", "5.", "N/A"]),
    st.decimals(-1000, 1000, places=4).map(str),
)
STEP = st.integers(0, 300)
RANK = st.integers(0, 11)
CLOCK = st.tuples(
    st.integers(0, 23), st.integers(0, 61), st.integers(0, 59), st.integers(0, 999)
).map(lambda t: "2024-02-29 {:02}:{:02}:{:02},{:03}".format(*t))
LINE = st.one_of(
    st.builds("{} INFO train: step={} loss={} lr={}".format, CLOCK, STEP, NUMBER, NUMBER),
    st.builds("[rank{}]: [iter {:>6}/ 300] loss: {}  mem: {}GB".format, RANK, STEP, NUMBER, NUMBER),
    st.builds('{{"rank": {}, "step": {}, "loss": {}, "host": "a1"}}'.format, RANK, STEP, NUMBER),
    st.builds("{{'loss': {}, 'epoch': {}}}".format, NUMBER, NUMBER),
    st.builds("epoch {} | loss {} | {} tok/s".format, STEP, NUMBER, NUMBER),
    st.builds("average score: {}".format, NUMBER),
    st.builds("node{}:{}:{} [{}] NCCL INFO via P2P/{}".format, RANK, STEP, STEP, RANK, RANK),
    st.builds("saving checkpoint at iteration {:>7} to /ckpt/iter_{:07}".format, STEP, STEP),
    st.builds("{} ERROR train: error {}".format, CLOCK, NUMBER),
    st.builds("[rank{}]: {} WARNING loader: batch {} took {}s".format, RANK, CLOCK, STEP, NUMBER),
    st.builds("node{}: [{}] NCCL WARN Call to connect failed: {}".format, RANK, RANK, NUMBER),
    st.builds("[rank{}]: saving checkpoint {} failed, loss: {}".format, RANK, NUMBER, NUMBER),
    st.builds("[rank{}]: step {} val_error: {} error".format, RANK, STEP, NUMBER),
    st.builds("[step={}/300]".format, STEP),
    st.builds("{0}: GLOBAL_RANK: {0}, MEMBER: {1}/12".format, RANK, STEP),
    st.builds("{0}: [rank{1}]:[W501 15:03:0{0}] step {2} loss: 2.{1}".format, RANK, RANK, STEP),
    st.builds("[rank{0}]: rank={1} step={2} loss={3}".format, RANK, RANK, STEP, NUMBER),
    st.builds("    train/loss={}".format, NUMBER),
    st.builds(" 5%|#| {}/300 [00:01<00:20, 4.5it/s, loss={}]\r".format, STEP, NUMBER),
    st.sampled_from(["", "   ", "----", "Traceback (most recent call last):", "ValueError: x",
                     '  File "a.py", line 3, in f', "def f(x):", "    return x", "import os",
                     "epoch  train_loss  valid_loss", "0  2.5  2.75", "| loss | 2.5 |", "[step"]),
)  # fmt: skip


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """A log in which few forms come again and again."""
    forms = draw(st.lists(LINE, min_size=1, max_size=6))
    lines = draw(st.lists(st.one_of(LINE, st.sampled_from(forms)), max_size=60))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(lines).encode() + draw(st.sampled_from([b"", b"\n"]))


@given(logs(), st.lists(st.integers(0, 4000), max_size=4))
@settings(max_examples=250)
def test_replay_says_what_reading_says(data: bytes, cuts: list[int]) -> None:
    """On any log, however it is cut."""
    assert told(data, replay=False) == told(data, replay=True, cuts=tuple(cuts))


@given(st.lists(st.integers(0, 3 * len(MIXED)), max_size=4))
@settings(max_examples=25)
def test_replay_goes_through_every_dialect(cuts: list[int]) -> None:
    """A mixture of dialects read three times over gives the same both ways."""
    data = 3 * (MIXED + b"\n")
    assert told(data, replay=False) == told(data, replay=True, cuts=tuple(cuts))


def test_replay_learns_and_then_replays() -> None:
    """The path under test is taken: one template serves thousands of lines."""
    data = b"".join(b"step %d loss: %.4f\n" % (i, 9 / (i + 1)) for i in range(5000))
    assert (5000, [1, 2]) == read_by_code(data)


def read_by_code(data: bytes) -> tuple[int, list[int]]:
    """How many points a log has, and the lines that the readable path reads of it."""
    parser = Parser(replay=True)
    read: list[int] = []
    slow = parser.read_line
    parser.read_line = lambda *line: (read.append(line[1]), slow(*line))[1]  # type: ignore[method-assign,misc]
    return len(parser.feed(Chunk(RUN, data, 0)).points), read


def test_a_setting_that_is_printed_again_is_replayed() -> None:
    """It proves nothing where the run stands still, so nobody has to read it."""
    data = b"step 1 loss: 2.5\n" + 900 * b"mean width: 5\nmean height: 6, mean depth: 7\n"
    assert len(read_by_code(data)[1]) < 10
    assert told(data, replay=False) == told(data, replay=True)


def test_an_indented_line_that_names_a_rank_is_replayed() -> None:
    """It goes on with the line of one writer, and says where another one is."""
    data = b"[rank0]: step 1 loss: 2.5\n[rank1]: failures of all ranks:\n" + b"".join(
        b"  rank      : %d (local_rank: %d)\n" % (i % 8, i % 8) for i in range(800)
    )
    assert len(read_by_code(data)[1]) < 100
    assert told(data, replay=False) == told(data, replay=True)
    head = b"node5: [2024-05-01 12:00:01] INFO     [olmo.eval:26, rank=7] Eval metrics\n"
    data = (head + b"node4:   of rank=6 metrics\nnode5:     throughput/total_tokens=4,7\n") * 9
    assert told(data, replay=False) == told(data, replay=True)


def test_a_line_is_replayed_in_every_context_that_it_was_read_in() -> None:
    """By its form in one, as it is in another."""
    source = b"def f(x):\n    return g(x)\n" * 12
    data = b"".join(b"step %d loss: 2.5\nlog_interval = %d\n" % (i, i + 10) for i in range(60))
    data += b"".join(source + b"log_interval = 10\nepoch %d\n" % i * 40 for i in range(60))
    assert len(read_by_code(data)[1]) < 50
    assert told(data, replay=False) == told(data, replay=True)


@pytest.mark.parametrize(
    "data",
    [
        b"".join(  # a number that is too large for a rank, beside the rank that it is tried with
            b"[%d,%d]<stdout>: rank %d iteration 10/ 300 | lm loss: 2.5 | grad norm: 1.2 |\n" % ids
            for ids in ((1, 3, 3), (52, 7, 1234567), (60, 9, 8), (61, 7, 2345678), (62, 9, 8))
        ),
        b"".join(  # of any width each, but together a thousand
            b"step %d loss 2.5 throughput %s samples/s\n" % each
            for each in ((1, b"65536,31"), (2, b"65537,32"), (3, b"65538,33"), (4, b"3,201"))
        ),
        b"".join(  # part of a word, or a number
            b"cuda:%d step 62 loss 6.2 mem 7GB\n" % each for each in (7, 8, 9, -3)
        ),
        b"[4,2]<stderr>:|    ep_rew_mean           | -9.4    |\n"  # open boxes of several ranks
        b"[0,5765284]<stderr>:|    ep_rew_mean           | -9.5    |\n",
    ],
)
def test_numbers_that_mean_something_together(data: bytes) -> None:
    """They are told the same by both paths, and in the same order."""
    assert told(data, replay=False) == told(data, replay=True)


@pytest.mark.parametrize("other", [b"", b"epoch 3 loss: 1.5\n" * 200, b"no end"])
def test_another_chunk_than_was_expected_may_come(other: bytes) -> None:
    """What was begun for nothing is given up."""
    data = b"".join(b"step %d loss: %.4f\n" % (i, 9 / (i + 1)) for i in range(900))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "BLOCK", 300)
        told = []
        for threads, following in ((1, None), (3, Chunk(RUN, other, len(data)))):
            parser = Parser(replay=True, threads=threads)
            first = rows(parser.feed(Chunk(RUN, data, 0), following).points)
            told.append((first, rows(parser.feed(Chunk(RUN, data, len(data))).points)))
        assert told[0] == told[1]


WAITING = st.sampled_from(
    ["step={} loss=2", "epoch {}", "average score: {}", "step 2 average score: {}", "accuracy {}",
     "2024-02-29 10:00:0{} average score: {}", "mean depth: {}, mean weight: 8", "workers: {}",
     "loss scale {}", "2024-02-29 10:00:01 loss scale {}", "mean height: {}", "lr: {}"]
)  # fmt: skip
SMALL = st.sampled_from(["1", "1", "2", "3", "0", "0.0", "-0.0", "nan"])
WHO = st.sampled_from(["", "[rank0]: ", *(f"[rank{rank}]: " for rank in range(6))])


@st.composite
def waiting(draw: st.DrawFn) -> list[str]:
    """Lines of few forms by many ranks, and some others between."""
    few = draw(st.lists(WAITING, min_size=1, max_size=3))
    line = st.one_of(*4 * [st.sampled_from(few)], WAITING)
    lines = draw(st.lists(st.tuples(WHO, line, SMALL), max_size=60))
    learned = [f"[rank{i}]: {form.format(i, i)}" for i in range(3) for form in few]
    return [*learned, *(who + form.format(n, n) for who, form, n in lines)]


@given(
    waiting(),
    st.sampled_from([(1, 4096), (2, 4096), (4, 4096), (28, 4096), (2048, 28), (2048, 4096)]),
    st.lists(st.integers(0, 1000), max_size=3),
)
@settings(max_examples=200)
def test_forms_that_wait_for_a_proof_are_the_same(
    lines: list[str], rooms: tuple[int, int], cuts: list[int]
) -> None:
    """Whatever comes between, and where they are so many that some are forgotten."""
    data = "\n".join([*lines, *lines, ""]).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "_SPARE", 20)
        patch.setattr(gate, "_MAX_HELD", rooms[0])
        patch.setattr(gate, "_MAX_KNOWN", rooms[1])
        slow, fast = (told(data, replay=replay, cuts=tuple(cuts)) for replay in (False, True))
        assert slow == fast
        tallies = [Tally(), Tally()]
        for tally, replay in zip(tallies, (False, True), strict=True):
            Parser(replay=replay, tally=tally).feed(Chunk(RUN, 2 * data, 0))
        assert sorted(map(repr, tallies[0].metrics())) == sorted(map(repr, tallies[1].metrics()))


def test_lines_of_note_are_replayed() -> None:
    """Written down in order, wherever their writers are, as loud as their words; lines that are
    read by themselves stand between."""
    loud = b"[rank%d]: 2024-02-29 10:%02d:%02d,125 ERROR train: batch %d is late\n"
    data = b"".join(
        b"[rank%d]: step %d loss: %d.5\n" % (n % 7, n // 7, n % 3)
        + loud % (n % 5, n // 60, n % 60, n)
        + b"    node%d:%d [%d] NCCL WARN Call to connect failed\n" % (n % 10, n, n % 5)
        + (b"def f():\n    return g(x)\n" if n % 400 < 20 else b"")
        for n in range(1500)
    )
    assert len(read_by_code(data)[1]) < 200
    cuts = (30_001, 50_000)
    assert told(data, replay=False, cuts=cuts) == told(data, replay=True, cuts=cuts)
    assert len(told(data, replay=True)[1]) == 3000


def test_tracebacks_of_many_ranks_are_replayed() -> None:
    """Each of their lines is one of note, whatever it would be elsewhere."""
    lines = (
        "Traceback (most recent call last):", '  File "/opt/train.py", line {}, in main',
        "    loss = step({})  # 5%|#| 1/20 [00:01<00:20]", "    step 3 loss: 0.{}", "",
        "ValueError: step {} loss: nan", "step {} loss: 2.5",
    )  # fmt: skip
    data = "".join(
        f"[rank{rank}]: {line.format(10 + turn)}\n"
        for turn in range(3) for line in lines for rank in range(120)
    ).encode()  # fmt: skip
    assert len(read_by_code(data)[1]) < 600
    for cuts in ((), (20_001, 40_000)):
        assert told(data, replay=False, cuts=cuts) == told(data, replay=True, cuts=cuts)


@pytest.mark.parametrize("often", ["WARNING  error #2285", "WARNING: val_error: 1.5"])
def test_a_number_may_make_another_line_of_note(often: str) -> None:
    """Or none; an escape, which is read as what it stands for."""
    forms = [
        often,
        often.replace("WARNING", "INFO"),
        "WARNING  error #0113",
        "val_error: nan error",
    ]
    data = "".join(f"[rank{n}]: {form}\n" for n in range(9) for form in forms).encode()
    assert told(data, replay=False) == told(data, replay=True)


def test_what_each_rank_prints_once_is_replayed() -> None:
    """It waits for a proof, or is refused where it comes again with other numbers; whoever goes on
    from the state knows."""
    head = b"".join(b"[rank%d]: starting\n" % rank for rank in range(300))
    once = b"2024-02-29 10:%02d:%02d [rank%d]: mean width: %d\n"
    data = head + b"".join(
        once % (again, n % 60, n * 7 % 300, (n + again) % 5)
        + b"[rank%d]: loss scale %d\n" % (n, n % 5)
        for again in range(2) for n in range(300)
    )  # fmt: skip
    assert len(read_by_code(data)[1]) < 30
    for cuts in ((), (20_000, 30_000)):
        assert told(data, replay=False, cuts=cuts) == told(data, replay=True, cuts=cuts)


def test_a_form_that_an_unfinished_line_has_is_known_when_the_stream_goes_on() -> None:
    """That line is read by itself, and its writer may be asked."""

    def gates(*, replay: bool) -> Any:
        parser, at = Parser(replay=replay), 0
        others = b"".join(b"[rank%d]: mean width: 5\n" % rank for rank in range(9))
        for text in (
            b"[rank9]: hello\n" + others + b"[rank9]: mean width: 1",
            b"[rank9]: mean width: 2\n[rank9]: mean width: 2\n",
        ):
            parser.feed(Chunk(RUN, text, at))
            parser.finish(RUN)
            at += len(text)
        return {rank: writer["gate"] for _, rank, writer in parser.state()["writers"] if rank}

    assert 1 == len(gates(replay=False)[9]["refused"])
    assert gates(replay=False) == gates(replay=True)


def test_a_rank_that_a_line_names_twice_is_replayed() -> None:
    """One template does for all ranks; a line whose two ranks differ is another matter."""
    lines = [
        b"[rank%d]: step %d rank %d loss: 2.%03d\n" % (rank, step, rank, rank)
        for step in range(4) for rank in range(300)
    ]  # fmt: skip
    assert len(read_by_code(b"".join(lines))[1]) < 20
    lines[700] = b"[rank7]: step 2 rank 8 loss: 3.25\n"
    data = b"".join(lines)
    assert told(data, replay=False) == told(data, replay=True)


def test_a_number_that_might_be_a_time_is_replayed_in_its_width() -> None:
    """At the head of a line ten digits may be a time in Unix seconds; three are not."""
    data = b"".join(b"%3d: [rank%d]: step 3 loss: 2.5\n" % (r, r) for r in range(100, 400))
    assert len(read_by_code(data)[1]) < 10
    assert told(data, replay=False) == told(data, replay=True)


def test_a_line_that_comes_again_is_read_once() -> None:
    """What came of it is remembered until it does."""
    data = 3 * b"".join(b"loading part %s of the weights\n" % (b"ab" * i) for i in range(1, 200))
    assert len(read_by_code(data)[1]) < 202


def test_lines_that_never_come_again_leave_room_for_those_that_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each is laid out as soon as it is read, which costs a tenth of that, but not all of them."""
    monkeypatch.setattr(learner, "_MOST_AT_ONCE", (1000, 1 << 20))
    letters = str.maketrans("0123456789", "abcdfghijk")
    once = "".join(f"word {n} and no more\n".translate(letters) for n in range(1500))
    twice = 3 * "".join(f"again {n} and more\n".translate(letters) for n in range(200))
    parser = Parser(replay=True)
    parser.feed(Chunk(RUN, (once + twice).encode(), 0))
    assert parser._replay is not None
    assert 1200 <= parser._replay._program.templates.used < 1300
    assert len(read_by_code((once + twice).encode())[1]) < 1500 + 202


def test_how_long_a_step_took_is_replayed_under_the_name_of_a_time() -> None:
    """Only a number as large as a date's is another thing there."""
    form = b'{"time": 0.%03d, "loss": 2.%03d, "step": %d}\n'
    data = b"".join(form % (i, i, i) for i in range(1, 99))
    assert len(read_by_code(data)[1]) < 10
    tallied = Parser(replay=True, tally=(tally := Tally()))
    read: list[int] = []
    slow = tallied.read_line
    tallied.read_line = lambda *line: (read.append(line[1]), slow(*line))[1]  # type: ignore[method-assign,misc]
    tallied.feed(Chunk(RUN, data, 0))
    assert len(read) < 10
    assert [metric.count for metric in tally.metrics()] == [98, 98]


def test_measurements_between_brackets_are_replayed() -> None:
    """A process has no point."""
    data = b"".join(b"Epoch[%d] Batch[100] Loss[2.%03d]\n" % (i, i) for i in range(900))
    assert len(read_by_code(data)[1]) < 10
    assert told(data, replay=False) == told(data, replay=True)


def test_a_bar_that_counts_in_fractions_is_replayed() -> None:
    """Downloads count gigabytes, and print a redraw a second."""
    form = "\rDownloading (...)-00002.bin:  {:2}%|##   | {:.2f}G/9.98G [00:{:02}<00:52, {}MB/s]"
    drawn = [form.format(i, 9.98 * i / 100, i % 60, 100 + i) for i in range(10, 100)]
    data = ("".join(drawn) + "\nstep 1 loss: 2.5\n").encode()
    assert len(read_by_code(data)[1]) < 20
    assert told(data, replay=False) == told(data, replay=True)


def test_first_lines_of_ranks_are_replayed_in_one_go() -> None:
    """The kernel makes room for who it never heard of; it stops where there is no more."""
    form = b"[rank%d]: step 1 loss: %d.5\n"
    learned, data = (b"".join(form % (n, n) for n in range(*to)) for to in ((0, 4), (4, 900)))
    parser = Parser(replay=True)
    parser.feed(Chunk(RUN, learned, 0))
    assert parser._replay is not None
    rows, welcomed = parser._replay._rows, []
    slow = rows.welcome
    rows.welcome = lambda rank: (welcomed.append(rank), slow(rank))[1]  # type: ignore[method-assign,func-returns-value]
    assert 896 == len(parser.feed(Chunk(RUN, data, len(learned))).points)
    assert len(welcomed) < 9
    assert told(learned + data, replay=False) == told(learned + data, replay=True)


def test_a_stream_whose_ranks_spoke_first_has_lines_of_its_own() -> None:
    """Wherever the row of its own lies, which differs between streams."""
    told, other = [], Stream("other.log")
    for replay in (False, True):
        before, after = Parser(replay=False), Parser(replay=replay)
        before.feed(Chunk(RUN, b"[rank1]: step 1 loss: 2.5\n", 0))
        after.restore(json.loads(json.dumps(before.state())))
        after.feed(Chunk(other, b"".join(b"step %d loss: 2.5\n" % n for n in range(9)), 0))
        told.append(rows(after.feed(Chunk(RUN, b"step 7 loss: 1.5\n", 26)).points))
    assert told[0] == told[1]


def test_a_rank_of_its_own_for_each_stream() -> None:
    """Templates are shared by the streams of a run, places are not."""
    data = b"".join(b"step %d loss: %.4f\n" % (i, 9 / (i + 1)) for i in range(50))
    streams = [Stream(f"rank_{rank}.log", rank) for rank in range(3)]
    slow, fast = Parser(replay=False), Parser(replay=True)
    for stream in streams:
        expected, got = (p.feed(Chunk(stream, data, 0)) for p in (slow, fast))
        assert rows(expected.points) == rows(got.points)
        assert expected.progress == got.progress


@given(logs())
@settings(max_examples=60)
def test_counting_without_keeping_is_the_same(data: bytes) -> None:
    """A tally filled by replay is the one filled line by line, sums to the last bit."""
    tallies = []
    for replay in (False, True):
        for notes in (False, True):
            tally = Tally()
            parser = Parser(replay=replay, tally=tally, notes=notes)
            parser.feed(Chunk(RUN, data, 0))
            parser.feed(Chunk(RUN, data, len(data)))
            parser.finish(RUN)
            tallies.append((sorted(map(repr, tally.metrics())), parser.account))
    assert all(tallies[0] == tally for tally in tallies)


@given(logs(), st.integers(2, 4), st.integers(20, 400), st.lists(st.integers(0, 9000), max_size=3))
@settings(max_examples=60)
def test_one_thread_and_many_say_the_same(
    data: bytes, threads: int, block: int, cuts: list[int]
) -> None:
    """Blocks of any size, matched by several threads at once, those of the next chunk too, change
    nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "BLOCK", block)
        data = 3 * (data + b"\n")
        replayed = told(data, replay=True, threads=threads, cuts=tuple(cuts))
        assert told(data, replay=False) == replayed


def test_real_logs_are_the_same_with_threads(shared: Path) -> None:
    """On logs of the corpus, cut into many blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "BLOCK", 5000)
        for path in sorted((shared / "corpus/logs").rglob("*.*"))[::5]:
            data = path.read_bytes()[:300_000]
            cut = told(data, replay=True, threads=3, cuts=(100_000, 200_000))
            assert told(data, replay=True) == cut, path.name


def test_real_logs_are_the_same_replayed(shared: Path) -> None:
    """On every log of the corpus and of the written samples."""
    for path in sorted(
        [*(shared / "corpus/logs").rglob("*.*"), *shared.glob("corpus/synthetic/*.log")]
    ):
        data = path.read_bytes()[:600_000]
        assert told(data, replay=False) == told(data, replay=True), path.name


@pytest.mark.parametrize("line", [b"step %d loss: 1e5\xff\n", b"step %d loss: 2.5\x00\n"])
def test_bytes_that_are_no_text_are_the_same(line: bytes) -> None:
    """Torn characters and NULs go the same way on both paths."""
    data = b"".join(line % i for i in range(9))
    assert told(data, replay=False) == told(data, replay=True)


def test_a_number_beyond_a_float_teaches_nothing() -> None:
    """Another one in its place would be 0 as well, which says nothing of where the number goes."""
    line = b"step=%d loss=%s lr=0.1\n"
    data = b"".join(line % (i, b"1e-400") for i in range(4)) + line % (4, b"1.5")
    assert told(data, replay=False) == told(data, replay=True)


def test_another_text_does_not_go_on_where_the_old_one_stopped() -> None:
    """A file that is replaced leaves a line unfinished, on both paths."""
    old = Chunk(RUN, b"step=1 loss=2.5\nstep=2 los", 0)
    new = Chunk(RUN, b"step=1 loss=3.5\nstep=2 loss=3.0\n", 0)

    def read(*, replay: bool) -> list[Any]:
        parser = Parser(replay=replay)
        batches = [parser.feed(old), parser.feed(new), parser.finish(RUN)]
        return [row for batch in batches for row in rows(batch.points)]

    assert read(replay=True) == read(replay=False)
    assert [row[6] for row in read(replay=False)] == ["2.5", "3.5", "3.0"]


@pytest.mark.parametrize("replay", [False, True])
def test_a_table_goes_on_after_a_restart(*, replay: bool) -> None:
    """Its names come from the state that was kept; where they stand are lists by then."""
    head, body = (
        b"epoch  train_loss  valid_loss\n",
        b"".join(b"%d  2.%d  2.75\n" % (i, i) for i in range(9)),
    )
    before, after = Parser(replay=False), Parser(replay=replay)
    before.feed(Chunk(RUN, head, 0))
    after.restore(json.loads(json.dumps(before.state())))
    assert len(after.feed(Chunk(RUN, body, len(head))).points) == 18


def test_an_unfinished_line_is_given_up_once() -> None:
    """What ends twice says nothing the second time."""
    for replay in (False, True):
        parser = Parser(replay=replay)
        parser.feed(Chunk(RUN, b"step=1 loss=2.5\nstep=2 loss=2.0", 0))
        assert len(parser.finish(RUN).points) == 1
        assert len(parser.finish(RUN).points) == 0
        assert parser.account.lines == 2


@pytest.mark.parametrize(
    ("often", "then"),
    [
        (b"[6709-10-67 56:50:13] step %d loss 2.5", b"[2024-05-01 12:00:01] step 9 loss 2.5"),
        (b'{"step": %d, "loss": 2, "time": "7768-93-46T79:56:12Z"}',
         b'{"step": 9, "loss": 2, "time": "2024-05-01T12:00:01Z"}'),
        (b"    macro f4    0.5%d", b"    macro f1    0.3912"),
        (b"[ITER 10%d] Evaluating: L7 0.5 PSNR 5.5", b"[ITER 200] Evaluating: L1 0.5 PSNR 5.5"),
        (b'{"rank": -1, "step": %d, "loss": 2.5}', b'{"rank": 3, "step": 9, "loss": 2.5}'),
        (b"rank 1714564%03d step 3 loss 2.5", b"rank 3 step 9 loss 2.5"),
        (b"1714564%d: step 3 loss 2.5", b"3: step 9 loss 2.5"),
        (b"(Worker pid=100%d) step 3 loss 2.5", b"(Worker pid=4567.5) step 9 loss 2.5"),
        (b"(Worker pid=100%d.5) step 3 loss 2.5", b"(Worker pid=4567) step 9 loss 2.5"),
        (b"step %d took 5m 10s loss 2.5", b"step 9 took 3m 10.5s loss 2.5"),
        (b"step %d took 5min 10s loss 2.5", b"step 9 took 3.5min 10s loss 2.5"),
        (b" 46741%d: GLOBAL_RANK: 212, MEMBER: 1/9",
         b"import os\n 8133: GLOBAL_RANK: 144, MEMBER: 1/9"),
        (b"%d 0.5 step 85 loss 0.5", b"1714564801 0.5 step 86 loss 0.5"),
        (b"step %d loss 3.02#65535", b"step 20 loss 60.10#03360"),
        (b"Wall time,Step,Value\n1.5,%d,4.25", b"6040122704.9,5,4.25"),
    ],
)  # fmt: skip
def test_what_is_learned_of_one_value_is_not_said_of_one_that_means_more(
    often: bytes, then: bytes
) -> None:
    """Stamps that are no dates, names that another digit makes known, a step of another record,
    numbers that are no ranks, processes or durations."""
    data = b"".join(often % i + b"\n" for i in range(4)) + then + b"\n"
    assert told(data, replay=False) == told(data, replay=True)


@pytest.mark.parametrize(
    "stamp",
    [b"05/01/1501 12:00:01", b"1969-12-31T23:00:01Z", b"1970-01-01T00:30:01+02:00",
     b"9999-05-01 12:00:01.123457"],
)  # fmt: skip
def test_a_time_that_no_kernel_can_tell_is_read(stamp: bytes) -> None:
    """Before 1970, or so late that a double has no room for its microseconds."""
    data = 5 * (stamp + b" step 3 loss 2.5\n")
    data += b"".join(stamp[:-1] + b"%d step 3 loss 2.5\n" % i for i in range(5))
    assert all(row[1] is not None for row in points(data))
    assert told(data, replay=False) == told(data, replay=True)


def test_a_form_that_was_proven_in_another_chunk_is_not_shown_anew() -> None:
    """The kernel does not know yet what was found out of a stream before another came between."""

    def gates(*, replay: bool) -> Any:
        parser, at = Parser(replay=replay), 0
        for text in (b"Learning iteration 1/9\nstep 3 loss 5.5\nLearning iteration 2/9\n",
                     b"Learning iteration 2/9\n",
                     b"step 4 loss 5.5\nLearning iteration 5/9\nstep 6 loss 2.5\n"):  # fmt: skip
            parser.feed(Chunk(RUN, text, at))
            parser.feed(Chunk(Stream("other.log"), text, at))
            at += len(text)
        return [writer["gate"] for _, _, writer in parser.state()["writers"]]

    assert gates(replay=False) == gates(replay=True)


def test_a_number_that_begins_a_line_may_be_a_time() -> None:
    """Of the width that Unix milliseconds have, but too large for them, it means nothing."""
    data = (
        b"8040132907131\tstep 520 loss 2.2940\n6553190472926\tstep 939 loss -9.1393\n"
        b"8236232727065\tstep 031 loss 2.2493\n7841151027412\tstep 476 loss 0.2483\n"
        b"1717237251120\tstep 300 loss 1.8121\n"
    )
    assert told(3 * data, replay=False) == told(3 * data, replay=True)


def test_a_mark_made_before_its_kind_was_learned_is_kept() -> None:
    """Where a rank was read first, and its form learned from others, it still goes backwards."""
    line = b"[proc %d][Train](%d/9763) average neg_loss: %f\n"
    data = line % (8, 972, 5.9) + line % (0, 617, 3.6) + line % (8, 602, 4.8) + line % (2, 865, 9.4)
    assert told(data, replay=False) == told(data, replay=True)


def test_a_line_that_is_taken_for_source_leaves_its_writer_as_it_was() -> None:
    listing = ["class Net(Block):", "    def __init__(self):", "        pass", "    return x"]
    words = [f"  {line}" for line in listing] + [
        "INFO:root:[Epoch 0 Iteration 0] Set learning rate to 0.00016",
        "INFO:root:AMP: decreasing loss scale to 32768.000000",
        "INFO:root:AMP: decreasing loss scale to 16384.000000",
    ]
    lines = [f"[1,{rank}]<stderr>:{word}" for word in words for rank in range(8)]
    data = ("\n".join(lines) + "\n").encode()
    assert told(data, replay=True) == told(data, replay=False)


def test_a_text_within_a_text_has_the_rank_of_what_carries_it() -> None:
    """Docker's JSON behind a tag, replayed or read; a rank of its own goes before."""
    step = b'{\\"step\\": %d, \\"loss\\": 2.5}'
    lines = [b'[rank%d]: {"log":"%s\\n","stream":"stdout"}' % (i % 3, step % i) for i in range(12)]
    lines.append(b'[rank1]: {"log":"[rank2]: step 12 loss 2.5\\n","stream":"stdout"}')
    data = b"\n".join(lines) + b"\n"
    assert [row[2] for row in points(data)] == [*[0, 1, 2] * 4, 2]
    assert told(data, replay=False) == told(data, replay=True)


@pytest.mark.parametrize("first", ["-0.1943", "7.25", "1.5e-01", "1e303", "nan"])
def test_what_is_no_step_teaches_nothing_of_steps(first: str) -> None:
    """A fraction counts as its whole part, and a number too large not at all."""
    lines = [f"Epoch {i} [{first}/100] loss=nan" for i in range(4)]
    data = "\n".join([*lines, "Epoch 28 [39081414/100] loss=nan", ""]).encode()
    assert told(data, replay=False) == told(data, replay=True)


def test_small_pieces_are_replayed_once_they_add_up() -> None:
    """A log from a pipe comes in pieces that are not worth it one by one."""
    data = "".join(f"step={n} loss={n / 7:.4f}\n" for n in range(80_000)).encode()
    parser, size = Parser(), 1 << 14
    for at in range(0, len(data), size):
        parser.feed(Chunk(Stream("pipe"), data[at : at + size], at))
    assert native.parsing.works() == (parser._replay is not None)
    assert 80_000 == parser.account.points


def test_a_bar_before_another_rank_on_its_line_keeps_its_own() -> None:
    """Two writers' texts on one line, where the second one's prefix names a rank."""
    bar = "epoch:1 loss:0.5:  59%|#####     | {}/391 [00:31<00:20,  7.69it/s] [1,1]<stdout>:-----"
    data = "".join(bar.format(230 + n) + "\n" for n in range(40)).encode()
    assert told(data, replay=True) == told(data, replay=False)


def test_rows_that_are_told_by_where_they_stand_are_read_in_their_widths() -> None:
    """Wider values stand under other names, or under none."""
    head = "epoch  loss  accuracy  lr    val_loss\n"
    rows = [f"{n}      {10**n / 8}  0.{'5' * (n + 1)}  0.125\n" for n in (1, 1, 1, 1, 2, 3, 4, 5)]
    data = "".join([head, *rows] * 4).encode()
    assert told(data, replay=True) == told(data, replay=False)


def test_a_rank_beside_a_message_is_the_writers() -> None:
    """An object that wraps a text says whose it is, as a prefix of the text would."""
    lines = [f'{{"message": "step {n} loss {n / 8}", "rank": {n % 3}}}' for n in range(40)]
    data = "".join(f"{line}\n" for line in lines).encode()
    assert [row[2] for row in points(data)] == [n % 3 for n in range(40)]
    assert told(data, replay=True) == told(data, replay=False)


_CELLS = st.one_of(
    st.integers(0, 10**6).map(str), st.floats(0, 2000).map("{:.4f}".format), st.just(""),
    st.integers(-2000, 0).map(str), st.floats(0, 2000).map("{:.1f}".format),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_CELLS, _CELLS, _CELLS, _CELLS), min_size=8, max_size=40), st.booleans())
def test_rows_of_comma_separated_values_are_replayed_as_they_are_read(
    rows: list[tuple[str, ...]], headed: bool
) -> None:
    """Also where three digits behind a comma might be the end of a thousand."""
    head = "epoch,step,train_loss,val_loss\n" if headed else ""
    data = head + "".join(",".join(row) + "\n" for row in rows)
    assert told(data.encode(), replay=False) == told(data.encode(), replay=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_CELLS, _CELLS, _CELLS), min_size=8, max_size=40))
def test_numbers_of_a_list_are_replayed_as_they_are_read(rows: list[tuple[str, ...]]) -> None:
    """In an object, a line of words and between brackets."""
    forms = ('{{"step": {}, "losses": [{},{}]}}', "step {} losses [{},{}]", "step={},loss={},lr={}")
    for form in forms:
        data = "".join(form.format(*row) + "\n" for row in rows)
        assert told(data.encode(), replay=False) == told(data.encode(), replay=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**7)), min_size=8, max_size=40))
def test_numbers_with_commas_between_their_thousands_are_replayed(
    rows: list[tuple[int, int]],
) -> None:
    """Each number of groups is a form of its own."""
    data = "".join(f"step {a:,} | loss 2.5 | tokens: {b:,}, tps {a:,}.5\n" for a, b in rows)
    assert told(data.encode(), replay=False) == told(data.encode(), replay=True)


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("epoch,loss,val_loss\n", "{i},0.{n:04},1.{n:04}"),
        ("epoch,lr,loss,val_loss\n", "{i},,0.{n:04},"),
        ("epoch,step,loss,val_loss\n", "{i},{i},{n},0.{n}"),
        ("Wall time,Step,Value\n", "1717237231.5,{i},0.{n:04}"),
        ("", "step {i}: loss 0.{n:04}, tps {i},{n:03}"),
        ("", "\x1b[2m2024-06-01T10:20:31Z\x1b[0m \x1b[32mINFO\x1b[0m loss\x1b[2m=\x1b[0m{i}.5"),
        ("", "\x1b[32m2024-06-01 10:20:31\x1b[0m | \x1b[1mstep {i} loss \x1b[35m0.{n:04}"),
    ],
)
def test_what_is_next_to_a_comma_or_a_colour_is_replayed(head: str, line: str) -> None:
    """Rows below a header, thousands, and what a terminal shows in colours."""
    data = (head + "".join(line.format(i=i, n=i) + "\n" for i in range(10, 99))).encode()
    assert len(read_by_code(data)[1]) < 10
    assert told(data, replay=False) == told(data, replay=True)


@pytest.mark.parametrize(
    "line",
    [
        "host:7:8 [0] NCCL INFO comm {:#x} rank {} nranks 64 - Init COMPLETE",
        "frame #3: <unknown function> + 0x8609 ({:#x} in /lib/libc.so.{})",
        "step 3 loss 2.5 of <torch.optim.Adam object at {:#x}> {}",
        "crop {1}x{0:x} of step 3 loss 2.5",
    ],
)
def test_an_address_in_memory_is_replayed(line: str) -> None:
    """Whatever letters it has; a size is none."""
    data = b"".join(
        f"{line.format(0x7FE19C147750 * i % 0xFFFFFFFFFFF, i % 8)}\n".encode() for i in range(1, 99)
    )
    assert told(data, replay=False) == told(data, replay=True)
    assert "x{" in line or len(read_by_code(data)[1]) < 10
