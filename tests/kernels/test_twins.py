"""Kernels of series: the plain twin and the compiled one are the same, and so is their past."""

import json
import math
import subprocess
import sys
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.kernels import gradient, native
from runwatch.kernels.field import NOTHING, Field, numbers
from runwatch.kernels.run import DONE, SEGMENT, compiled
from runwatch.kernels.tracks import Tracks, keyed, unkeyed

KERNELS = (
    ("spike", "follow", "FIELDS", ()),
    ("divergence", "follow", "FIELDS", ()),
    ("plateau", "follow", "FIELDS", ()),
    ("gradient", "follow", "FIELDS", (np.int8,)),
    ("throughput", "follow", "FIELDS", (0,)),
    ("throughput", "follow", "FIELDS", (1,)),
    ("learning_rate", "follow", "FIELDS", ()),
    ("loss_scale", "follow", "FIELDS", ()),
    ("nonfinite", "follow", "FIELDS", (0,)),
    ("straggler", "follow", "FIELDS", ()),
    ("vanished", "follow", "COMPANION_FIELDS", (np.int8,)),
    ("vanished", "follow_losses", "ZERO_FIELDS", ()),
    ("named", "rising", "FIELDS", (3.0,)),
    ("named", "deviant", "FIELDS", (2.0,)),
    ("named", "above", "FIELDS", (2.4,)),
    ("named", "multiple", "FIELDS", (1.2,)),
    ("named", "lower", "FIELDS", (5.0,)),
    ("named", "lower", "FIELDS", (-5.0,)),
    ("named", "lost", "FIELDS", (2.0,)),
    ("named", "silent", "FIELDS", (2.0,)),
)
VALUES = st.sampled_from([math.nan, math.inf, 0.0, -1.0, 1e9, 0.5, 2.0, 2.01, 1.99, 3.0, 2.5])


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[float], list[int], int]:
    """Values in stretches, calm and wild, the segment of each of at most three series, and how many
    rows in a row have the same step."""
    values: list[float] = []
    for _ in range(draw(st.integers(3, 9))):
        level, length = draw(VALUES), draw(st.integers(1, 90))
        values += [level + 0.004 * ((i * 7919) % 13 - 6) * (level > 1.0) for i in range(length)]
    segments = draw(st.lists(st.integers(0, 1), min_size=3, max_size=3))
    return values, segments, draw(st.sampled_from([1, 1, 2, 30]))


def passed(
    kernel: Any, tracks: Tracks, log: tuple[list[float], list[int], int], more: Any, *, fast: bool
) -> list[tuple[int, ...]]:
    """Let a kernel go over three series of these values; what happened."""
    values, segments, alike = log
    n = len(values)
    begins = [0, n // 3, n // 2, n]
    slots = tracks.places(["0", "1", "2"], np.zeros(3, np.int64))
    extra = [np.arange(n, dtype=m) % 5 // 4 if isinstance(m, type) else m for m in more or (0,)]
    at: Any = [0, 0]
    steps = [NOTHING if i % 90 > 85 else i // alike for i in range(n)]
    columns = [np.arange(n), np.arange(n), np.array(steps), np.full(n, math.nan), np.array(values)]
    tables = [np.array(begins), np.array(segments), slots]
    if fast:
        assert native.judging.works()
        at = np.zeros(2, np.int64)
        for column in columns:
            column.flags.writeable = False
        states = tracks.rows(compiled=True)
        call = compiled[kernel].bound(*columns, *tables, states, at, *extra)
    else:
        columns, tables = [c.tolist() for c in columns], [t.tolist() for t in tables]
        extra = [e.tolist() if isinstance(e, np.ndarray) else e for e in extra]
        call = partial(kernel, *columns, *tables, tracks.rows(compiled=False), at, *extra)
    happened = []
    while code := int(call()):
        happened.append((code, *map(int, at)))
        if code == SEGMENT:
            tracks[slots[at[0]]] = tracks.fresh(segment=segments[at[0]])
    assert code == DONE
    return happened


@pytest.mark.parametrize(("module", "name", "fields", "more"), KERNELS)
@settings(max_examples=25)
@given(log=rows())
def test_the_compiled_twin_is_the_same(
    module: str, name: str, fields: str, more: Any, log: tuple[list[float], list[int], int]
) -> None:
    """The compiled kernel stops where the plain one does and keeps the same past, to the last
    bit, from one batch to the next."""
    kernels = import_module(f"runwatch.kernels.{module}")
    kernel, of = getattr(kernels, name), getattr(kernels, fields)
    plain, fast = Tracks(of), Tracks(of)
    values, segments, alike = log
    for begin, end in pairwise((0, len(values) // 2, len(values))):
        part = values[begin:end], segments, alike
        assert passed(kernel, plain, part, more, fast=False) == passed(
            kernel, fast, part, more, fast=True
        )
    assert plain.state() == fast.state()


@pytest.mark.parametrize("skipped", [0, 1, 7, 19])
def test_norms_may_explode_right_after_the_first_steps(skipped: int) -> None:
    """Compiled, too, wherever their blocks begin: zeros at the start are seen but in no block."""
    calm = [2.0 + 0.004 * (i * 7919 % 13 - 6) for i in range(2 * gradient.WARM)]
    norms = [0.0] * skipped + calm[: gradient.WARM - skipped] + [1e9] * 3 + calm[:40]
    log, plain, fast = (2 * norms, [0, 0, 0], 1), Tracks(gradient.FIELDS), Tracks(gradient.FIELDS)
    assert passed(gradient.follow, plain, log, (np.int8,), fast=False) == passed(
        gradient.follow, fast, log, (np.int8,), fast=True
    )
    assert plain.state() == fast.state()


FEW = (
    *numbers("segment", "n", "head"),
    Field("level", math.nan),
    Field("ring", 0.0, 4, count="n"),
)


@pytest.mark.parametrize("fast", [False, True])
def test_records_go_through_json(fast: bool) -> None:
    """What a record holds comes back from plain JSON, also NaN."""
    tracks = Tracks(FEW)
    for i in range(20):
        [slot] = tracks.places([keyed("log", f"loss {i}", i)], np.array([i]))
        tracks[slot] = tracks.fresh(segment=i, n=3, ring=[3.0, 1.0, 2.0])
        tracks.rows(compiled=fast)
    past = json.loads(json.dumps(tracks.state(), allow_nan=False))
    again = Tracks(FEW)
    again.restore(past)
    assert tracks.state() == again.state()
    row = again[again.slots[keyed("log", "loss 7", 7)]]
    assert (7, [3.0, 1.0, 2.0]) == (row.segment, row.ring)
    assert math.isnan(row.level)
    assert ("log", "loss 7", 7) == unkeyed(list(tracks.slots)[7])
    assert len(list(tracks.marked("segment"))) == 19


def test_small_inputs_never_load_a_compiler(tmp_path: Path) -> None:
    """A log of some thousand lines is judged without it."""
    lines = (f"step {i} | loss {2 - i / 1e4} | grad_norm 1.{i % 9}\n" for i in range(3000))
    (tmp_path / "log").write_text("".join(lines))
    code = (
        "import sys; from runwatch.cli import main;"
        f"main(['scan', {str(tmp_path / 'log')!r}, '--no-store']);"
        "sys.exit(2 * ('llvmlite' in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
