"""What a process is that is gone without a word."""

import pytest

from runwatch.crash import is_sure
from runwatch.ingest.process import Process
from runwatch.summary import Steps

GONE = Process(7, "python", state="gone")


@pytest.mark.parametrize(
    ("steps", "stride", "crashed"),
    [
        (Steps(0, 900, 1000), 50, True),
        (Steps(0, 950, 1000), 50, False),
        (Steps(50, 950, 999), 50, False),
        (Steps(0, 950, 1000), 0, False),
        (Steps(0, 400, 1000), 0, True),
        (Steps(400, 400, 1000), 0, True),
        (Steps(0, 400, None), 50, False),
        (Steps(None, None, 1000), 0, True),
    ],
)
def test_only_one_that_was_to_report_again_has_crashed(
    steps: Steps, stride: int, crashed: bool
) -> None:
    """A watch that has just gone on does not know how far apart the reports are."""
    assert crashed == is_sure(GONE, steps, stride)
