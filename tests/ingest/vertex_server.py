"""Vertex AI and Cloud Logging on loopback: the services that Google publishes, played by us.

The services and messages are those of the client libraries, so that the real clients speak to it;
the state of jobs and logs is what tests set.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_JOBS = "google.cloud.aiplatform.v1.JobService"
_PIPELINES = "google.cloud.aiplatform.v1.PipelineService"
_LOGS = "google.logging.v2.LoggingServiceV2"


@dataclass
class Fault:
    """What a call is answered with instead: the name of a gRPC status, some times."""

    status: str
    words: str = ""
    times: int = 1_000_000


@dataclass
class Server:
    """`start`, `stop` and start again: the port and all that is kept stay. `asked` are the calls
    by name, each with what it asked for; `faults` by name are given instead of answers."""

    jobs: dict[str, Any] = field(default_factory=dict)
    pipelines: dict[str, Any] = field(default_factory=dict)
    entries: list[Any] = field(default_factory=list)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    faults: dict[str, Fault] = field(default_factory=dict)
    page: int = 1000  # entries or jobs in an answer at most
    suppresses: bool = False  # whether a tail leaves out what arrives, and says so
    deaf: bool = False  # the same, and does not
    tails: int = 0  # that have begun
    cuts: int = 0  # tails that are ended after what arrives next

    def __post_init__(self) -> None:
        self._server: Any = None
        self.port = 0
        self._changed = threading.Condition()
        self._ends = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens, in plain text."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, secret: bytes = b"", certificate: bytes = b"") -> None:
        """Listen; over TLS where there is a certificate."""
        import grpc

        self._ends.clear()
        self._server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.so_reuseport", 0)])
        for name, methods in self._services().items():
            handlers = {
                method: kind(
                    self._answering(method, answer), request_deserializer=asks.deserialize,
                    response_serializer=gives.serialize,
                )
                for method, (kind, answer, asks, gives) in methods.items()
            }  # fmt: skip
            handler = grpc.method_handlers_generic_handler(name, handlers)
            self._server.add_generic_rpc_handlers((handler,))
        place = f"127.0.0.1:{self.port}"
        if certificate:
            known = grpc.ssl_server_credentials([(secret, certificate)])
            self.port = self._server.add_secure_port(place, known)
        else:
            self.port = self._server.add_insecure_port(place)
        self._server.start()

    def stop(self) -> None:
        """Cut all connections, at once."""
        self._ends.set()
        with self._changed:
            self._changed.notify_all()
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def _services(self) -> dict[str, dict[str, tuple[Any, Any, Any, Any]]]:
        import grpc
        from google.cloud import aiplatform_v1 as ai
        from google.cloud import logging_v2
        from google.cloud.logging_v2.types import logging as logs

        assert logging_v2
        one = grpc.unary_unary_rpc_method_handler
        both = grpc.stream_stream_rpc_method_handler
        return {
            _JOBS: {
                "GetCustomJob": (one, self._job, ai.GetCustomJobRequest, ai.CustomJob),
                "ListCustomJobs": (
                    one, self._job_list, ai.ListCustomJobsRequest, ai.ListCustomJobsResponse
                ),
            },
            _PIPELINES: {
                "GetPipelineJob": (one, self._pipeline, ai.GetPipelineJobRequest, ai.PipelineJob),
                "ListPipelineJobs": (
                    one, self._pipeline_list, ai.ListPipelineJobsRequest,
                    ai.ListPipelineJobsResponse,
                ),
            },
            _LOGS: {
                "ListLogEntries": (
                    one, self._list, logs.ListLogEntriesRequest, logs.ListLogEntriesResponse
                ),
                "TailLogEntries": (
                    both, self._tail, logs.TailLogEntriesRequest, logs.TailLogEntriesResponse
                ),
            },
        }  # fmt: skip

    def _answering(self, name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
        """The answer, or the fault that was ordered."""

        def given(request: Any, context: Any) -> Any:
            import grpc

            self.asked.append((name, request))
            self.tokens.append(dict(context.invocation_metadata()).get("authorization", ""))
            fault = self.faults.get(name)
            if fault is not None and fault.times > 0:
                fault.times -= 1
                context.abort(getattr(grpc.StatusCode, fault.status), fault.words)
            return answer(request, context)

        return given

    # Jobs and pipelines

    def _job(self, request: Any, context: Any) -> Any:
        return self._found(self.jobs, request.name, context)

    def _pipeline(self, request: Any, context: Any) -> Any:
        return self._found(self.pipelines, request.name, context)

    def _found(self, kept: dict[str, Any], name: str, context: Any) -> Any:
        import grpc

        if name not in kept:
            context.abort(grpc.StatusCode.NOT_FOUND, f"The resource {name} does not exist.")
        return kept[name]

    def _job_list(self, request: Any, context: Any) -> Any:
        from google.cloud import aiplatform_v1 as ai

        found, token = self._paged(_matching(self.jobs, request), request)
        return ai.ListCustomJobsResponse(custom_jobs=found, next_page_token=token)

    def _pipeline_list(self, request: Any, context: Any) -> Any:
        from google.cloud import aiplatform_v1 as ai

        assert "create_time desc" == request.order_by
        jobs = _matching(self.pipelines, request)
        jobs.sort(key=lambda job: job.create_time, reverse=True)
        found, token = self._paged(jobs, request)
        return ai.ListPipelineJobsResponse(pipeline_jobs=found, next_page_token=token)

    def _paged(self, found: list[Any], request: Any) -> tuple[list[Any], str]:
        """What of it is answered now, and the word to ask for the rest with."""
        first = int(request.page_token or 0)
        last = first + min(self.page, request.page_size)
        return found[first:last], str(last) if last < len(found) else ""

    # Logs

    def log(self, *entries: Any) -> None:
        """Entries arrive."""
        with self._changed:
            self.entries.extend(entries)
            self._changed.notify_all()

    def _list(self, request: Any, context: Any) -> Any:
        from google.cloud.logging_v2.types import logging as logs

        assert "timestamp asc" == request.order_by
        wanted = _selects(request.filter)
        entries = sorted(filter(wanted, self.entries), key=lambda e: (e.timestamp, e.insert_id))
        found, token = self._paged(entries, request)
        return logs.ListLogEntriesResponse(entries=found, next_page_token=token)

    def _tail(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        from google.cloud.logging_v2.types import logging as logs

        wanted = _selects(next(requests).filter)
        begun, ended = len(self.entries), threading.Event()
        self.tails += 1
        context.add_callback(ended.set)
        while not self._ends.is_set() and not ended.is_set():
            with self._changed:
                if len(self.entries) == begun:
                    self._changed.wait(0.2)
                new, begun = self.entries[begun:], len(self.entries)
            found = [entry for entry in new if wanted(entry)]
            if found and self.suppresses:
                reason = logs.TailLogEntriesResponse.SuppressionInfo.Reason.RATE_LIMIT
                lost = {"reason": reason, "suppressed_count": len(found)}
                yield logs.TailLogEntriesResponse(suppression_info=[lost])
            elif found and not self.deaf:
                yield logs.TailLogEntriesResponse(entries=found)
            if found and self.cuts:
                self.cuts -= 1
                return


def _matching(kept: dict[str, Any], request: Any) -> list[Any]:
    found = re.fullmatch(r'display_name="(.*)"', request.filter)
    assert found, request.filter
    said = re.sub(r"\\(.)", r"\1", found[1])
    return [
        one for name, one in kept.items()
        if name.startswith(f"{request.parent}/") and one.display_name == said
    ]  # fmt: skip


def _selects(wanted: str) -> Callable[[Any], bool]:
    """What a filter of Logging's language matches, as far as we use it; other words fail."""
    time = r'(timestamp|receiveTimestamp)>="([^"]*)"'
    either = re.search(rf" AND \({time} OR {time}\)$", wanted)
    rest = wanted.replace(either[0], "") if either else wanted
    times = re.findall(rf"\b{time}", rest)
    rest = re.sub(time, "", rest)
    pipelines = re.findall(r'resource\.labels\.pipeline_job_id="([^"]*)"', rest)
    listed = re.findall(r'resource\.type="ml_job" AND resource\.labels\.job_id=\(([^)]*)\)', rest)
    jobs = {job for one in listed for job in re.findall(r'"([^"]*)"', one)}
    assert jobs or pipelines, wanted
    rest = re.sub(r'resource\.[\w.]+=(?:"[^"]*"|\([^)]*\))|AND|OR|[()\s]', "", rest)
    assert rest == "", wanted

    def later(entry: Any, name: str, said: str) -> bool:
        at_ = entry.timestamp if name == "timestamp" else entry.receive_timestamp
        return bool(at_ >= datetime.fromisoformat(said))

    def matches(entry: Any) -> bool:
        labels = entry.resource.labels
        of_it = labels.get("pipeline_job_id", "") in pipelines or (
            entry.resource.type == "ml_job" and labels.get("job_id") in jobs
        )
        one = not either or later(entry, *either.groups()[:2]) or later(entry, *either.groups()[2:])
        return of_it and one and all(later(entry, *time) for time in times)

    return matches


def wait(happened: Callable[[], bool], patience: float = 30.0) -> None:
    """Until it has happened."""
    until = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)
