"""Lines with stamps of every kind are learned, and read by compiled code from then on."""

from datetime import datetime, timedelta

import pytest

from tests.parse.reading import said
from tests.parse.test_replay import read_by_code, told

PREFIXES = (
    "%Y-%m-%d %H:%M:%S,%f -",
    "%Y-%m-%dT%H:%M:%S.%f123Z",
    "[%Y-%m-%d %H:%M:%S.%f]",
    "[%Y-%m-%d:%H:%M:%S:INFO:train.loop:fit]",
    "%Y-%m-%d %H:%M:%S.%f: I runtime/core.cc:33]",
    "I%m%d %H:%M:%S.%f 140213 train.py:45]",
    "[I%m%d %H:%M:%S.%f123 Config.h:28]",
    "I%Y%m%d %H:%M:%S 4412 dinov2 helpers.py:103]",
    "%b %d %H:%M:%S node7 trainer[412]:",
    "%m/%d %H:%M:%S - engine - INFO -",
    "[%m/%d %H:%M:%S d2.utils.events]:",
    "%m/%d/%Y %H:%M:%S - INFO - __main__ -",
    "[%m/%d/%Y %I:%M:%S %p]",
    "%y/%m/%d %H:%M:%S INFO",
    "[%a %b %d %H:%M:%S %Y] -",
    "%s.%f",
    "[%s]",
    '{"time": %s.%f}',
    '{"timestamp": %s}',
    '{"ts": "%Y-%m-%dT%H:%M:%S.%fZ"}',
    ":::MLL %s.123 train_loss:",
)


def log(written: str, message: str) -> bytes:
    """300 lines, some hours and a turn of the year apart."""
    lines, moment = [], datetime(2024, 12, 28, 22, 17, 54, 732958)
    for step in range(1, 301):
        moment += timedelta(seconds=1207, microseconds=2741)
        seconds = (moment - datetime(1970, 1, 1)) // timedelta(seconds=1)
        prefix = moment.strftime(written.replace("%s", str(seconds)))
        said = message.format(step=step, loss=f"{9 / step:.4f}", lr=f"{1e-3 / step:.8f}")
        if written.startswith("{"):
            said = f'"step": {step}, "loss": {9 / step:.4f}'
            lines.append(f"{prefix[:-1]}, {said}}}")
        elif written.startswith(":::"):
            lines.append(
                f'{prefix} {{"value": {9 / step:.4f}, "metadata": {{"epoch_num": {step}}}}}'
            )
        else:
            lines.append(f"{prefix} {said}")
    return "\n".join([*lines, ""]).encode()


@pytest.mark.parametrize("message", ["step {step} loss {loss} lr {lr}", "a checkpoint was written"])
@pytest.mark.parametrize("written", PREFIXES)
def test_a_line_with_a_stamp_is_replayed(written: str, message: str) -> None:
    """Whatever it looks like; each point comes out with its moment, as it was read."""
    data = log(written, message)
    points, read = read_by_code(data)
    assert points >= 300 or "{step}" not in message
    assert len(read) < 60
    assert told(data, replay=False) == told(data, replay=True)


@pytest.mark.parametrize("seconds", ["1e10", "1e25", "1e300", "9" * 400])
def test_seconds_beyond_all_dates_are_no_time(seconds: str) -> None:
    """And end nothing: the line is read without."""
    data = b'{"step": 1, "loss": 2.5, "time": %s}\n' % seconds.encode()
    assert [(metric, value) for _, metric, value in said(data)] == [("loss", 2.5)]
    assert told(data, replay=False) == told(data, replay=True)
