"""GPUs as nvidia-smi tells them, where its library cannot be asked: on another host above all."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import isfinite

from runwatch.errors import UnreachableError
from runwatch.ingest.gpu_reading import Reading
from runwatch.ingest.process_shell import Run

_FORM = "--format=csv,noheader,nounits"
_FIRST = ("index", "utilization.gpu", "memory.used", "memory.total")
_MORE = (
    "temperature.gpu", "power.draw", "enforced.power.limit", "clocks.sm", "clocks.max.sm",
    "ecc.errors.uncorrected.volatile.total",
)  # fmt: skip
COLUMNS = (
    (*_FIRST, *_MORE, "clocks_event_reasons.active", "gpu_recovery_action"),
    (*_FIRST, *_MORE, "clocks_throttle_reasons.active"),
    _FIRST,
)
"""What is asked for, by drivers of today, of some years ago, and of any age: nvidia-smi answers
nothing where it does not know one of the names."""
QUERIES = tuple(f"nvidia-smi --query-gpu={','.join(names)} {_FORM}" for names in COLUMNS)
_WIDTHS = tuple(map(len, COLUMNS))
_DIGITS = 4  # of the number of a GPU, at most

_MIB_IN_GIB = 1024
_ACTIONS = ("none", "reset", "reboot", "drain p2p", "drain and reset")  # as NVML numbers them
OTHER = 99  # an action of a driver that is newer than this list


class Asked:
    """Asks the program by way of `run`; after the first time, only what it has an answer to."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._script = " || ".join(QUERIES)

    async def __call__(self) -> list[Reading]:
        """How the GPUs are now; none where there are none or nothing answers."""
        with suppress(UnreachableError):
            rows = list(_rows(await self._run(self._script)))
            if rows:
                self._script = QUERIES[_WIDTHS.index(len(rows[0]))]
            return [_reading(int(row[0]), row[1:]) for row in rows]
        return []


def readings_of(answer: bytes) -> list[Reading]:
    """What nvidia-smi printed: `0, 94, 18637, 24564`; `[N/A]` and the like are None."""
    return [_reading(int(row[0]), row[1:]) for row in _rows(answer)]


def _rows(answer: bytes) -> Iterator[list[str]]:
    for line in answer.decode("utf-8", "replace").split("\n"):
        parts = [part.strip() for part in line.split(",")]
        if len(parts) in _WIDTHS and parts[0].isdecimal() and len(parts[0]) <= _DIGITS:
            yield parts


def _reading(gpu: int, parts: Sequence[str]) -> Reading:
    util, used, total, *more = map(_number, parts)
    temperature, power, limit, clock, fastest, ecc, reasons = [*more, *[None] * 7][:7]
    return Reading(
        gpu, util, _in_gib(used), _in_gib(total), temperature, power, limit, clock, fastest, ecc,
        reasons, _action(parts[10]) if len(parts) > 10 else None,
    )  # fmt: skip


def _number(text: str) -> float | None:
    with suppress(ValueError, OverflowError):
        number = float(int(text, 16) if text.startswith("0x") else text)
        return number if isfinite(number) else None
    return None


def _action(text: str) -> float | None:
    word = text.lower()
    if word.startswith("[") or word == "n/a":
        return None
    return float(_ACTIONS.index(word)) if word in _ACTIONS else float(OTHER)


def _in_gib(mebibytes: float | None) -> float | None:
    return None if mebibytes is None else round(mebibytes / _MIB_IN_GIB, 2)
