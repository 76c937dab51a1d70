"""The rank that a fault is of, or why the log cannot tell it.

A line that names a rank, or a writer that has one, is believed. A log of one process is rank 0's.
What a scheduler, a kernel or a launcher says befell a job or a node, not a rank; a worker process
that died belongs to a rank which its line does not tell.
"""

from collections.abc import Sequence

from runwatch.detect.collective import Waiting, suspect
from runwatch.detect.hit import Hit, Incident
from runwatch.detect.sighting import Sightings

_SHOWN = 8


def culprit(
    incident: Incident, streams: list[Sightings], same: Sequence[Incident] = (),
    others: Sequence[Incident] = (),
) -> tuple[int | None, str]:  # fmt: skip
    """Who failed first: the rank and "", or None and "undetermined: why".

    `same` are incidents of the same fault; those of other streams came at the same time where
    no clock says otherwise. `others`, these among them, may name the rank where the first line does
    not.
    """
    hit = incident.first
    if hit.kind == "nccl_timeout":
        if late := _late([incident, *same, *others]):
            return late
        return suspect(_merged(streams), next((s.world for s in streams if s.world), None))
    if hit.note.startswith("undetermined"):
        return None, hit.note
    if hit.rank is not None:
        equals = [i.first for i in same if i.first.stream != hit.stream]
        tied = {h.rank for h in equals if h.clock == hit.clock and h.rank is not None}
        if tied - {hit.rank}:
            return (
                None,
                f"undetermined: no clock says which of ranks {listed(tied | {hit.rank})} was first",
            )
        return hit.rank, ""
    if (task := _task(hit, streams)) is not None:
        return task, ""
    if (rank := _sole(hit, others, streams)) is not None:
        return rank, ""
    if why := _nobodys(hit):
        return None, f"undetermined: {why}"
    alone = len(streams) == 1 and (streams[0].world == 1 or not streams[0].several)
    if alone and hit.told.get("device", "0") in ("", "0"):
        return 0, ""
    if "device" in hit.told:
        return None, f"undetermined: the line names device {hit.told['device']}, not the rank"
    return None, "undetermined: the line names no rank"


def _late(incidents: Sequence[Incident]) -> tuple[int | None, str] | None:
    """The ranks that lines name as those that the others wait for, None where none does."""
    named = {r for i in incidents if i.first.told.get("whose") == "late" for r in i.ranks}
    if not named:
        return None
    if len(named) == 1:
        return named.pop(), ""
    return None, f"undetermined: the others wait for ranks {listed(named)}"


def _task(hit: Hit, streams: list[Sightings]) -> int | None:
    """The rank that a scheduler's task is; below an agent of its own on every node it is a node."""
    task = hit.told.get("task", "")
    one = task.isascii() and task.isdigit() and not any(s.tables.entries for s in streams)
    return int(task) if one else None


def _sole(hit: Hit, others: Sequence[Incident], streams: list[Sightings]) -> int | None:
    """The one rank of which other lines tell the same fault, or its end."""
    if hit.told.get("whose") == "job" or hit.role == "ending":
        return None
    named: set[int | None] = set()
    for one in others:
        if one.first.kind == hit.kind or one.first.role == "launcher":
            named |= {*one.ranks, one.first.rank, _task(one.first, streams)}
    named.discard(None)
    return named.pop() if len(named) == 1 else None


def _nobodys(hit: Hit) -> str:
    """Why a fault is not of a rank that could be told, "" where it may be."""
    if hit.told.get("whose") == "job" or (hit.role == "ending" and hit.kind != "interrupted"):
        return "it befell the whole job, not one rank"
    if hit.told.get("whose") == "node":
        return "the line names a device of the node, not the rank"
    if "worker" in hit.told and hit.told.get("framed") != "yes":
        return "a worker process died, and the line does not say whose"
    return ""


def _merged(streams: list[Sightings]) -> Waiting:
    all_of = Waiting()
    for stream in streams:
        for rank in stream.waiting.spoke:
            all_of.spoke.append(rank)
        all_of.at.update(stream.waiting.at)
        all_of.completed.update(stream.waiting.completed)
    return all_of


def listed(ranks: set[int]) -> str:
    """Ranks as people write them: `0-3, 5, 8-15`, the first few runs of them."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    said = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:_SHOWN]]
    return ", ".join(said) + (" and more" if len(runs) > _SHOWN else "")
