"""The gate between what might be a measurement and what is one.

A record whose form alone does not tell (`average: 0.31`, `workers: 8`) is held. When the same form
comes again at another step with other numbers, both count, and so does every later one: a setting
is printed once, a measurement as the run goes on. A form that comes again and again at the same
step (samples, counts of something found) is refused for good.
"""

from typing import Any, NamedTuple

from runwatch.parse.plan import Evidence
from runwatch.parse.record import Point, Record

_MAX_HELD = 2048
_MAX_POINTS = 1024  # of a record that is held
_MAX_KNOWN = 4096  # forms of one writer whose fate is remembered, of each kind
_SPARE = 1024  # more than the forms that are replayed
_CONSTANT = 3  # times that an unchanging number must come before it counts


class Row(NamedTuple):
    """A record's points with everything that goes beside them, ready to be written."""

    line: int
    time: int | None
    rank: int | None
    step: int | None
    epoch: float | None
    segment: int
    training: bool
    points: tuple[Point, ...]

    @property
    def values(self) -> list[float]:
        """The numbers alone."""
        return [point.value for point in self.points]


class Gate:
    """Knows the forms that proved to be measurements, those that did not, and holds the rest."""

    def __init__(self) -> None:
        self._proven: dict[str, None] = {}  # in order of proof
        self._refused: dict[str, None] = {}
        self._held: dict[str, list[Row]] = {}
        self._shown: dict[str, tuple[int | None, float | None]] = {}  # where, by its neighbours

    def passed(self, record: Record, row: Row) -> list[Row]:
        """The rows that count now: this one, none yet, or the held ones and this one."""
        if record.evidence is Evidence.CLEAR or record.key in self._proven:
            return [row]
        if record.evidence is Evidence.BESIDE:
            self.show(record.key, row.step, row.epoch)
            return [row]
        if record.key in self._refused or len(row.points) > _MAX_POINTS:
            return []
        if self._shown.get(record.key, (row.step, row.epoch)) != (row.step, row.epoch):
            del self._shown[record.key]
            _remember(self._proven, record.key, None)
            return [row]
        held = self._held.get(record.key)
        if held is None:
            if len(self._held) >= _MAX_HELD:
                self._held.pop(next(iter(self._held)))
            self._held[record.key] = [row]
            return []
        if held[-1].rank != row.rank:
            held[-1] = row
            return []
        return self._again(record.key, held, row, record.evidence is Evidence.KNOWN)

    def _again(self, key: str, held: list[Row], row: Row, known: bool) -> list[Row]:
        """A form came again: proof if the run went on in between, refusal if it did not."""
        last = held[-1]
        changed = last.values != row.values
        if (last.step, last.epoch) == (row.step, row.epoch) and not (known and _later(last, row)):
            if changed:
                self.refuse(key)
            return []
        held.append(row)
        if not changed and len(held) < _CONSTANT:
            return []
        del self._held[key]
        _remember(self._proven, key, None)
        return held

    @property
    def full(self) -> bool:
        """Whether what it knows of old forms may go."""
        return max(len(self._proven), len(self._refused), len(self._shown)) >= _MAX_KNOWN - 1

    @property
    def crowded(self) -> bool:
        """Whether a form that is held may go."""
        return len(self._held) >= _MAX_HELD

    @property
    def roomy(self) -> bool:
        """Whether so many more may be held, or refused, that none goes before somebody looks."""
        known = max(len(self._refused), len(self._proven), len(self._shown))
        return len(self._held) + _SPARE < _MAX_HELD and known + _SPARE < _MAX_KNOWN

    def is_new(self, key: str) -> bool:
        """Whether a form never came, as far as is remembered, and nothing goes for it."""
        fates = (self._proven, self._refused, self._shown, self._held)
        return self.roomy and not any(key in known for known in fates)

    def fate(self, key: str) -> str:
        """What became of a form: proven, refused, shown, held, or nothing yet."""
        if key in self._proven:
            return "proven"
        if key in self._refused:
            return "refused"
        if key in self._shown:
            return "shown"
        return "held" if key in self._held and not self.crowded else ""

    def place_held(self, key: str) -> tuple[int | None, float | None, list[float]]:
        """Where a form was held last, and its numbers."""
        last = self._held[key][-1]
        return last.step, last.epoch, last.values

    def place_shown(self, key: str) -> tuple[int | None, float | None]:
        """Where a form was last shown by its neighbours."""
        return self._shown[key]

    def show(self, key: str, step: int | None, epoch: float | None) -> None:
        """Take note that a form was shown by its neighbours."""
        _remember(self._shown, key, (step, epoch))

    def hold(self, key: str, row: Row) -> None:
        """Take note that a form came that never did before; there is room."""
        self._held[key] = [row]

    def refuse(self, key: str) -> None:
        """Take note that a form that is held is none."""
        del self._held[key]
        _remember(self._refused, key, None)

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            "proven": list(self._proven),
            "refused": list(self._refused),
            "held": self._held,
            "shown": self._shown,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self._proven = dict.fromkeys(state["proven"])
        self._refused = dict.fromkeys(state["refused"])
        self._shown = {key: tuple(place) for key, place in state["shown"].items()}
        self._held = {
            key: [Row._make((*row[:-1], tuple(Point(*point) for point in row[-1]))) for row in rows]
            for key, rows in state["held"].items()
        }


def _remember(fates: dict[str, Any], key: str, fate: Any) -> None:
    """Keep the fate of a form; the oldest goes where there are too many."""
    if key not in fates and len(fates) >= _MAX_KNOWN:
        del fates[next(iter(fates))]
    fates[key] = fate


def _later(last: Row, row: Row) -> bool:
    """Whether only the clock tells that a run went on, as no line says where it is."""
    unplaced = row.step is None and row.epoch is None
    return unplaced and last.time is not None and row.time is not None and last.time < row.time
