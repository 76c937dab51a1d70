"""Jobs and pipelines of Vertex AI: their states and tasks, and what they write to Cloud Logging."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runwatch.errors import InputError, UnreachableError
from runwatch.ingest import service
from runwatch.ingest.service import Page, Seen, Tracked
from runwatch.ingest.source import Skipped
from runwatch.ingest.vertex_api import Api, DeniedError, QuotaError
from runwatch.ingest.vertex_job import Described, described_job, described_pipeline
from runwatch.ingest.vertex_log import Journal, lines_of, stamp
from runwatch.ingest.vertex_tail import Tail
from runwatch.judgement import Ending
from runwatch.slotted import frozen
from runwatch.target import Kind, Target, vertex_page

STATES = "vertex"
"""The stream that tells of states, and its kind."""

_EVENTS = "pipeline_job_task_events"
_SEVERITIES = {500: "ERROR", 600: "CRITICAL", 700: "ALERT", 800: "EMERGENCY"}
_TOLD = 20  # states of one job or task that are known as told
_JOBS = 500  # custom jobs that a filter has room for: the latest of a pipeline with more
_LONGEST = 300.0  # seconds between questions for a log that was asked for too often


@frozen
class Pace:
    """Seconds: between two looks at the job, between two questions for its log, the same while the
    service tells of itself what arrives, and how long after its end that log is waited for."""

    look: float = 5.0
    log: float = 10.0
    tailed: float = 60.0
    late: float = 10.0


class Service(service.Service):
    """See `service.Service`. The target's path is the full name of the job; what stands last in it
    may be the name that people gave."""

    first = STATES

    def __init__(
        self, target: Target, *, pace: Pace | None = None,
        steady: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._is_pipeline = target.kind is Kind.VERTEX_PIPELINE
        self._what = "pipeline" if self._is_pipeline else "custom job"
        self._path = target.path
        _, self._project, _, self._region, _, self._id = target.path.split("/", 5)
        self.title = f"Vertex AI {self._what} {self._id}"
        self._api = Api(self._project, self._region, target.service, target.log_service)
        self._pace, self._steady, self._wall = pace or Pace(), steady, wall
        self._journal: Journal | None = None
        self._told: dict[str, list[str]] = {}  # states that were told of each
        self._job: Described | None = None
        self._looked = self._listed = self._over = -float("inf")
        self._tail: Tail | None = None
        self._opened = -float("inf")
        self._complete = False  # whether everything was asked for once
        self._owed = False  # whether the service has left something out since
        self._tailed = True  # whether the service does that
        self.notes: list[str] = []
        self.skipped: list[Skipped] = []
        self._pause = 0.0  # seconds that the log is left alone, as it was asked for too often
        self._exact = False  # the name is one that the service gave

    def look(self) -> Tracked:
        """The job and its tasks."""
        now = self._steady()
        if self._job is None or now - self._looked >= self._pace.look:
            self._job, self._looked = self._described(), now
        job = self._job
        if job.cloud.over and self._over < 0:
            self._over = now
        name = job.cloud.name
        page = vertex_page(self._path)
        return Tracked(self.title, job.cloud.state, self._ending(job), name, page, job.cloud)

    def _ending(self, job: Described) -> Ending | None:
        """How it ended, once what it wrote last has had the time to arrive."""
        state, ended = job.ending, job.cloud.ended
        settled = self._steady() - self._over >= self._pace.late
        if ended is not None:
            settled |= self._wall() - ended >= 2 * self._pace.late
        if state is None or not settled:
            return None
        why = f": {job.error.splitlines()[0]}" if job.error else ""
        return Ending(state, f"Vertex AI says {job.cloud.state}{why}", settled=True)

    def _described(self) -> Described:
        get = self._api.pipeline if self._is_pipeline else self._api.custom_job
        try:
            job = get(self._path)
        except InputError:
            if self._exact:
                raise
            job = self._named()
        self._path, self._id, self._exact = job.name, job.name.rsplit("/", 1)[-1], True
        self.title = f"Vertex AI {self._what} {self._id}"
        return described_pipeline(job) if self._is_pipeline else described_job(job)

    def _named(self) -> Any:
        """The latest job that people gave this name."""
        parent = f"projects/{self._project}/locations/{self._region}"
        said = self._id.replace("\\", "\\\\").replace('"', '\\"')
        latest = self._api.latest_pipeline if self._is_pipeline else self._api.latest_custom_job
        found = latest(parent, f'display_name="{said}"')
        if found is None:
            raise InputError(
                f"Vertex AI knows no {self._what} {self._id} in {self._project}, {self._region}",
                hint="are --project and --region those of the job?",
            )
        return found

    # Its lines

    def pages(self, seen: Mapping[str, Seen]) -> Iterator[Page]:
        """What was logged since, then what was told of states since."""
        if self._journal is None:
            self._journal = Journal()
            self._journal.restore(seen)
            self._told = {k: list(v) for k, v in seen.get(STATES, {}).get("states", {}).items()}
        self.look()
        job = self._job
        assert job is not None
        yield from self._arrived(job, self._journal)
        if self._steady() - self._listed >= self._wait(job):
            yield from self._asked(job, self._journal)
        if text := b"".join(self._states(job)):
            yield Page(text, self._seen(STATES), STATES)

    def _wait(self, job: Described) -> float:
        """Seconds between two questions for the log. One that was asked for too often is left alone
        whatever has happened; at the end no longer than for what comes late."""
        if job.cloud.over:
            return min(self._pause, self._pace.late)
        pace = self._pace.tailed if self._tail is not None else self._pace.log
        return max(0.0 if self._owed else pace, self._pause)

    def fresh(self) -> bool:
        """Whether something has arrived."""
        return self._tail is not None and self._tail.fresh

    def close(self) -> None:
        """Nothing more is wanted."""
        if self._tail is not None:
            self._tail.close()

    def _arrived(self, job: Described, journal: Journal) -> Iterator[Page]:
        """What arrived of itself. Where anything was left out, everything is asked for."""
        tail, wanted, now = self._tail, self._entries_of(job), self._steady()
        if tail is None:
            due = self._complete and now - self._opened >= self._pace.look
            if due and self._tailed and not job.cloud.over:
                self._opened, self._listed = now, now - self._pace.tailed + self._pace.log
                self._tail = Tail(lambda ends: self._api.tail(wanted, ends), wanted)
            return
        over = tail.ended or tail.wanted != wanted
        entries, missed = tail.take()
        self._owed |= over or missed
        yield from self._pages_of(job, journal, entries)
        if not over:
            return
        tail.close()
        self._tail, self._tailed = None, not tail.why
        if tail.why:
            pace = f"asked for every {self._pace.log:.0f} s"
            why = f"as it does not come of itself: {tail.why}"
            self.notes.append(f"{self.title}: its log is {pace}, {why}")

    def _asked(self, job: Described, journal: Journal) -> Iterator[Page]:
        """The log from where it was left; what it cannot be asked for now is asked for later."""
        begun = self._steady()
        self._leave_out(job)
        try:
            wanted = f"{self._entries_of(job)} AND {journal.wanted(job.made - 60)}"
            for entries in self._api.entries(wanted):
                yield from self._pages_of(job, journal, entries)
                journal.listed(entries)
            self._complete = True
            if journal.complete() and self._tail is not None and not self._owed:
                self._tail.ended = True  # it should have told of these: another may hear more
            self._owed = False
        except DeniedError as error:
            self._pause, self.behind = _LONGEST, f"the log cannot be read: {error} ({error.hint})"
        except UnreachableError as error:  # of the job itself more is known
            self._pause = min(_LONGEST, 2 * max(self._pause, self._pace.log))
            words = str(error).removesuffix("; state unknown")
            hint = "" if isinstance(error, QuotaError) else f" ({error.hint})"
            self.behind = f"the log has to wait: {words}{hint}"
        else:
            self._pause, self.behind = 0.0, ""
        self._listed = begun

    def _leave_out(self, job: Described) -> None:
        """Say that the custom jobs are more than are read, once and as they get more."""
        left = len(job.jobs) - _JOBS
        if left <= 0:
            return
        if not self.skipped:
            self.notes.append(
                f"{self.title}: the logs of its latest {_JOBS} custom jobs are read, not those of "
                f"{left} before them; watch such a job by its own id"
            )
        more = f" and {left - 1} more" if left > 1 else ""
        name = f"custom job {next(iter(job.jobs))}{more}"
        why = f"the logs of the latest {_JOBS} are read"
        self.skipped = [Skipped(name, why, count=left)]

    def _entries_of(self, job: Described) -> str:
        """The filter for everything that is of this job."""
        ids = " OR ".join(f'"{one}"' for one in [*job.jobs][-_JOBS:])
        workers = f'(resource.type="ml_job" AND resource.labels.job_id=({ids}))' if ids else ""
        if not self._is_pipeline:
            return workers
        own = f'resource.labels.pipeline_job_id="{self._id}"'
        return f"({own} OR {workers})" if workers else own

    def _pages_of(self, job: Described, journal: Journal, entries: list[Any]) -> Iterator[Page]:
        """Entries as pages of the streams that they are of."""
        lines: dict[str, list[bytes]] = {}
        for entry in entries:
            stream, before = self._stream(job, entry)
            if journal.is_new(stream, entry):
                lines.setdefault(stream, []).extend(lines_of(entry, before))
        for stream, told in lines.items():
            rank = job.ranks.get(stream)
            kind = STATES if stream == STATES else ""
            yield Page(b"".join(told), self._seen(stream), stream, kind, rank)

    def _stream(self, job: Described, entry: Any) -> tuple[str, str]:
        """The stream of an entry, and what is put in front of its lines."""
        if entry.log_name.endswith(_EVENTS):
            severity = max((s for s in _SEVERITIES if s <= entry.severity), default=0)
            return STATES, f"{_SEVERITIES.get(severity, 'INFO')} {_EVENTS} "
        labels = entry.resource.labels
        replica = labels.get("task_name", "") or entry.log_name.rsplit("/", 1)[-1]
        number = labels.get("job_id", "")
        task = job.jobs.get(number, number) if self._is_pipeline else ""
        return (f"{task}/{replica}" if task else replica), ""

    def _seen(self, stream: str) -> dict[str, Any]:
        assert self._journal is not None
        seen = self._journal.seen(stream)
        return {**seen, "states": self._told} if stream == STATES else seen

    def _states(self, job: Described) -> Iterator[bytes]:
        """A line for each state that was not told yet, and for one that has come again."""
        now = {turn.who: turn for turn in job.turns}
        for turn in job.turns:
            told = self._told.setdefault(turn.who, [])
            if turn.word in told and (turn is not now[turn.who] or turn.word == told[-1]):
                continue
            told[:] = [*told[-_TOLD:], turn.word]
            time_ = stamp(int((turn.at or self._wall()) * 1e9))
            why = f": {turn.error}" if turn.error else ""
            first, *rest = f"{' '.join(turn.who.split())}{why}".splitlines()
            for line in (f"{turn.word} {first}", *(f"| {one}" for one in rest)):
                yield f"{time_} {line}".encode("utf-8", "replace") + b"\n"
