"""One stream as it is read: every line of note put where it belongs.

A line may be part of a launcher's table, of a traceback, hold a known signature, or all of these;
it becomes one hit at most.
"""

import re
from dataclasses import asdict, field
from typing import Any

from runwatch.detect.collective import Waiting
from runwatch.detect.elastic import Tables
from runwatch.detect.exits import kind_of_exit
from runwatch.detect.hit import KEPT_CHARACTERS, Hit, Incidents
from runwatch.detect.note import Note, notes
from runwatch.detect.progress import ENOUGH, Progress
from runwatch.detect.signatures import Signature, catalog
from runwatch.detect.traceback import Caught, Reader, kind_of
from runwatch.pattern import compiled
from runwatch.records import Batch
from runwatch.slotted import mutable

_WORLD = compiled(r"(?:world[_ ]?size|nranks|n_ranks)['\"]?\s*[=: ]\s*(\d{1,6})\b", re.IGNORECASE)
_EPOCHS = compiled(
    r"\b(?:num_train_epochs|max_epochs?|num_epochs|n_epochs|epochs)['\"]?\s*[=:]\s*(\d+)\b"
)
_SEVERAL = compiled(
    r"nccl|\brank\s?[\[=:]?\s?\d|torchelastic|torch[./]distributed|mpirun|srun", re.IGNORECASE
)
_SAID = compiled(r"\[(?:PG [^\]\n]{0,120}? )?Rank (\d{1,6})\]")
_CHILDS_LINES = 400  # how long a child's traceback may be
# Signatures up to this weight say little; the context of the traceback says more.
_VAGUE = 47
# Up to this weight they are complaints that a run may well survive, unless they were raised.
_SOFT = 48
# Roles that an exception on the same line outweighs.
_QUIET = ("closing", "phase")
_PLAIN = (
    "stream", "rank", "clock", "began", "last_line", "world", "epochs", "several", "spawned",
    "restarts", "relayed",
)  # fmt: skip
_VAGUE_KINDS = ("python_exception", "data_error")
KEPT_RESTARTS = 4096
NEAR = 8  # lines within which "saving checkpoint" still explains an exception


