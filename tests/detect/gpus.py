"""A machine of GPUs that tells of itself as a real one does, and the detectors that listen."""

from dataclasses import replace
from typing import Any

from runwatch.chunk import Chunk
from runwatch.detect import gpu
from runwatch.finding import Finding
from runwatch.ingest.gpu import STREAM
from runwatch.ingest.gpu_reading import Reading
from runwatch.telemetry import Telemetry

BUSY = Reading(
    0, util=97, used=60, total=80, temperature=60, power=600, limit=700, clock=1900, fastest=1980,
    ecc=0, reasons=0x4, action=0,
)  # fmt: skip

Look = list[Reading]


def look(count: int = 8, **one: Any) -> Look:
    """So many GPUs at work; GPU 3, or the only one, differs as it is given."""
    odd = min(3, count - 1)
    return [replace(BUSY, gpu=n, **(one if n == odd else {})) for n in range(count)]


def told(looks: list[Look], every: float = 10.0, begin: float = 1_800_000_000.0) -> bytes:
    """The lines of these looks."""
    return b"".join(
        reading.line(begin + i * every, len(one)) for i, one in enumerate(looks) for reading in one
    )


def found(looks: list[Look], every: float = 10.0) -> list[Finding]:
    """What the detector says after these looks."""
    watching = gpu.Detector()
    Telemetry([watching], 2026).take(Chunk(STREAM, told(looks, every), 0))
    return watching.findings()


def kinds(looks: list[Look], every: float = 10.0) -> list[tuple[str, str, str]]:
    """The same in short."""
    return [(f.kind, f.severity.value, f.state.value) for f in found(looks, every)]
