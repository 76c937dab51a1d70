"""What the readable path did with one line, and what that says of every line like it."""

from dataclasses import field
from typing import Any, ClassVar

from runwatch.kernels.layout import ASIDE, BEYOND, COUNTING, NESTED, NO_BAR
from runwatch.parse.place import Place
from runwatch.parse.plan import Evidence
from runwatch.parse.prefix import Prefix
from runwatch.parse.record import Record
from runwatch.parse.silence import Traits
from runwatch.parse.table import NO_HEAD, Head
from runwatch.parse.writer import Writer
from runwatch.slotted import frozen, mutable


@frozen
class Context:
    """What a line's writer knew before: whether it was inside a record of many lines, inside
    source, and under which table header."""

    open: bool = False
    code: bool = False
    head: Head = NO_HEAD


@frozen
class Outcome:
    """What the readable path makes of a line: the form of its points, their values, its place."""

    PLACES: ClassVar = ("step", "total_steps", "epoch", "total_epochs", "rank")
    NOWHERE: ClassVar = (None,) * len(PLACES)

    form: tuple[tuple[str, str], ...] = ()  # (metric, unit)
    evidence: Evidence = Evidence.CLEAR  # of the points, before what stands beside them counts
    key: str = ""  # of a form that must prove itself
    counts: bool = False  # whether every point is the step itself
    training: bool = True
    bar: int = NO_BAR
    traits: tuple[Traits, ...] = ()  # of each message that the line holds
    traced: bool = False  # in a traceback, so nothing else is known
    asked: bool = False  # whether a field says whose line it is, so another writer saw it
    continues: bool = False  # whether another writer's line may go on with it
    near: int = -1  # `Writer.near` behind it; -1 where nothing changes
    open: bool | None = None  # `Writer.open` behind it; None where nothing changes
    deep: int = 0  # 1 where a prefix says whose line it is, 2 where one does but names no rank
    tabular: bool = False  # whether a table's header may say what it means
    head: Head | None = None  # the header that it is itself
    noted: bool = False  # whether it is a line of note
    whole: bool = False  # whether its one message is all that it has behind its prefixes
    values: tuple[float, ...] = ()
    places: tuple[float | None, ...] = NOWHERE  # in the order of PLACES
    time: int | None = None

    @property
    def reports(self) -> bool:
        """Whether it has points that may count."""
        return bool(self.form) and self.evidence is not Evidence.NONE

    def same_form(self, other: "Outcome") -> bool:
        """Whether the same things are said, whatever their values."""
        return self._form() == other._form() and self.open == other.open

    def same(self, other: "Outcome") -> bool:
        """Whether nothing differs; nan is nan."""
        return self.open == other.open and self.same_but_open(other)

    def same_but_open(self, other: "Outcome") -> bool:
        """Whether only what it makes of `Writer.open` differs."""
        alike = self.time == other.time and self._form() == other._form()
        return alike and _equal(self.outputs(), other.outputs())

    def same_but_time(self, other: "Outcome") -> bool:
        """Whether only the time differs."""
        return self.same_form(other) and _equal(self.outputs(), other.outputs())

    def outputs(self) -> tuple[float | None, ...]:
        """The values, then the places."""
        return self.values + self.places

    def _form(self) -> tuple[object, ...]:
        return (
            self.form, self.evidence, self.key, self.counts, self.training, self.bar, self.traits,
            self.traced, self.asked, self.continues, self.near, self.deep, self.tabular,
            self.head, self.noted, self.whole, self.time is None,
            [place is None for place in self.places],
        )  # fmt: skip


def _equal(outputs: tuple[float | None, ...], others: tuple[float | None, ...]) -> bool:
    """Whether all outputs are the same; nan is nan."""
    return outputs == others or all(
        one == other or (one != one and other != other)
        for one, other in zip(outputs, others, strict=True)
    )


