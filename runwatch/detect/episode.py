"""What became of every incident of a run, and the order in which they came."""

from dataclasses import field

from runwatch.detect.hit import Hit, Incident
from runwatch.slotted import mutable

CRASHES = ("segfault", "bus_error_shm")  # a launcher that reports these reports a cause

Key = tuple[int, str, int]


@mutable
class Episode:
    """`root` is what ended the run, None where nothing did; `ending` what ended it from outside.

    `finish` are the words (or the last step) that close it; unless `sure_finish`, anyone may have
    said them. `teardown` came after a sure finish; `false_success` are words of success after the
    root.
    """

    root: Incident | None = None
    ending: Incident | None = None
    finish: Hit | None = None
    sure_finish: bool = False
    pending: list[Incident] = field(default_factory=list)
    recovered: list[Incident] = field(default_factory=list)
    teardown: list[Incident] = field(default_factory=list)
    false_success: Hit | None = None


def key(hit: Hit) -> Key:
    """The order of hits over all streams: by clock where there is one, by line within a stream."""
    return hit.clock, hit.stream, hit.line
