"""Turns the episode into findings: one for the root, one a kind for echoes and recovered faults."""

from datetime import UTC, datetime

from runwatch.detect.collective import Waiting, suspect
from runwatch.detect.episode import Episode
from runwatch.detect.hit import Incident
from runwatch.detect.sighting import Sightings
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import rule

_KEPT = 24
_RESTLESS = ("network", "python_exception", "tracker_kills_training")  # said often, mean little


def reported(episode: Episode, streams: list[Sightings]) -> list[Finding]:
    """All findings, the root first."""
    found: list[Finding] = []
    if episode.root:
        found.append(_root(episode.root, episode, streams))
    found += _teardown(episode)
    found += _grouped(
        episode.pending,
        State.TERMINAL if episode.root else State.OPEN,
        episode,
        streams,
    )
    found += _grouped(episode.recovered, State.RECOVERED, episode, streams)
    return found[:_KEPT]


def _root(incident: Incident, episode: Episode, streams: list[Sightings]) -> Finding:
    hit = incident.first
    rank, note = _rank(incident, streams)
    message = rule(hit.kind).title
    if hit.note and not hit.note.startswith("undetermined"):
        message += f", at {hit.note}"
    if len(incident.ranks) > 1:
        message += f", on {len(incident.ranks)} ranks"
    if hit.kind == "false_success" and episode.false_success:
        message += (
            f": line {episode.false_success.line} claims success after line {hit.line} failed"
        )
    evidence = list(incident.evidence)
    if episode.false_success:
        evidence.append(episode.false_success.text)
    return _finding(
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


def _rank(incident: Incident, streams: list[Sightings]) -> tuple[int | None, str]:
    """Who failed first, None and why not where the log cannot tell."""
    hit = incident.first
    if hit.kind == "nccl_timeout":
        return suspect(_merged(streams), next((s.world for s in streams if s.world), None))
    if hit.note.startswith("undetermined"):
        return None, hit.note
    if hit.rank is not None:
        return hit.rank, ""
    if len(streams) == 1 and not streams[0].several and hit.told.get("device", "0") in ("", "0"):
        return 0, ""
    if "device" in hit.told:
        return None, f"undetermined: the line names device {hit.told['device']}, not the rank"
    return None, "undetermined: the line names no rank"


def _merged(streams: list[Sightings]) -> Waiting:
    all_of = Waiting()
    for stream in streams:
        for rank in stream.waiting.spoke:
            all_of.spoke.append(rank)
        all_of.at.update(stream.waiting.at)
        all_of.completed.update(stream.waiting.completed)
    return all_of


def _teardown(episode: Episode) -> list[Finding]:
    late = [i for i in episode.teardown if i.first.role not in ("follow-on", "ending", "thread")]
    if not late:
        return []
    first = late[0]
    message = f"{rule('finished_teardown_error').title} ({rule(first.first.kind).title.lower()})"
    return [
        _finding(
            first,
            message,
            Severity.MEDIUM,
            Role.SYMPTOM,
            State.PROGRESSED,
            tuple(first.evidence),
            first.first.rank,
            "",
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
    return [_group(kind, many, state, episode, dropped) for kind, many in by_kind.items()]


def _group(
    kind: str, many: list[Incident], state: State, episode: Episode, dropped: int
) -> Finding:
    first = many[0]
    times = sum(i.count for i in many)
    ranks = {rank for i in many for rank in i.ranks}
    message = rule(kind).title + (f", {times} lines" if times > 1 else "")
    message += f" of {len(ranks)} ranks" if len(ranks) > 1 else ""
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
    if state is not State.RECOVERED and first.first.role in ("root", "generic"):
        severity = Severity.MEDIUM
    role = Role.SYMPTOM
    if state is State.TERMINAL and episode.root:
        role = Role.FOLLOW_ON
        if kind == episode.root.first.kind:
            role = Role.CONFIRMATION
    evidence = tuple(dict.fromkeys(text for i in many for text in i.evidence))[:4]
    return _finding(first, message, severity, role, state, evidence, first.first.rank, "", "high")


def _finding(
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