@mutable
class Trace:
    """The steps that a line took through the readable path, in order."""

    seen: list[tuple[Prefix, int | None, Traits, str]] = field(default_factory=list)
    continues: bool = False
    before: Context = field(default_factory=Context)
    taken: list[tuple[Record, Record, Prefix]] = field(default_factory=list)
    writer: Writer | None = None  # that weighed it
    tabular: bool = False
    head: Head | None = None
    odd: bool = False  # something that no template can do
    misdated: bool = False  # whether a stamp was no date
    text: str = ""  # of the whole line
    noted: bool = False
    whole: bool = False

    def see(
        self, text: str, said: Prefix, rank: int | None, message: str, traits: Traits, block: str,
        writer: Writer,
    ) -> None:  # fmt: skip
        """A message in a text, what its prefixes said, whose it is and the block it stands in."""
        self.whole = text == self.text and message == said.message
        self.before = Context(False, block == "code", writer.table.heading)
        self.seen.append((said, rank, traits, block))
        self.continues |= said.rank is None and message[:1] in " \t}"

    def note(self) -> None:
        """A line of note is written. Of one that is replayed nothing is known but its bytes."""
        self.noted, self.odd = True, self.odd or not self.whole

    def weigh(self, writer: Writer) -> None:
        """A writer is about to weigh what the line says."""
        self.odd |= self.writer is not None
        self.before = Context(writer.open, self.before.code, self.before.head)
        self.writer = writer

    def take(self, record: Record, weighed: Record, said: Prefix) -> None:
        """A record, before and after its writer weighed it."""
        self.taken.append((record, weighed, said))

    def outcome(self, *, timed: bool) -> Outcome | None:
        """What holds for every line like it; None where it depends on, or changes, more than can be
        replayed. Times count where `timed`."""
        if self.odd or len(self.taken) > 1 or (timed and self._is_long_ago()):
            return None
        if not self.seen:
            return Outcome()
        prefixes = [said for said, _, _, _ in self.seen if said.deep]
        rank = named = prefixes[-1].rank if prefixes else None
        if len(self.seen) > 1 and (
            self.noted
            or self.continues
            or not all(traits.plain for _, _, traits, _ in self.seen)
            or any(block != "text" for *_, block in self.seen)
            or len({rank for _, rank, _, _ in self.seen[:-1]} | {self.seen[0][1]}) > 1
            or any(taken.rank != self.seen[-1][1] for _, _, taken in self.taken)
        ):
            return None
        said: dict[str, Any] = {
            "traits": tuple(traits for _, _, traits, _ in self.seen),
            "traced": self.seen[-1][3] == "traceback",
            "continues": self.continues,
            "deep": 0 if not prefixes else 1 if named is not None else 2,
            "tabular": self.tabular,
            "head": self.head,
            "noted": self.noted,
            "whole": self.whole and len(self.seen) == 1,
        }
        if self.writer is not None and not self._is_listed():
            said |= {"near": self.writer.near, "open": self.writer.open}
        places: tuple[float | None, ...] = Outcome.NOWHERE[:-1]
        if self.taken and not said["traced"]:
            record, weighed, _ = self.taken[0]
            if record.rank is not None and named is not None and record.rank != named:
                return None  # the prefix names one rank and a field another
            rank = named if record.rank is None else record.rank
            said["asked"] = record.rank is not None and named is None
            said |= self._taken(timed)
            if not self._is_listed():
                said |= {"bar": _bar(weighed), "training": weighed.training}
                places = (
                    weighed.step, weighed.total_steps, weighed.epoch, weighed.total_epochs
                )  # fmt: skip
        return Outcome(**said, places=(*places, rank))

    def _is_long_ago(self) -> bool:
        """Whether its time is none that a kernel can tell: before 1970, or no double holds it."""
        time = self.taken[0][2].time if self.taken else None
        return time is not None and not 0 <= time < BEYOND

    def _is_listed(self) -> bool:
        """Whether it was taken for a line of source, which leaves its writer as it was."""
        silent = not self.taken or self.taken[0][1].evidence is Evidence.NONE
        return self.seen[-1][3] == "code" and silent

    def _taken(self, timed: bool) -> dict[str, Any]:
        """What the points of a line say."""
        record, weighed, prefix = self.taken[0]
        evidence = record.evidence if weighed.evidence is Evidence.BESIDE else weighed.evidence
        said: dict[str, Any] = {}
        if weighed.points and (evidence is not Evidence.NONE or weighed.step is not None):
            held = evidence in (Evidence.KNOWN, Evidence.HELD)
            counts = evidence is not Evidence.CLEAR and all(
                point.value == weighed.step for point in weighed.points
            )
            said = {
                "form": tuple((point.metric, point.unit) for point in weighed.points),
                "values": tuple(point.value for point in weighed.points),
                "evidence": evidence,
                "key": weighed.key if held else "",
                "counts": counts,
                "time": prefix.time if timed and evidence is not Evidence.NONE else None,
            }
            if held:
                said["near"] = int(counts)
        return said


def _bar(record: Record) -> int:
    """What a record is of progress bars."""
    if record.bar is None:
        return NO_BAR
    if not Place().counts(record):
        return ASIDE
    return COUNTING if record.bar or record.points else NESTED
