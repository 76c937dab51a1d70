"""Readings of GPUs put together again: what all of them told at one time."""

from typing import Any

from runwatch.records import Batch

MOST = 256  # GPUs of one machine that are kept apart

Look = dict[str, Any]
"""`time` in seconds, `stream`, and `gpus`: by number, as text, what each told and its `line`."""


class Looks:
    """Lines go in, whole looks come out: one is whole once as many GPUs have told as there are, or
    a line of another time has come. `begun` is what `state` gave."""

    def __init__(self, begun: Look | None = None) -> None:
        self._begun = begun

    def feed(self, batch: Batch) -> list[Look]:
        """Take the next lines; the looks that are whole now."""
        whole = []
        for line, time, told in _lines(batch):
            begun = self._begun
            if begun is None or begun["time"] != time or begun["stream"] != batch.stream.name:
                if begun is not None:
                    whole.append(begun)
                self._begun = begun = {"time": time, "stream": batch.stream.name, "gpus": {}}
            if len(begun["gpus"]) < MOST:
                begun["gpus"][f"{told['gpu']:.0f}"] = {**told, "line": line}
            if len(begun["gpus"]) >= told.get("gpus", MOST):
                whole.append(begun)
                self._begun = None
        return whole

    def state(self) -> Look | None:
        """Plain values to go on from."""
        return self._begun


def _lines(batch: Batch) -> list[tuple[int, float, dict[str, float]]]:
    """Number, time and values of each line that tells of a GPU."""
    names = ("line", "time", "metric", "value")
    rows = zip(*(batch.points.column(name).tolist() for name in names), strict=True)
    told: dict[int, tuple[float, dict[str, float]]] = {}
    for line, time, metric, value in rows:
        if time is not None:
            told.setdefault(line, (time / 1e6, {}))[1][metric] = value
    return [(line, time, values) for line, (time, values) in told.items() if "gpu" in values]


def middle(values: list[float]) -> float:
    """The median; of an even number the lower one."""
    return sorted(values)[(len(values) - 1) // 2]
