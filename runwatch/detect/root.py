"""Chooses the incident that ended a run.

The root is the earliest line that begins a failure by itself; where no such line exists, a
complaint about a peer, a death without proof of its cause, a launcher's report, in this order.
What an ending from outside (time limit, preemption, cancelling) brings about is its echo; a fault
before it is not.
"""

from dataclasses import replace

from runwatch.detect.episode import CRASHES, Episode, Key, key
from runwatch.detect.hit import Hit, Incident
from runwatch.detect.progress import ENOUGH

_TIER = {
    "root": 0,
    "generic": 1,
    "echo": 2,
    "unconfirmed": 3,
    "launcher": 4,
    "thread": 5,
    "wrapper": 6,
}
_HARD = ("slurm_time_limit", "slurm_preemption", "node_failure", "k8s_evicted")
# Incidents that say that something died and nothing of why.
_UNSAID = ("process_crash", "python_exception")
_DEATHS = ("sigkill_unknown", "segfault", "bus_error_shm", "host_oom")
_UNWRITTEN = ("disk_full", "stale_nfs", "permission", "checkpoint_failure")
_UNTOLD = 200  # advances between a checkpoint and the next one, which waits for it
_BOX = 12  # lines of a launcher's box
_BARE = ("spawn-process", "elastic-table", "elastic-failed", "traceback-cut")


def _weight(incident: Incident) -> tuple[int, Key]:
    hit = incident.first
    tier = 1 if hit.role == "launcher" and hit.kind in CRASHES else _TIER.get(hit.role, 9)
    return (6 if incident.chained else tier), key(hit)


def choose_root(episode: Episode) -> None:
    """Set the root, and the ending from outside if there was one."""
    endings = [i for i in episode.pending if i.first.role == "ending"]
    hard = [i for i in endings if i.first.kind in _HARD]
    episode.ending = next(iter(hard or endings), None)
    faults = [i for i in episode.pending if i.first.role in _TIER]
    if endings:
        faults = [i for i in faults if key(i.first) < key(endings[0].first)]
    best = min(faults, key=_weight, default=None)
    if best and episode.ending and hard and _weight(best)[0] >= _TIER["echo"]:
        best = None
    if best and (best.first.role, best.first.kind) == ("echo", "nccl_system_error"):
        # A peer that is told to have died before the others lost it is what they lost.
        dead = [i for i in faults if i.first.kind in _DEATHS and key(i.first) < key(best.first)]
        best = min(dead, key=lambda i: key(i.first), default=best)
    if best:
        # The same fault may have been complained of before it said its name.
        same = [
            i for i in faults if i.first.kind == best.first.kind and _weight(i)[0] <= _TIER["echo"]
        ]
        best = min([best, *same], key=lambda i: key(i.first))
        best = _in_background(best, episode)
    chosen = best or episode.ending
    if chosen is None:
        return
    # What others know of the root is written into a copy: more lines may choose another.
    episode.root = replace(chosen, first=replace(chosen.first))
    episode.pending = [i for i in episode.pending if i is not chosen]
    episode.recovered = [i for i in episode.recovered if i is not chosen]
    if best:
        _explain(episode.root, episode)


def _in_background(best: Incident, episode: Episode) -> Incident:
    """What became of a checkpoint that a thread was writing is told when the next one is due."""
    if best.first.kind != "checkpoint_failure":
        return best
    threads = [
        i
        for i in (*episode.pending, *episode.recovered)
        if i.first.role == "thread" and i.first.kind in _UNWRITTEN
        and i.first.stream == best.first.stream and 0 <= best.first.at - i.last_at <= _UNTOLD
        and key(i.first) < key(best.first)
    ]  # fmt: skip
    return max(threads, key=lambda i: key(i.first), default=best)


def _explain(root: Incident, episode: Episode) -> None:
    """Fill in what other lines know of the root."""
    hit = root.first
    names = {i.first.signature for i in episode.pending}
    if hit.signature == "shell-killed" and "exit-137" in names:
        hit.kind, hit.sure = "host_oom", "low"
    if hit.kind in _UNSAID and hit.role == "launcher":
        _signalled(hit, episode)
    unexplained = (
        hit.kind in _UNSAID
        and hit.role in ("generic", "launcher", "wrapper")
        and hit.signature in _BARE
    )
    handled = [
        i
        for i in episode.recovered
        if i.overcome and i.first.role == "root" and hit.at - i.last_at < ENOUGH
    ]
    if unexplained and handled:
        hit.kind, hit.sure = handled[-1].first.kind, "low"
    if hit.rank is None and hit.told.get("pid"):
        same = [
            i
            for i in episode.pending
            if i.first.told.get("pid") == hit.told["pid"] and i.first.rank is not None
        ]
        hit.rank = same[0].first.rank if same else None


def _signalled(hit: Hit, episode: Episode) -> None:
    """A launcher's box tells the signal some lines below its heading."""
    near = [
        i.first.kind
        for i in episode.pending
        if i.first.told.get("signo") and i.first.stream == hit.stream
        and 0 < i.first.line - hit.line <= _BOX
    ]  # fmt: skip
    hit.kind = near[0] if near else hit.kind