@mutable
class Sightings:
    """What one stream has shown so far."""

    stream: str
    rank: int | None = None
    progress: Progress = field(default_factory=Progress)
    incidents: Incidents = field(default_factory=Incidents)
    tables: Tables = field(default_factory=lambda: Tables(""))
    reader: Reader = field(default_factory=Reader)
    waiting: Waiting = field(default_factory=Waiting)
    finish: Hit | None = None
    closing: Hit | None = None
    phase: Hit | None = None
    clock: int = 0
    began: int = 0  # the first time that the stream shows, 0 where it shows none
    last_line: int = 0
    world: int | None = None
    epochs: int | None = None
    several: bool = False
    chains: dict[int, str] = field(default_factory=dict)
    spawned: tuple[int, int] | None = None  # line and rank of a child whose traceback follows
    restarts: list[int] = field(default_factory=list)  # advances when somebody started it again
    relayed: int | None = None  # whose last exception stands for one of a loader's worker

    def feed(self, batch: Batch) -> None:
        """Take the next batch of this stream."""
        advances = self.progress.feed(batch)
        for note in notes(batch.lines):
            self.clock = max(self.clock, note.time or 0)
            self.began = self.began or note.time or 0
            note.at, note.clock = advances.until(note.line), self.clock
            note.far = advances.far(note.line)
            self._note(note)
        self.last_line = max(self.last_line, batch.last_line)

    def _note(self, note: Note) -> None:
        self._setting(note)
        if self.tables.feed(note) and "Traceback (most" not in note.text:
            return
        rank = note.rank if note.rank is not None else self.rank
        rank = self.tables.rank_inside(note.line) if rank is None else rank
        found = None if self.reader.is_source(note, rank) else catalog().match(note.raw, note.text)
        if found and found[0].role == "thread":
            self.reader.announce(ignored="ignored" in note.text)
        caught = self.reader.feed(note, rank)
        if caught and caught.framed and not found:  # behind a prefix that is not known
            found = catalog().match(f"{caught.type}: {caught.message}")
        signature, told = found or (None, {})
        if hit := self._hit(note, signature, told, caught):
            hit.rank = self._whose(note, told, rank, caught)
            self._place(hit, caught)

    def _whose(
        self, note: Note, told: dict[str, str], writer: int | None, caught: Caught | None
    ) -> int | None:
        """The rank that a line is about: the one it names, else who wrote it.

        A parent that prints a child's traceback names the child on the line before.
        """
        if (named := _number(told.get("rank", ""))) is not None:
            return named
        if writer is None and (said := _SAID.search(note.raw)):
            return _number(said[1])
        parent = self.spawned
        if writer is None and caught and caught.framed and parent:
            return parent[1] if note.line - parent[0] <= _CHILDS_LINES else None
        return writer

    def _setting(self, note: Note) -> None:
        """What the line says about the run as a whole: how many ranks, how many epochs."""
        raw = note.raw
        self.several = self.several or note.rank is not None or bool(_SEVERAL.search(raw))
        if self.world is None and (found := _WORLD.search(raw)):
            self.world = int(found[1])
        if self.epochs is None and (found := _EPOCHS.search(raw)):
            self.epochs = int(found[1])

    def _hit(
        self, note: Note, signature: Signature | None, told: dict[str, str], caught: Caught | None
    ) -> Hit | None:
        kind, role, name = "", "", ""
        if signature and not (signature.role in _QUIET and caught):
            kind, role, name = signature.kind, signature.role, signature.name
        if role in ("noise", "thread") or (caught and caught.ignored):
            return None
        vague = signature and signature.weight <= _VAGUE and role in ("root", "generic")
        if caught and (vague or not name):
            kind, role, name = _of_exception(caught, kind, role, name)
        if not name:
            return None
        if kind == "@exit":
            kind = kind_of_exit(told)
        if (
            role == "root"
            and signature
            and signature.weight <= _SOFT
            and not (caught and caught.framed)
        ):
            role = "generic"
        if caught and caught.thread and role in ("root", "generic", "echo", "unconfirmed"):
            role = "thread"
        hit = Hit(self.stream, note.line, name, kind, role, note.raw[:KEPT_CHARACTERS])
        hit.at, hit.clock, hit.segment, hit.far = note.at, note.clock, note.segment, note.far
        hit.attempt = note.segment + len(self.restarts)
        hit.step, hit.time, hit.told = note.step, note.time, told
        if signature and signature.whose and (signature.whose == "late" or not caught):
            hit.told = told | {"whose": signature.whose}
        if caught:
            hit.note = caught.user
            hit.told = {**hit.told, "framed": "yes" if caught.framed else "", "frame": caught.frame}
        return hit

    def _place(self, hit: Hit, caught: Caught | None) -> None:
        if hit.role in ("handled", "restarted"):
            self._overcome(hit)
            if hit.role == "restarted" and len(self.restarts) < KEPT_RESTARTS:
                self.restarts.append(hit.at)
        elif hit.role == "finish":
            self.finish = _earliest(self.finish, hit)
        elif hit.role == "closing":
            self.closing = hit
        elif hit.role == "phase":
            self.phase = hit
        else:
            if hit.signature == "spawn-process" and hit.rank is not None:
                self.spawned = (hit.line, hit.rank)
            if hit.kind == "nccl_timeout" and hit.told.get("whose") != "late":
                if hit.at - self.waiting.since >= ENOUGH:
                    self.waiting = Waiting(since=hit.at)
                self.waiting.feed(hit.rank, hit.told)
            self._in_phase(hit, caught)
            self._chain(hit, caught)

    def _overcome(self, hit: Hit) -> None:
        for incident in self.incidents.kept.get(self.incidents.latest, [])[-1:]:
            if hit.at - incident.last_at < ENOUGH:
                incident.overcome = True

    def _in_phase(self, hit: Hit, caught: Caught | None) -> None:
        """An exception without a word on its cause, right after "saving checkpoint"."""
        known = caught and caught.framed and caught.contexts
        if self.phase is None or self.phase.kind != "saving" or known:
            return
        near = self.phase.at == hit.at and hit.line - self.phase.line <= NEAR
        if near and hit.kind == "python_exception":
            hit.kind, hit.sure = "checkpoint_failure", "low"

    def _chain(self, hit: Hit, caught: Caught | None) -> None:
        """Of a chain of exceptions the first counts, unless only a later one says what it is."""
        writer = -1 if hit.rank is None else hit.rank
        earlier = self.incidents.kept.get(self.chains.get(writer, ""), [])[-1:]
        follows = caught and (caught.chained or self.relayed == writer)
        if follows and earlier and hit.role in ("root", "generic", "unconfirmed"):
            first = earlier[0].first
            if first.kind in (vague := self._vague_kinds(writer)) and hit.kind not in vague:
                earlier[0].chained = True
            elif (first.kind, hit.kind) == ("network", "tracker_kills_training"):
                first.kind, hit.role = hit.kind, "follow-on"
            else:
                hit.role = "follow-on"
        self.incidents.add(hit)
        if caught and not caught.chained and len(self.chains) < 4096:
            self.chains[writer] = f"{hit.signature}\0{hit.kind}"
        if caught and caught.framed:
            self.relayed = writer if caught.relayed else None

    def _vague_kinds(self, writer: int) -> tuple[str, ...]:
        """The kinds that say little of an exception; of one that was relayed, what it is about."""
        return _VAGUE_KINDS if self.relayed == writer else _VAGUE_KINDS[:1]

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        hits = {
            n: asdict(h) if (h := getattr(self, n)) else None
            for n in ("finish", "closing", "phase")
        }
        parts = {
            n: getattr(self, n).state()
            for n in ("progress", "incidents", "tables", "reader", "waiting")
        }
        plain = {n: getattr(self, n) for n in _PLAIN}
        return {**plain, **parts, **hits, "chains": list(self.chains.items())}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Sightings":
        """What `state` gave, as it was."""
        hits = {n: Hit(**state[n]) if state[n] else None for n in ("finish", "closing", "phase")}
        parts = {
            "progress": Progress(**state["progress"]),
            "incidents": Incidents.restored(state["incidents"]),
            "tables": Tables.restored(state["tables"]),
            "reader": Reader.restored(state["reader"]),
            "waiting": Waiting.restored(state["waiting"]),
            "chains": dict(state["chains"]),
            "spawned": tuple(state["spawned"]) if state["spawned"] else None,
        }
        return cls(**{**state, **hits, **parts})


def _number(text: str) -> int | None:
    """A rank as the line spells it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None


def _of_exception(caught: Caught, kind: str, role: str, name: str) -> tuple[str, str, str]:
    """Kind, role and name for an exception whose words say little or nothing."""
    meant = kind_of(caught)
    if name and not (meant and caught.contexts):
        return kind, role, name
    if caught.name in ("Exception", "ProcessRaisedException") and not caught.message.strip():
        return "process_crash", "wrapper", f"exception-{caught.name}"
    role = "root" if meant and caught.framed else "generic"
    return meant or "python_exception", role, f"exception-{caught.name}"


def _earliest(old: Hit | None, new: Hit) -> Hit:
    """The first of the words that close one run; the first of the next where a new one began."""
    if old and new.segment == old.segment and new.at - old.at < ENOUGH:
        return old
    return new
