"""Vertex AI and Cloud Logging, asked through Google's own clients.

Of the Vertex SDK only the generated clients are loaded, and when they are asked for: all of it
would take several times as long.
"""

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

from runwatch.errors import InputError, RunwatchError, UnreachableError
from runwatch.ingest.service import asked, client, unreachable

PAGE = 1000  # entries in an answer, the most that may be asked for
_NAMED = 100  # jobs of one name in an answer
_TIMEOUT = 20.0  # seconds to wait for an answer; who watches asks again by himself
_SEARCHED = 60.0  # the same for entries, which are searched for
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_QUIETLY = {"GRPC_VERBOSITY": "NONE", "GRPC_ENABLE_FORK_SUPPORT": "0"}
_LOGIN = "log in again with `gcloud auth application-default login`"
_MAY = "the account needs the roles Vertex AI Viewer and Logs Viewer in this project"
_WHO = "Google Cloud"
_EXTRA = "vertex"
_BUFFER = timedelta(seconds=1)  # for which entries wait at the service, to come in order
_JOB, _JOBS = "job", "project or region"  # what is asked for
_UNLIMITED = (  # as the clients' own channels: a page may be larger than gRPC takes by itself
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
)
_T = TypeVar("_T")


class QuotaError(UnreachableError):
    """The service was asked too much."""


class DeniedError(UnreachableError):
    """The account may not see this."""


class Api:
    """The clients, made when they are first asked for.

    `vertex` and `logging` are other addresses of the services; one that begins with http:// is
    spoken to in plain text, and gets no credentials.
    """

    def __init__(self, project: str, region: str, vertex: str = "", logging: str = "") -> None:
        self._project = project
        self._vertex = vertex or f"{region}-aiplatform.googleapis.com"
        self._logging = logging
        self._made: dict[str, Any] = {}
        self._credentials: Any = None

    def custom_job(self, name: str) -> Any:
        """A custom job by its full name; InputError where there is none."""
        return self._ask(lambda: self._jobs.get_custom_job(name=name, **_PATIENT), _JOB)

    def pipeline(self, name: str) -> Any:
        """A pipeline job by its full name; InputError where there is none."""
        return self._ask(lambda: self._pipelines.get_pipeline_job(name=name, **_PATIENT), _JOB)

    def latest_custom_job(self, parent: str, wanted: str) -> Any:
        """The latest of those that a filter matches, None where there is none. The service lists
        them in no order that it promises, so all are looked at."""
        request = {"parent": parent, "filter": wanted, "page_size": _NAMED}
        return self._ask(
            lambda: max(
                self._jobs.list_custom_jobs(request=request, **_PATIENT), key=_age, default=None
            ),
            _JOBS,
        )

    def latest_pipeline(self, parent: str, wanted: str) -> Any:
        """The same of pipeline jobs, which it lists in the order that is asked for."""
        order = "create_time desc"
        request = {"parent": parent, "filter": wanted, "page_size": 1, "order_by": order}
        return self._ask(
            lambda: next(
                iter(self._pipelines.list_pipeline_jobs(request=request, **_PATIENT)), None
            ),
            _JOBS,
        )

    def entries(self, wanted: str) -> Iterator[list[Any]]:
        """Entries of a log that a filter matches, in order of their time, some at a time."""
        request = {
            "resource_names": [f"projects/{self._project}"], "filter": wanted,
            "order_by": "timestamp asc", "page_size": PAGE,
        }  # fmt: skip
        pages: Iterable[Any] = self._ask(
            lambda: (
                self._logs.list_log_entries(request=request, retry=None, timeout=_SEARCHED).pages
            )
        )
        turn = iter(pages)
        while (page := self._ask(lambda: next(turn, None))) is not None:
            yield list(type(page).pb(page).entries)

    def tail(self, wanted: str, until: threading.Event) -> Any:
        """What a filter matches as it arrives: a stream of answers, to be cancelled in the end.

        The request stays open `until` it is not wanted any more. The answers' errors are gRPC's:
        the client's own method waits for the first answer, which may never come.
        """
        request = {
            "resource_names": [f"projects/{self._project}"], "filter": wanted,
            "buffer_window": _BUFFER,
        }  # fmt: skip
        types = _library("google.cloud.logging_v2.types.logging")

        def requests() -> Iterator[Any]:
            yield types.TailLogEntriesRequest(request)
            until.wait()

        return self._ask(lambda: self._logs.transport.tail_log_entries(requests()))

    def _ask(self, ask: Callable[[], _T], about: str = "") -> _T:
        found: _T = asked(
            lambda: self._ready() and ask(), lambda error: self._told_as_ours(error, about)
        )
        return found

    def _told_as_ours(self, error: Exception, about: str) -> RunwatchError:
        ours = told_as_ours(error, about)
        if ours.hint == _LOGIN:  # who has logged in again is found by looking anew
            self._credentials = None
            self._made.clear()
        return ours

    # The clients

    @property
    def _jobs(self) -> Any:
        service = "google.cloud.aiplatform_v1.services.job_service"
        return self._client(service, "JobService", self._vertex)

    @property
    def _pipelines(self) -> Any:
        service = "google.cloud.aiplatform_v1.services.pipeline_service"
        return self._client(service, "PipelineService", self._vertex)

    @property
    def _logs(self) -> Any:
        service = "google.cloud.logging_v2.services.logging_service_v2"
        return self._client(service, "LoggingServiceV2", self._logging)

    def _client(self, module: str, name: str, address: str) -> Any:
        if name in self._made:
            return self._made[name]
        made = getattr(_library(module), f"{name}Client")
        if address.startswith("http://"):
            transport = getattr(_library(f"{module}.transports"), f"{name}GrpcTransport")
            place = address.removeprefix("http://")
            channel = _library("grpc").insecure_channel(place, options=_UNLIMITED)
            self._made[name] = made(transport=transport(channel=channel))
        else:
            options = {"api_endpoint": address} if address else None
            self._made[name] = made(credentials=self._credentials, client_options=options)
        return self._made[name]

    def _ready(self) -> bool:
        """Credentials that are good now; refreshed here, as a call would hide why it failed."""
        if self._vertex.startswith("http://") and self._logging.startswith("http://"):
            return True
        if self._credentials is None:
            self._credentials = self._found()
        if not self._credentials.valid:
            transport = _library("google.auth.transport.requests")
            self._credentials.refresh(transport.Request())
        return True

    def _found(self) -> Any:
        """Application default credentials. A key signs its tokens itself, so that no other service
        is needed; a person's own are of no project, and count for that of the job."""
        with warnings.catch_warnings(action="ignore"):  # that they are of no project
            found, _ = _library("google.auth").default(scopes=_SCOPES)
        if hasattr(found, "with_always_use_jwt_access"):
            return found.with_always_use_jwt_access(True)
        own = hasattr(found, "refresh_token") and hasattr(found, "with_quota_project")
        return (
            found.with_quota_project(self._project) if own and not found.quota_project_id else found
        )


