"""What a watched run tells as it happens, in plain values for whoever shows it."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from runwatch.cloud import CloudJob
from runwatch.errors import RunwatchError
from runwatch.finding import Finding
from runwatch.ingest.process import Process
from runwatch.remedy import Action, Remedy
from runwatch.slotted import frozen
from runwatch.vitals import Gpu


@frozen
class Began:
    """The baseline of a target: whether its process was found and its log can be read."""

    target: str
    at: datetime
    run: str
    streams: int
    process: Process | None = None
    process_note: str = ""
    form: str = ""
    evidence: str = ""
    resumed: str = ""


@frozen
class Progressed:
    """A report. `metrics` by quantity are (name, value); `rate` is a throughput in words.

    `next_in` are the seconds until the next report; `before` what they were, `reasons` why the
    pace starts over. `ranks` are (name, rank, step, seconds of silence) of the streams.
    """

    target: str
    at: datetime
    state: str
    step: int | None = None
    total: int | None = None
    metrics: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    rate: str = ""
    eta: float | None = None
    gpu: Gpu | None = None
    next_in: float = 0.0
    before: float = 0.0
    reasons: tuple[str, ...] = ()
    full: bool = False
    first: bool = False
    losses: tuple[float, ...] = ()
    ranks: tuple[tuple[str, int | None, int | None, float], ...] = ()
    standing: tuple[Finding, ...] = ()
    lines: int = 0
    checkpoint: str = ""
    cloud: CloudJob | None = None


@frozen
class Found:
    """A finding is new, changed (severity, state or role), or withdrawn. `reset` is the pace of
    reports in seconds where it started over for it."""

    target: str
    at: datetime
    finding: Finding
    change: str = "new"
    checkpoint: str = ""
    reset: float = 0.0


@frozen
class Turned:
    """The state of a run, its process or its source is another."""

    target: str
    at: datetime
    state: str
    before: str
    why: str = ""


@frozen
class Acting:
    """What is about to be done, said before it is done; or proposed, where a person has to."""

    target: str
    at: datetime
    remedy: Remedy


@frozen
class Acted:
    """What came of it."""

    target: str
    at: datetime
    action: Action


@frozen
class Noted:
    """A word about the source: a rotation, a fallback, a lost connection."""

    target: str
    at: datetime
    text: str


@frozen
class Failed:
    """The target cannot be read, or not any more."""

    target: str
    at: datetime
    error: RunwatchError


@frozen
class Ended:
    """The final word: the summary as `scan --json` has it, and the artifact."""

    target: str
    at: datetime
    summary: Mapping[str, Any]
    artifact: Mapping[str, Any]
    why: str = ""
    unreachable: bool = False


Event = Began | Progressed | Found | Turned | Acting | Acted | Noted | Failed | Ended
