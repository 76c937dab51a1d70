"""Every format reads its own samples.

`formats/*.toml` holds, for each program that prints training logs, a few lines as they stand in
a log, the points that must come out, and the lines that must stay silent:

    points   "LINE [step=N] [epoch=N] [rank=N] | METRIC=VALUE | METRIC=VALUE"; each must be found
             on its line, under this name (case, punctuation and a scope before it aside), with
             this value, and with the step, epoch and rank where the row says them
    silent   lines that must give nothing; a line in neither list is free
    absent   "LINE | NAME | NAME=VALUE": what must not come out of a line that does report, such as
             the line number of the source file that printed it
    pending  why the sample cannot be read yet; it must fail until it can
"""

import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runwatch.arrow import record_batch
from runwatch.chunk import Chunk, Stream
from runwatch.parse import Parser

FORMATS = Path(__file__).parent / "formats"
Point = dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """One point that a sample must give; None stands for an axis that the sample leaves open."""

    line: int
    metric: str
    value: float
    axes: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        axes = "".join(f" {axis}={number:g}" for axis, number in self.axes.items())
        return f"line {self.line}: {self.metric}={self.value:g}{axes}"

    def met_by(self, point: Point) -> bool:
        """Value, name and every stated axis agree."""
        return (
            equal(self.value, point["value"])
            and same_name(self.metric, point["metric"])
            and all(point[axis] == number for axis, number in self.axes.items())
        )


def equal(one: float, other: float) -> bool:
    return (math.isnan(one) and math.isnan(other)) or f"{one:.12g}" == f"{other:.12g}"


def same_name(one: str, other: str) -> bool:
    """Equal but for case and punctuation, a scope before the name or a note in brackets after."""
    if re.sub(r"[^a-z0-9]+", "", one.lower()) == re.sub(r"[^a-z0-9]+", "", other.lower()):
        return True
    long, short = sorted((one.lower().strip(), other.lower().strip()), key=len, reverse=True)
    return bool(short) and (
        re.search(r"[ .:/,#]" + re.escape(short) + "$", long) is not None
        or re.match(re.escape(short) + r" ?\(", long) is not None
    )


def wanted(row: str) -> Iterator[Wanted]:
    """The points of one row of `points`."""
    head, *pairs = row.split(" | ")
    line, *axes = head.split()
    where = {axis: float(number) for axis, number in (pair.split("=") for pair in axes)}
    for pair in pairs:
        metric, value = pair.rsplit("=", 1)
        yield Wanted(int(line), metric.strip(), float(value), where)


def samples() -> Iterator[Any]:
    for path in sorted(FORMATS.glob("*.toml")):
        for sample in tomllib.loads(path.read_text(encoding="utf-8"))["sample"]:
            yield pytest.param(sample, id=f"{path.stem}-{sample['name']}")


def points_of(text: str) -> dict[int, list[Point]]:
    """What the parser makes of a whole log, by line."""
    parser, stream = Parser(), Stream("log")
    data = text.encode()
    found: dict[int, list[Point]] = {}
    for batch in (parser.feed(Chunk(stream, data, 0)), parser.finish(stream)):
        for point in record_batch(batch.points).to_pylist():
            found.setdefault(point["line"], []).append(point)
    return found


def faults(sample: dict[str, Any]) -> list[str]:
    """What is missing and what should not be there, one sentence each."""
    found = points_of(sample["text"])
    lines = sample["text"].split("\n")
    told = []
    for row in sample["points"]:
        for want in wanted(row):
            here = found.get(want.line, [])
            match = next((point for point in here if want.met_by(point)), None)
            if match is None:
                got = ", ".join(shown(point) for point in here) or "nothing"
                told.append(f"{want} missing; got {got}; in {lines[want.line - 1]!r}")
            else:
                here.remove(match)
    for row in sample.get("absent", []):
        head, *names = row.split(" | ")
        told.extend(
            f"line {head}: {shown(point)} is no measurement; in {lines[int(head) - 1]!r}"
            for point in found.get(int(head), [])
            if {point["metric"], f"{point['metric']}={point['value']:g}"} & set(names)
        )
    told.extend(
        f"line {line} is not silent: {', '.join(map(shown, found[line]))}; in {lines[line - 1]!r}"
        for line in sample.get("silent", [])
        if found.get(line)
    )
    return told


def shown(point: Point) -> str:
    axes = "".join(f" {a}={point[a]:g}" for a in ("step", "epoch", "rank") if point[a] is not None)
    return f"{point['metric']}={point['value']:g}{axes}"


@pytest.mark.parametrize("sample", list(samples()))
def test_every_format_reads_its_own_samples(
    sample: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    """Every point of a sample is found with its name, value and place, and set-up is silent."""
    if "pending" in sample:
        request.applymarker(pytest.mark.xfail(reason=sample["pending"], strict=True))
    assert [] == faults(sample)


@pytest.mark.parametrize("sample", list(samples()))
def test_every_sample_is_sound(sample: dict[str, Any]) -> None:
    """A sample's expected values stand on the lines they name, and no silent line expects any."""
    lines = sample["text"].split("\n")
    wants = [want for row in sample["points"] for want in wanted(row)]
    number = re.compile(
        r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan|inf", re.IGNORECASE
    )
    absent = [
        str(want)
        for want in wants
        if not any(
            equal(abs(want.value), abs(float(text.replace(",", ""))))
            for text in number.findall(lines[want.line - 1])
        )
    ]
    assert [] == absent
    assert set() == {want.line for want in wants} & set(sample.get("silent", []))
    assert all(line <= len(lines) and lines[line - 1] for line in sample.get("silent", []))
