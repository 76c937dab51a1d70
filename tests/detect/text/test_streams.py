"""Runs of many streams: the ranks and nodes of one run tell one story."""

from runwatch.chunk import Stream
from runwatch.detect.faults import Detector
from runwatch.judgement import Verdict, fold
from tests.detect.text.feeder import batches
from tests.detect.text.stories import TABLE, TRACEBACK, WATCHDOG, steps


def verdict(logs: dict[str, str], ranks: bool = True) -> Verdict:
    detector = Detector()
    for number, (name, log) in enumerate(logs.items()):
        for batch in batches(log, [], Stream(name, number if ranks else None)):
            detector.feed(batch)
    return fold(detector.findings(), detector.ending())


def test_the_rank_that_ran_out_of_memory_is_the_root() -> None:
    """Ranks that time out waiting for a dead one are its echo, whatever their file is called."""
    oom = TRACEBACK + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    logs = {f"rank_{r}.log": steps(1, 5) + WATCHDOG.format(r=r, n=7) for r in range(3)}
    root = verdict({**logs, "rank_3.log": steps(1, 5) + oom}).root_cause
    assert root
    assert (root.kind, root.stream, root.line, root.rank) == ("cuda_oom", "rank_3.log", 10, 3)


def test_the_node_that_failed_first_is_the_root() -> None:
    """Tables of several nodes are merged by the time of the failure, not by the file's name."""
    late = TABLE.replace("10:00:01", "10:00:29").replace("gpu-a", "gpu-0")
    logs = {"node_0.log": late, "node_1.log": TABLE}
    root = verdict(logs, ranks=False).root_cause
    assert root
    assert (root.kind, root.stream, root.rank) == ("sigkill_unknown", "node_1.log", 3)


def test_the_silent_rank_is_found_over_all_streams() -> None:
    """The rank that alone said nothing is the one the others waited for."""
    logs = {
        f"rank_{r}.log": "world_size: 4\n"
        + steps(1, 5)
        + (WATCHDOG.format(r=r, n=7) if r != 2 else "")
        for r in range(4)
    }
    root = verdict(logs).root_cause
    assert root
    assert (root.kind, root.rank) == ("nccl_timeout", 2)


def test_the_order_of_streams_does_not_matter() -> None:
    """Files read in another order tell the same story."""
    logs = {"a.log": steps(1, 5) + WATCHDOG.format(r=0, n=7), "b.log": steps(1, 5) + TABLE}
    swapped = dict(reversed(logs.items()))
    assert verdict(logs, ranks=False) == verdict(swapped, ranks=False)


FAILED = TRACEBACK + "ValueError: bad shape\n"


def test_ranks_that_fail_alike_are_one_finding_that_lists_them() -> None:
    """Where no clock tells who was first, none is named, and the note says why."""
    logs = {f"rank_{r}.log": steps(1, 5) + FAILED for r in range(4)}
    root = verdict(logs).root_cause
    assert root
    assert "on 4 ranks (0-3)" in root.message
    assert (root.rank, root.rank_note) == (
        None,
        "undetermined: no clock says which of ranks 0-3 was first",
    )


def test_a_clock_tells_who_failed_first() -> None:
    """The rank whose stream shows the earliest time is named."""
    logs = {
        f"rank_{r}.log": steps(1, 5) + f"2024-05-01 10:00:{40 - r} ERROR bad\n" + FAILED
        for r in range(4)
    }
    root = verdict(logs).root_cause
    assert root
    assert (root.stream, root.rank) == ("rank_3.log", 3)


def test_what_ranks_share_is_told_once() -> None:
    """The same exception of four ranks is one finding, and the user's own frame is cited."""
    detector = Detector()
    for rank in range(4):
        for batch in batches(steps(1, 5) + FAILED, [], Stream(f"rank_{rank}.log", rank)):
            detector.feed(batch)
    (found,) = detector.findings()
    assert ("ValueError: bad shape", 'File "/home/me/train.py", line 88, in main') == found.evidence
