"""Runs that are started again and again, and fail each time where they failed before."""

from dataclasses import replace
from itertools import pairwise

from runwatch.detect.culprit import culprit
from runwatch.detect.episode import Episode, key
from runwatch.detect.hit import Hit, Incident
from runwatch.detect.progress import ENOUGH, step_of
from runwatch.detect.report import cited
from runwatch.detect.sighting import Sightings
from runwatch.finding import Finding, Role, State
from runwatch.judgement import rule

TRIES = 3  # that failed alike and came no further than the first of them
_TIER = ("root", "generic", "echo", "unconfirmed", "launcher")
# What programs complain of and survive, at the end of each epoch for instance: of these only an
# exception with its traceback ended an attempt.
_SURVIVED = (
    "network", "tracker_kills_training", "python_exception", "data_error", "permission",
    "config_error", "checkpoint_failure", "nan_loss",
)  # fmt: skip


def looping(episode: Episode, streams: list[Sightings]) -> list[Finding]:
    """The crash loop that a run is in, told of its clearest fault; [] where it is in none."""
    found: list[tuple[list[Incident], int]] = [
        loop
        for stream in streams
        for kept in stream.incidents.kept.values()
        if _is_fatal(kept[0].first) and (loop := _loop(kept, stream)) is not None
    ]
    if (across := _across(streams)) is not None:
        found.append(across)
    if not found:
        return []
    incidents, tries = min(found, key=lambda loop: _order(loop[0][0].first))
    return [_told(incidents, tries, episode, streams)]


def _is_fatal(hit: Hit) -> bool:
    if hit.role not in _TIER:
        return False
    survived = hit.role in ("root", "generic") and hit.kind in _SURVIVED
    return not survived or hit.told.get("framed") == "yes"


def _order(hit: Hit) -> tuple[int, tuple[int, str, int]]:
    return _TIER.index(hit.role), key(hit)


def _loop(kept: list[Incident], stream: Sightings) -> tuple[list[Incident], int] | None:
    """The incidents of one fault that ended attempt after attempt at the same furthest place, the
    latest of which the run has not gone beyond; and how many attempts they ended."""
    far = kept[-1].last_far
    if stream.progress.far > far:
        return None
    same: list[Incident] = []
    attempts: set[int] = set()
    for incident in reversed(kept):
        if incident.last_far != far or not _ended(incident, stream):
            break
        same.insert(0, incident)
        alone = incident.first.far != far  # what came before it was no failure at this place
        attempts |= {*(incident.attempts[-1:] if alone else incident.attempts)}
    if len(attempts) < TRIES or (far < 0 and same[0].first.at != same[-1].last_at):
        return None
    return same, len(attempts)


def _across(streams: list[Sightings]) -> tuple[list[Incident], int] | None:
    """The same of attempts that wrote a log each: each begins when the one before has ended."""
    tried = sorted((s for s in streams if s.began), key=lambda s: s.began)
    if any(later.began < one.clock for one, later in pairwise(tried)):
        return None
    same: list[Incident] = []
    far = -1
    for stream in tried:
        if (further := stream.progress.far) > far:
            same, far = [], further
        failed = [
            kept[-1] for kept in stream.incidents.kept.values()
            if _is_fatal(kept[-1].first) and stream.progress.advances - kept[-1].last_at < ENOUGH
        ]  # fmt: skip
        if failed:
            last = min(failed, key=lambda incident: _order(incident.first))
            alike = not same or same[-1].first.signature == last.first.signature
            same = [*same, last] if alike else [last]
    over = any(s.progress.far > far for s in streams)  # in a log that tells no time of its own
    return (same, len(same)) if len(same) >= TRIES and not over else None


def _ended(incident: Incident, stream: Sightings) -> bool:
    """Whether an attempt ended with it: none of its own steps came behind it."""
    course, restarts = stream.progress, stream.restarts
    ends = [at for segment, at in course.turns if segment > incident.first.segment]
    behind = [at - incident.last_at for at in (*ends, *restarts, course.advances)]
    if incident.overcome and not any(
        at in restarts for at in range(incident.last_at, incident.last_at + ENOUGH)
    ):
        return False  # the program itself coped with it
    return min(since for since in behind if since >= -1) < ENOUGH


def _told(
    incidents: list[Incident], tries: int, episode: Episode, streams: list[Sightings]
) -> Finding:
    first, last, over = incidents[0], incidents[-1], episode.root is not None
    step = step_of(last.last_far)
    where = "before its first step" if step is None else f"and came no further than step {step}"
    told = cited(
        first,
        f"{tries} attempts failed alike ({rule(first.first.kind).title.lower()}) {where}",
        rule("crash_loop").severity,
        Role.SYMPTOM if over else Role.ROOT,
        State.TERMINAL if over else State.OPEN,
        tuple(dict.fromkeys(i.first.text for i in incidents))[:4],
        *culprit(first, streams),
        "high",
        kind="crash_loop",
    )
    same = last.first.stream == first.first.stream
    return replace(told, last_line=(last if same else first).last_line)
