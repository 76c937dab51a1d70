"""The mistakes that readers of logs make, and what is right: one fact each."""

import math

import pytest

from runwatch.chunk import Chunk, Stream
from runwatch.parse import Parser
from runwatch.parse.clean import MAX_TEXT
from tests.parse.reading import RUN, points, said


def test_nan_and_infinity_in_json_are_values() -> None:
    """They neither drop the line nor the rest of the file."""
    found = said(
        '{"step": 1, "loss": NaN}\n{"step": 2, "loss": -Infinity}\n{"step": 3, "loss": 1}\n'
    )
    assert [1, 2, 3] == [line for line, _, _ in found]
    assert math.isnan(found[0][2])
    assert -math.inf == found[1][2]


def test_a_bad_line_costs_only_itself() -> None:
    """A torn JSON line between two good ones voids neither."""
    assert [(1, "loss", 2.0), (3, "loss", 1.0)] == said(
        '{"step": 1, "loss": 2.0}\n{"step": 2, "lo\n{"step": 3, "loss": 1.0}\n'
    )


def test_a_key_may_appear_at_any_time_and_values_are_doubles() -> None:
    """Nothing is fixed by the first lines."""
    found = said('{"step": 1, "loss": 3}\n{"step": 2, "loss": 2.75, "late": 0.5}\n')
    assert [(1, "loss", 3.0), (2, "loss", 2.75), (2, "late", 0.5)] == found


def test_an_unfinished_last_line_waits() -> None:
    """It is read when its end has come, and given up only at the end of the input."""
    parser = Parser()
    assert 0 == len(parser.feed(Chunk(RUN, b"step 1 loss 2.", 0)).points)
    assert [2.5] == parser.feed(Chunk(RUN, b"5\nstep 2 loss 1", 14)).points.column("value").tolist()
    assert [1.0] == parser.finish(RUN).points.column("value").tolist()


def test_runs_of_nul_bytes_are_skipped() -> None:
    """A megabyte of them in front of a line, as copytruncate leaves it, costs nothing of it."""
    assert [(1, "loss", 2.0)] == said(b"\x00" * 1_000_000 + b"step 1 loss 2.0\n")


def test_a_huge_line_is_cut_counted_and_left_behind() -> None:
    """Reading goes on at the next newline, and the coverage tells."""
    parser = Parser()
    text = b"x" * (3 * MAX_TEXT) + b"\nstep 1 loss 2.0\n"
    batches = [parser.feed(Chunk(RUN, text[i : i + 65536], i)) for i in range(0, len(text), 65536)]
    assert [2] == [n for batch in batches for n in batch.points.column("line").tolist()]
    assert 1 == parser.account.oversized


def test_every_redraw_of_a_bar_counts_under_its_lines_number() -> None:
    """A progress bar of megabytes on one line is read redraw by redraw."""
    bar = "".join(f"\r 1%|# | {i}/9000 [00:01<00:20, 4.5it/s, loss={i}.5]" for i in range(9000))
    found = [row for row in said("start\n" + bar + "\n") if row[1] == "loss"]
    assert [(2, "loss", i + 0.5) for i in range(9000)] == found


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "gbk", "utf-16-le"])
def test_no_encoding_stops_a_file(encoding: str) -> None:
    """Bytes that are no UTF-8 leave the lines around them readable."""
    odd = (
        "\u00e9\u00e8".encode("latin-1")
        if encoding == "latin-1"
        else "\u4e2d\u6587".encode(encoding)
    )
    assert [(1, "loss", 2.0), (3, "loss", 1.0)] == said(
        b"step 1 loss 2.0\n" + odd.replace(b"\n", b"") + b"\nstep 2 loss 1.0\n"
    )


@pytest.mark.parametrize("text", ["lr=3e-4", "lr: 3E-04", "lr=.0003", "lr: +3.0e-4"])
def test_exponents_are_numbers(text: str) -> None:
    """Every float that C prints is read whole."""
    assert [0.0003] == [
        value for _, metric, value in said(f"step 1 {text} loss: 2\n") if metric == "lr"
    ]


