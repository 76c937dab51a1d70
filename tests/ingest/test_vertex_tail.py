"""What a service tells as it arrives, taken while more of it comes."""

import sys
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from runwatch.ingest.vertex_tail import Tail

COUNT, AT_ONCE = 4_000, 8


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("kept", [3, 50, 1_000_000])
def test_what_is_taken_is_all_or_said_to_be_less(kept: int) -> None:
    """Law: taken in the order of arrival, nothing twice; what is missing was told of."""
    logs = pytest.importorskip("google.cloud.logging_v2.types.logging")
    entry = pytest.importorskip("google.cloud.logging_v2.types.log_entry").LogEntry

    def answers(_: Event) -> Any:
        for first in range(0, COUNT, AT_ONCE):
            entries = [entry(insert_id=str(n)) for n in range(first, first + AT_ONCE)]
            yield logs.TailLogEntriesResponse(entries=entries)

    tail, taken, missed = Tail(answers, "all", kept=kept), list[int](), False
    over = False
    while not over:
        over = tail.ended  # what is taken after that is the last
        some, less = tail.take()
        assert len(some) <= kept
        taken += [int(one.insert_id) for one in some]
        missed |= less
    assert sorted(set(taken)) == taken
    assert missed == (len(taken) < COUNT)
