"""Turns the episode into findings: one for the root, one a kind for echoes and recovered faults."""

from datetime import UTC, datetime

from runwatch.detect.culprit import culprit, listed
from runwatch.detect.episode import Episode
from runwatch.detect.hit import Hit, Incident
from runwatch.detect.sighting import Sightings
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import rule

_KEPT = 24
_RESTLESS = ("network", "python_exception", "tracker_kills_training")  # said often, mean little


def reported(episode: Episode, streams: list[Sightings]) -> list[Finding]:
    """All findings, the root first."""
    found: list[Finding] = []
    others = episode.pending
    if episode.root:
        root = episode.root.first
        same = [i for i in others if _alike(i.first, root)]
        others = [i for i in others if not _alike(i.first, root)]
        found.append(_root(episode.root, same, episode, streams))
    found += _teardown(episode, streams)
    found += _grouped(
        others,
        State.TERMINAL if episode.root else State.OPEN,
        episode,
        streams,
    )
    found += _grouped(episode.recovered, State.RECOVERED, episode, streams)
    return found[:_KEPT]


def _alike(one: Hit, other: Hit) -> bool:
    """The same fault, as another rank tells it."""
    return (one.signature, one.kind) == (other.signature, other.kind)


def _root(
    incident: Incident, same: list[Incident], episode: Episode, streams: list[Sightings]
) -> Finding:
    """The root, and with it the ranks that tell of the `same`."""
    hit = incident.first
    rank, note = culprit(incident, streams, same, episode.pending)
    message = rule(hit.kind).title
    if hit.note and not hit.note.startswith("undetermined"):
        message += f", at {hit.note}"
    ranks = {rank for i in [incident, *same] for rank in i.ranks}
    if len(ranks) > 1:
        message += f", on {len(ranks)} ranks ({listed(ranks)})"
    if hit.kind == "false_success" and episode.false_success:
        message += (
            f": line {episode.false_success.line} claims success after line {hit.line} failed"
        )
    evidence = list(incident.evidence)
    if frame := hit.told.get("frame"):
        evidence.insert(1, frame)
    if episode.false_success:
        evidence.append(episode.false_success.text)
    return cited(
        incident,
        message,
        rule(hit.kind).severity,
        Role.ROOT,
        State.TERMINAL,
        tuple(evidence),
        rank,
        note,
        hit.sure,
    )


def _teardown(episode: Episode, streams: list[Sightings]) -> list[Finding]:
    late = [i for i in episode.teardown if i.first.role not in ("follow-on", "ending", "thread")]
    if not late:
        return []
    first = late[0]
    message = f"{rule('finished_teardown_error').title} ({rule(first.first.kind).title.lower()})"
    return [
        cited(
            first,
            message,
            Severity.MEDIUM,
            Role.SYMPTOM,
            State.PROGRESSED,
            tuple(first.evidence),
            *culprit(first, streams),
            "high",
            kind="finished_teardown_error",
        )
    ]


def _grouped(
    incidents: list[Incident], state: State, episode: Episode, streams: list[Sightings]
) -> list[Finding]:
    by_kind: dict[str, list[Incident]] = {}
    for incident in incidents:
        if incident.first.kind and incident.first.role != "wrapper":
            by_kind.setdefault(incident.first.kind, []).append(incident)
    dropped = sum(s.incidents.dropped for s in streams)
    return [
        _group(kind, many, state, episode, dropped, culprit(many[0], streams))
        for kind, many in by_kind.items()
    ]


def _group(
    kind: str, many: list[Incident], state: State, episode: Episode, dropped: int,
    whose: tuple[int | None, str],
) -> Finding:  # fmt: skip
    first = many[0]
    times = sum(i.count for i in many)
    ranks = {rank for i in many for rank in i.ranks}
    message = rule(kind).title + (f", {times} lines" if times > 1 else "")
    message += f" of {len(ranks)} ranks ({listed(ranks)})" if len(ranks) > 1 else ""
    message += (
        f" ({dropped} more such incidents are only counted)"
        if dropped and state is State.RECOVERED
        else ""
    )
    if state is State.RECOVERED:
        message += "; the run went on"
    severity = (
        Severity.LOW if kind in _RESTLESS or state is not State.RECOVERED else Severity.MEDIUM
    )
    if state is not State.RECOVERED and first.first.role in ("root", "generic", "observed"):
        severity = Severity.MEDIUM
    role = Role.SYMPTOM
    if state is State.TERMINAL and episode.root:
        role = Role.FOLLOW_ON
        if kind == episode.root.first.kind:
            role = Role.CONFIRMATION
    evidence = tuple(dict.fromkeys(text for i in many for text in i.evidence))[:4]
    return cited(first, message, severity, role, state, evidence, *whose, "high")


def cited(
    incident: Incident,
    message: str,
    severity: Severity,
    role: Role,
    state: State,
    evidence: tuple[str, ...],
    rank: int | None,
    note: str,
    sure: str,
    kind: str = "",
) -> Finding:
    """The finding that an incident is, cited by its first line; `kind` where it is not its own."""
    hit = incident.first
    time = None
    if hit.time is not None:
        time = datetime.fromtimestamp(hit.time / 1e6, UTC).isoformat()
    kind = kind or hit.kind
    return Finding(
        kind=kind, severity=severity, stream=hit.stream, line=hit.line, message=message, role=role,
        state=state, last_line=max(hit.line, incident.last_line), step=hit.step, rank=rank,
        rank_note=note, time=time, evidence=evidence, advice=rule(kind).advice, confidence=sure,
    )  # fmt: skip