def test_a_traceback_voids_nothing() -> None:
    """The record before it stays, its own lines are silent, the record behind it is read."""
    text = (
        "step 1 loss 2.0\nTraceback (most recent call last):\n"
        '  File "a.py", line 3, in f\n    loss = 4.0\nValueError: loss: 5.0\nstep 2 loss 1.0\n'
    )
    assert [(1, "loss", 2.0), (6, "loss", 1.0)] == said(text)


def test_crlf_is_one_line_end_even_when_cut_in_two() -> None:
    """A carriage return at the end of a chunk belongs to the newline in the next."""
    data = b"step 1 loss 2.0\r\nstep 2 loss 1.0\r\n"
    assert points(data) == points(data, [16])
    assert [1, 2] == [row[0] for row in points(data)]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c"])
def test_only_newlines_end_lines(separator: str) -> None:
    """Line numbers count `\\n` alone, as an editor does."""
    assert [(2, "loss", 1.0)] == said(f"one{separator}two\nstep 1 loss 1.0\n")


def test_two_ranks_on_one_line_are_both_read() -> None:
    """Where a newline got lost between two writers, each keeps its numbers."""
    text = b"[Rank 3] (after 20 steps) allocated: 5.5[Rank 1] (after 20 steps) allocated: 6.5\n"
    assert [(3, 5.5), (1, 6.5)] == [(row[2], float(row[6])) for row in points(text)]


def test_two_ranks_with_a_blank_between_them_are_both_read() -> None:
    """The second tag ends what the first one says; a rank that is named twice is one line."""
    text = b"[Rank 3] (after 20 steps) allocated: 5.5 [Rank 1] (after 20 steps) allocated: 6.5\n"
    assert [(3, 5.5), (1, 6.5)] == [(row[2], float(row[6])) for row in points(text)]
    text = b"[2024-05-01 12:00:01,123] [INFO] [logging.py:128:log_dist] [Rank 0] step=3 loss=0.5\n"
    assert [(0, 3)] == [(row[2], row[3]) for row in points(text)]


def test_colours_between_name_and_value_are_no_obstacle() -> None:
    """24-bit colours, cursor moves and titles are taken out."""
    text = "\x1b[1mstep:\x1b[0m 1 \x1b[38;2;180;60;0mloss:\x1b[39m \x1b[31m2.5\x1b[0m\x1b]0;t\x07\n"
    assert [(1, "loss", 2.5)] == said(text)


def test_a_clock_that_goes_back_drops_nothing() -> None:
    """Order is order of arrival."""
    text = "2024-05-01 12:00:02 step 1 loss 2.0\n2024-05-01 12:00:01 step 2 loss 1.0\n"
    assert [2.0, 1.0] == [value for _, _, value in said(text)]


def test_a_byte_order_mark_is_no_text() -> None:
    """The first line is read as if it were not there."""
    assert [(1, "loss", 2.0)] == said(b'\xef\xbb\xbf{"step": 1, "loss": 2.0}\n')


@pytest.mark.parametrize("text", ["9e999", "Infinity", "1e400"])
def test_numbers_beyond_a_float_are_infinite(text: str) -> None:
    """As C reads them, in JSON and in text."""
    assert [(1, "loss", math.inf)] == said(f'{{"step": 1, "loss": {text}}}\n')
    assert [(1, "loss", -math.inf)] == said(f"step 1 loss -{text}\n")


def test_a_mark_in_the_middle_of_a_file_is_skipped() -> None:
    """Where files were joined, the next one begins with a mark."""
    assert [(1, "loss", 2.0), (2, "loss", 1.0)] == said(
        b'{"step": 1, "loss": 2.0}\n\xef\xbb\xbf{"step": 2, "loss": 1.0}\n'
    )


def test_a_character_torn_by_two_writers_costs_nothing_around_it() -> None:
    """Half a character before, between and behind the numbers of a line."""
    for torn in (b"\xe4\xb8", b"\xff", b"\xc3"):
        line = b"step 1 " + torn + b" loss 2.5 " + torn + b"\nstep 2 loss 1.5\n"
        assert [2.5, 1.5] == [value for _, name, value in said(line) if name == "loss"]


@pytest.mark.parametrize("mark", [b"\xff\xfe", b""])
def test_utf_16_is_read(mark: bytes) -> None:
    """As PowerShell's redirection writes it: a zero byte beside each letter is no text."""
    text = "step 1 loss 2.0\r\nstep 2 loss 1.0\r\n".encode("utf-16-le")
    assert [(1, "loss", 2.0), (2, "loss", 1.0)] == said(mark + text)