_PATIENT: dict[str, Any] = {"timeout": _TIMEOUT, "retry": None}


def project_of_credentials() -> str:
    """The project that application default credentials are of, "" where they name none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return str(_library("google.auth").default(scopes=_SCOPES)[1] or "")
    except RunwatchError:
        raise
    except Exception:  # no credentials: that is told when something is asked for
        return ""


def told_as_ours(error: Exception, about: str = "") -> RunwatchError:
    """An error of the clients as ours, in one line, with what to do. `about` says what there is
    none of where the service finds nothing wrong but the question, "" where that says nothing of a
    job: a log is asked for again."""
    code, words = code_of(error), str(getattr(error, "message", "") or error)
    if callable(details := getattr(error, "details", None)):
        words = str(details())
    if code in ("NOT_FOUND", "INVALID_ARGUMENT"):
        if about:
            return InputError(f"{_WHO} knows no such {about}: {words[:200]}")
        return UnreachableError(
            f"{_WHO} does not take the question: {words[:200]}; state unknown",
            hint="it is asked again",
        )
    auth = type(error).__module__.startswith("google.auth")
    expired = "invalid_grant" in words or "reauth" in words.lower()
    if code == "UNAUTHENTICATED" or expired or (auth and "Transport" not in type(error).__name__):
        return unreachable(_WHO, error, _LOGIN)
    told = unreachable(_WHO, error)
    if code == "RESOURCE_EXHAUSTED":
        return QuotaError(f"{_WHO} was asked too much: {words[:200]}", hint="a quota is used up")
    if code == "PERMISSION_DENIED":
        return DeniedError(f"{_WHO} lets this account not in: {words[:200]}", hint=_MAY)
    return told


def code_of(error: Exception) -> str:
    """The gRPC status of an error by its name, "" where it has none."""
    code = getattr(error, "grpc_status_code", None)
    if code is None and callable(own := getattr(error, "code", None)):
        code = own()
    return str(getattr(code, "name", ""))


def _library(name: str) -> Any:
    return client(name, _WHO, _QUIETLY, _EXTRA)


def _age(job: Any) -> Any:
    return job.create_time.timestamp() if job.create_time else 0.0
