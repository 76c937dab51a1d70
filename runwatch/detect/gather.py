"""Collects the incidents of all streams and tells the overcome ones from those that stand."""

from collections.abc import Iterable

from runwatch.detect.elastic import first_failed
from runwatch.detect.episode import Episode, key
from runwatch.detect.exits import kind_of_exit
from runwatch.detect.hit import Hit, Incident, begun
from runwatch.detect.progress import ENOUGH
from runwatch.detect.sighting import NEAR, Sightings
from runwatch.detect.traceback import Open, kind_of_cut

# How long other streams must have gone on, by their clocks, for a stream without steps to have
# overcome a fault (microseconds).
_LATER = 60_000_000
# What a scheduler has ended may train on for the seconds that it is given, which may be many
# steps; only more of them are a run that was not ended. What was observed is past by then, too.
_GRACE = 200


def gathered(streams: list[Sightings]) -> Episode:
    """An episode with its incidents sorted into pending and recovered, in their order."""
    episode = Episode()
    for stream in streams:
        for incident in [*stream.incidents, *_broken_off(stream)]:
            went_on = incident.overcome or _went_on(incident, stream, streams)
            (episode.recovered if went_on else episode.pending).append(incident)
    episode.pending += _from_tables(streams)
    episode.pending.sort(key=lambda incident: key(incident.first))
    episode.recovered.sort(key=lambda incident: key(incident.first))
    return episode


def _went_on(incident: Incident, stream: Sightings, streams: list[Sightings]) -> bool:
    """The stream advanced after it, or began anew; one without steps is judged by the others."""
    course, first = stream.progress, incident.first
    if course.points:
        since = course.advances - incident.last_at
        lasting = "final" in first.told or first.role == "observed"
        # A thread's end takes nothing down: any step after it shows that.
        enough = _GRACE if lasting else 1 if first.role == "thread" else ENOUGH
        return since >= enough or (since > 0 and _anew(first, stream))
    if not first.clock or first.role == "ending":
        return False
    return any(s.progress.points and s.clock > first.clock + _LATER for s in streams)


def _anew(hit: Hit, stream: Sightings) -> bool:
    """The stream began again after it: a new segment, or a checkpoint that was loaded."""
    phase = stream.phase
    loaded = phase is not None and phase.kind == "loading" and phase.line > hit.line
    return stream.progress.segment > hit.segment or loaded


def _broken_off(stream: Sightings) -> Iterable[Incident]:
    """Tracebacks that the log's end cut before their exception: one for all ranks."""
    cut = stream.reader.broken_off()
    if not cut:
        return
    first = min(cut, key=lambda tb: tb.header)
    hit = Hit(
        stream.stream, first.header, "traceback-cut", _kind(first, stream), "generic", first.raw
    )
    hit.role = "thread" if first.thread else "generic"
    hit.at, hit.clock, hit.segment, hit.rank = first.at, first.clock, first.segment, first.rank
    hit.note, hit.sure = first.user, "low"
    incident = begun(hit)
    known = {tb.rank for tb in cut if tb.rank is not None}
    incident.ranks = sorted(known)
    yield incident


def _kind(tb: Open, stream: Sightings) -> str:
    kind, phase = kind_of_cut(tb.contexts), stream.phase
    if kind == "python_exception" and phase and phase.kind == "saving":
        return "checkpoint_failure" if 0 <= tb.header - phase.line <= NEAR else kind
    return kind


def _from_tables(streams: list[Sightings]) -> list[Incident]:
    """What the tables of all launchers, together, say failed first."""
    entries = [
        entry
        for stream in streams
        for entry in stream.tables.entries
        if stream.progress.advances - entry.at < ENOUGH
    ]
    found = first_failed(entries)
    if not found:
        return []
    first, others = found
    tell = {"code": first.code, "pid": first.pid, "host": first.host}
    hit = Hit(first.stream, first.line, "elastic-table", kind_of_exit(tell), "launcher", first.text)
    hit.at, hit.clock, hit.segment, hit.rank = first.at, first.clock, first.segment, first.rank
    hit.told = {name: value for name, value in tell.items() if value}
    if others and first.code.startswith("-"):
        hit.rank, hit.sure = None, "medium"
        ranks = sorted({e.rank for e in [first, *others] if e.rank is not None})
        named = ", ".join(map(str, ranks[:8]))
        hit.note = f"undetermined: ranks {named} ended in the same second"
    incident = begun(hit)
    incident.last_line = max(entry.line for entry in entries if entry.stream == first.stream)
    return [incident]