def test_nothing_is_too_small_to_be_read() -> None:
    """One line without its newline, and an empty file."""
    assert [(1, "loss", 2.0)] == said("step 1 loss 2.0")
    assert [] == said("")


def test_a_record_goes_on_behind_lines_of_others() -> None:
    """A continuation line voids neither the record before it nor the one behind."""
    text = "step 1 loss 2.0\n    ^~~~~ here\n  at line 3\nstep 2 loss 1.0\n"
    assert [(1, "loss", 2.0), (4, "loss", 1.0)] == said(text)


def test_duplicate_keys() -> None:
    """In JSON the last wins; in a text line both stand."""
    assert [(1, "loss", 1.0)] == said('{"step": 1, "loss": 2.0, "loss": 1.0}\n')
    assert [(1, "loss", 2.0), (1, "loss", 1.0)] == said("step: 1 loss: 2.0 loss: 1.0\n")


@pytest.mark.parametrize(
    "said_so",
    [
        "'step': '5/250'", "'global_step/max_steps': '5/250'",
        "'step': '1/50', 'global_step': '5/250'", "'global_step': '5/250', 'step': '1/50'",
    ],
)  # fmt: skip
def test_a_step_in_an_object_may_tell_its_total(said_so: str) -> None:
    """One that counts over the whole run, too, and of two steps the one that is taken."""
    line = f"{{'loss': 0.5, {said_so}, 'epoch': '1/3'}}\n"
    parser = Parser()
    batch = parser.feed(Chunk(RUN, line.encode(), 0))
    assert ([5], 250, 3) == (
        batch.points.column("step").tolist(), batch.total_steps, batch.total_epochs
    )  # fmt: skip


@pytest.mark.parametrize("replay", [False, True])
def test_a_line_that_ends_with_a_redraw_is_a_line(replay: bool) -> None:
    """A bar whose process was killed has no line end, wherever one went on reading it."""
    stream, data = Stream("bar.log"), b"step 1 loss 2.0\rstep 2 loss 1.0\r"
    parser = Parser(replay=replay)
    parser.feed(Chunk(stream, data, 0))
    state = parser.state()
    for one in (parser, Parser(replay=replay)):
        if one is not parser:
            one.restore(state)
        last = one.finish(stream)
        assert (last.first_line, last.last_line, one.account.lines) == (1, 1, 1)
    parser = Parser(replay=replay)
    parser.restore(state)
    parser.feed(Chunk(stream, b"\n", len(data)))
    parser.finish(stream)
    assert parser.account.lines == 1


@pytest.mark.parametrize(
    "told", ["Infinity", "NaN", "1e300", "-5", '"x"', "null", "[1]", "1" * 400]
)
@pytest.mark.parametrize("step", ["Infinity", '["a", null]', "[1e999, 2]", "{}", "9" * 400])
def test_an_event_that_tells_no_time_and_no_place_is_read_all_the_same(
    told: str, step: str
) -> None:
    where = f'"time_ms": {told}, "metadata": {{"step": {step}}}'
    event = f'{{"key": "eval_accuracy", "value": 0.5, {where}}}'
    assert [(1, "eval_accuracy", 0.5)] == said(f":::MLLOG {event}\n")


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        ("completed step: 5, seconds: 31.2, loss: 2.417", False),
        ("step 5 loss: 0.4 - mean_absolute_error: 0.27 - val_mean_absolute_error: nan", False),
        ('{"step": 5, "squared_error": 0.27}', False),
        ("step 5 loss: 0.4, then error: 0 bytes written", True),
        ("job completed after step: 5, loss: 2.4", True),
        ("data_error: cannot read shard 17", True),
    ],
)
def test_the_name_of_a_measurement_is_no_word_to_watch_for(line: str, noted: bool) -> None:
    """Else every line of such a log would be looked at as one that tells of a failure."""
    parser = Parser(watchwords={"error: ", "error", "completed"})
    batch = parser.feed(Chunk(RUN, f"{line}\n".encode(), 0))
    assert (len(batch.lines) > 0) == noted
