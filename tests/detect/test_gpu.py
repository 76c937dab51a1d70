"""What GPUs tell of themselves, judged: laws of the series first, then what each kind means."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.chunk import Chunk
from runwatch.detect import gpu
from runwatch.detect.lasting import WINDOW
from runwatch.detect.leak import Growth
from runwatch.ingest.gpu import STREAM
from runwatch.telemetry import Telemetry
from tests.detect.gpus import BUSY, Look, found, kinds, look, told

VALUES: dict[str, st.SearchStrategy[float | None]] = {
    "util": st.sampled_from([None, 0.0, 40.0, 98.0]),
    "used": st.sampled_from([None, 0.0, 60.0, 79.0]),
    "clock": st.sampled_from([None, 700.0, 1900.0]),
    "temperature": st.sampled_from([None, 50.0, 90.0]),
    "reasons": st.sampled_from([None, 0.0, 4.0, 64.0, 128.0]),
    "ecc": st.sampled_from([None, 0.0, 1.0, 3.0]),
    "action": st.sampled_from([None, 0.0, 1.0, 99.0]),
}


@st.composite
def stretches(draw: st.DrawFn) -> list[Look]:
    """Some stretches of looks at a few GPUs, in each of which they stay as they are."""
    count, looks = draw(st.integers(1, 3)), list[Look]()
    for _ in range(draw(st.integers(1, 3))):
        ways = [{name: draw(value) for name, value in VALUES.items()} for _ in range(count)]
        one: Look = [replace(BUSY, gpu=n, **way) for n, way in enumerate(ways)]  # type: ignore[arg-type]
        looks += [one] * draw(st.integers(1, WINDOW + 2))
    return looks


@settings(max_examples=20)
@given(looks=stretches(), cuts=st.sets(st.integers(0, 20_000), max_size=6))
def test_where_the_stream_is_cut_does_not_matter(looks: list[Look], cuts: set[int]) -> None:
    """Also where the past goes through JSON at each cut, and another process goes on."""
    data = told(looks)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    watching = gpu.Detector()
    telemetry = Telemetry([watching], 2026)
    for begin, end in pairwise(edges):
        telemetry.take(Chunk(STREAM, data[begin:end], begin))
        past = json.loads(json.dumps([telemetry.state(), watching.state()], allow_nan=False))
        held = data[telemetry.cursors()[STREAM.name].offset : end]  # comes again to who goes on
        watching = gpu.Detector()
        telemetry = Telemetry([watching], 2026)
        telemetry.restore(past[0])
        watching.restore(past[1])
        telemetry.take(Chunk(STREAM, held, end - len(held)))
    assert found(looks) == watching.findings()


@settings(max_examples=20)
@given(looks=stretches())
def test_every_finding_cites_a_line_of_its_gpu(looks: list[Look]) -> None:
    """It says which GPU, what it told, and what a person would do."""
    lines = told(looks).decode().splitlines()
    for one in found(looks):
        assert f"GPU {json.loads(lines[one.line - 1])['gpu']}: " in one.message
        assert (STREAM.name, None) == (one.stream, one.rank)
        assert "undetermined: the number of a GPU is no rank" == one.rank_note
        assert one.advice
        assert one.time is not None


@settings(max_examples=20)
@given(looks=stretches(), data=st.data())
def test_what_is_found_does_not_depend_on_the_numbers_of_gpus(
    looks: list[Look], data: st.DataObject
) -> None:
    """Only on what they tell."""
    order = data.draw(st.permutations(range(len(looks[0]))))
    turned = [[replace(one[n], gpu=i) for i, n in enumerate(order)] for one in looks]
    assert sorted(kinds(looks)) == sorted(kinds(turned))


@settings(max_examples=20)
@given(count=st.integers(1, 8), length=st.integers(1, 40))
def test_gpus_at_work_are_well(count: int, length: int) -> None:
    """Whatever their number: busy, at their power cap, nearly full."""
    assert [] == found([look(count, used=79.5) for _ in range(length)])


IDLES = {"util": 0, "power": 90, "clock": 300, "temperature": 40}


@pytest.mark.parametrize(
    ("odd", "told_of"),
    [
        (IDLES, ("gpu_idle", "medium", "open")),
        ({"reasons": 0x40 | 0x8, "clock": 900, "temperature": 88}, ("gpu_slow", "medium", "open")),
        ({"reasons": 0x20, "clock": 1800}, ("gpu_slow", "low", "open")),
        ({"reasons": 0x80, "clock": None, "fastest": None}, ("gpu_slow", "medium", "open")),
        ({"clock": 1200}, ("gpu_slow", "medium", "open")),
        ({"temperature": 86}, ("gpu_hot", "low", "open")),
    ],
)
def test_one_that_differs_from_its_peers_is_told_once_it_lasts(
    odd: dict[str, Any], told_of: tuple[str, str, str]
) -> None:
    """Not at once; and once it is as they are, it has recovered."""
    assert [] == kinds([look(**odd)] * 9)
    assert [told_of] == kinds([look(**odd)] * 10)
    kind, _, _ = told_of
    assert [(kind, "low", "recovered")] == kinds([look(**odd)] * 12 + [look()] * 8)


@pytest.mark.parametrize(
    "looks",
    [
        [look(**IDLES, used=0.5)] * 20,  # it is not of this run
        [look(2, util=None, used=None, clock=None, temperature=None, reasons=None)] * 20,
        [[replace(one, util=0) for one in look()]] * 20,  # all wait
        [look(1, **IDLES)] * 20,  # it has no peers
        [look(reasons=0x4, clock=1600)] * 20,  # a power cap is how a busy GPU works
        [look(temperature=79)] * 20,
        [look(2, clock=1200)] * 20,  # of two nobody knows which one is right
        [look(**({"util": 0} if i % 2 else {})) for i in range(30)],  # it works now and then
    ],
)
def test_what_is_no_fault_is_not_told(looks: list[Look]) -> None:
    """Others may use a GPU, or none may tell, and busy ones differ a little."""
    assert [] == kinds(looks)


def test_errors_of_memory_are_told_as_they_are_counted() -> None:
    """Those from before the watch are none of this run; after ten minutes it has gone on."""
    assert [] == kinds([look(ecc=7)] * 5)
    assert [("gpu_ecc", "medium", "open")] == kinds([look(ecc=7), look(ecc=9)])
    (one,) = found([look(ecc=7), look(ecc=8), look(ecc=9)])
    assert one.message.startswith("GPU 3: 2 new memory errors")
    assert [("gpu_ecc", "low", "progressed")] == kinds([look(ecc=7)] + [look(ecc=8)] * 61)
    assert [] == kinds([look(ecc=7), look(ecc=0)])  # the driver was loaded anew
    (one,) = found([look(ecc=7), look(ecc=9), look(ecc=0), look(ecc=1)])
    assert one.message.startswith("GPU 3: 3 new memory errors")


def test_what_the_driver_asks_for_is_told_at_once() -> None:
    """In words, also where it is newer than we are; over once it asks no more."""
    (reset,) = found([look(action=1)])
    assert ("gpu_hardware", "medium") == (reset.kind, reset.severity.value)
    assert reset.message == "GPU 3: the driver asks for a reset of the GPU"
    assert "asks for help" in found([look(action=99)])[0].message
    past = kinds([look(action=1)] + [look()] * WINDOW)
    assert [("gpu_hardware", "low", "recovered")] == past


def growth(amounts: list[float], every: float = 30.0, total: float = 80.0) -> list[str]:
    """What is said at each look at memory that is used like this."""
    growing = Growth()
    return [growing.see(i * every, used, total) for i, used in enumerate(amounts)]


def test_memory_that_fills_up_is_told_with_the_time_that_is_left() -> None:
    """At nine tenths and not before; a rise of 0.2 GB in half a minute leaves 20 minutes for 8."""
    *before, at, later = growth([66 + 0.2 * i for i in range(32)])
    assert {""} == set(before)
    assert "72 of 80 GB are used, 6 GB more in 30 steps over 15 minutes: full in about 20 minutes" \
        == at  # fmt: skip
    assert later.startswith("72.2 of 80 GB")
    leaking = [look(1, used=66 + 0.2 * i) for i in range(35)]
    assert [("gpu_memory", "medium", "open")] == kinds(leaking, every=30)
    freed = [look(1, used=40)] * WINDOW
    assert [("gpu_memory", "low", "recovered")] == kinds(leaking + freed, every=30)


@given(scale=st.floats(0.1, 10), slope=st.floats(0.004, 0.02), begin=st.floats(0.6, 0.85))
def test_growth_is_the_same_whatever_the_size(scale: float, slope: float, begin: float) -> None:
    """A GPU of any memory that fills up evenly is told of before it is full."""
    total = 80 * scale
    parts = [begin + slope * i for i in range(200) if begin + slope * i <= 0.99]
    said = growth([part * total for part in parts], total=total)
    assert (len(parts) > 10) == any(said)


@given(
    rest=st.floats(0.9, 0.99), times=st.integers(1, 400), speed=st.floats(0.05, 0.5),
    noise=st.floats(0, 0.0015),
)  # fmt: skip
def test_memory_that_comes_to_rest_is_never_told(
    rest: float, times: int, speed: float, noise: float
) -> None:
    """A cache fills up quickly, then slower and slower, and stays."""
    parts = [rest * (1 - (1 - speed) ** i) - noise * (i % 3) for i in range(1, times + 1)]
    assert {""} == set(growth([80 * part for part in parts], every=10))


def test_it_says_what_it_looked_at() -> None:
    """Without any GPU, nothing was."""
    watching = gpu.Detector()
    assert (False, "no GPU told of itself") == (watching.check().ran, watching.check().why)
    Telemetry([watching], 2026).take(Chunk(STREAM, told([look()]), 0))
    assert watching.check().ran
