"""Runs of MLflow, through its own client: it knows the user's logins, proxies and kinds of store.

The client asks for 40 packages and two seconds to load, so it is an extra and loaded when asked
for; what it would tell its makers of its use is switched off.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from heapq import merge
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from runwatch.errors import InputError, RunwatchError
from runwatch.ingest import service
from runwatch.ingest.rows import Counter, row
from runwatch.ingest.service import (
    HISTORY,
    Page,
    Seen,
    Tracked,
    announced,
    asked,
    client,
    ending_of,
    unreachable,
)
from runwatch.judgement import TerminalState
from runwatch.slotted import mutable
from runwatch.target import Target

_STATES = {
    "finished": TerminalState.SUCCEEDED,
    "failed": TerminalState.FAILED,
    "killed": TerminalState.CANCELLED,
}
_QUIETLY = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # who watches asks again by himself
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}
_PAGE = 5_000  # values of a metric in an answer
_ROWS = 5_000  # lines that are given together
_LOGIN = "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, say who"


@mutable
class _Spot:
    """Where in a metric's history a reader is: the token of a page and how many of it are read."""

    token: str | None = None
    read: int = 0


class Service(service.Service):
    """See `service.Service`. The address is the target's, else what MLflow itself is set to."""

    def __init__(self, target: Target) -> None:
        self.title = f"MLflow run {target.path}"
        self._run, self._uri = target.path, target.service
        self._made: Any = None
        self._counter = Counter()

    def look(self) -> Tracked:
        """The run's status."""
        run = self._asked(lambda client: client.get_run(self._run))
        info = run.info
        return Tracked(
            self.title, str(info.status), ending_of(_STATES, str(info.status), "MLflow"),
            info.run_name or "", self._url(info),
        )  # fmt: skip

    def _url(self, info: Any) -> str:
        """Its page, without the name and password that an address may have in it."""
        address = urlsplit(str(self._made.tracking_uri))
        if not address.scheme.startswith("http"):
            return ""
        server = urlunsplit(
            (address.scheme, address.netloc.rpartition("@")[2], address.path, "", "")
        )
        return f"{server.rstrip('/')}/#/experiments/{info.experiment_id}/runs/{info.run_id}"

    def pages(self, seen: Mapping[str, Seen]) -> Iterator[Page]:
        """All metrics in the order in which they were logged, one step a line where it can be."""
        run = self._asked(lambda client: client.get_run(self._run))
        told = seen.get(HISTORY, {})
        spots = {name: _Spot(*told[name]) if name in told else _Spot() for name in run.data.metrics}
        beside = announced(run.data.params)
        histories = [self._history(name, spot) for name, spot in sorted(spots.items())]
        lines = list[bytes]()
        held: tuple[float, int, dict[str, float]] | None = None
        for time, step, name, value, spot in merge(*histories, key=lambda one: one[:3]):
            if held is not None and (held[1] != step or name in held[2]):
                lines.append(_line(held, self._counter, beside))
                held = None
                if len(lines) >= _ROWS:
                    yield Page(b"".join(lines), _told(spots))
                    lines.clear()
            held = (time, step, {}) if held is None else held
            held[2][name] = value
            spots[name] = spot
        if held is not None:
            lines.append(_line(held, self._counter, beside))
        if lines:
            yield Page(b"".join(lines), _told(spots))

    def _history(self, name: str, spot: _Spot) -> Iterator[tuple[float, int, str, float, _Spot]]:
        """A metric's values behind a spot, each with the spot behind it."""
        token, skip = spot.token, spot.read
        while True:
            page = self._asked(partial(self._page, name=name, token=token))
            for at, one in enumerate(page[skip:], skip + 1):
                yield one.timestamp / 1000, one.step, name, one.value, _Spot(token, at)
            following = getattr(page, "token", None)
            if not following:
                return
            token, skip = following, 0

    def _page(self, client: Any, name: str, token: str | None) -> Any:
        """One page of a history. Only the client's store has them one by one, and only of a
        server; a store on this disk gives all at once."""
        store = client._tracking_client.store
        if hasattr(store, "get_host_creds"):
            return store.get_metric_history(self._run, name, max_results=_PAGE, page_token=token)
        return client.get_metric_history(self._run, name)

    def _asked(self, ask: Callable[[Any], Any]) -> Any:
        return asked(lambda: ask(self._client()), self._told_as_ours)

    def _told_as_ours(self, error: Exception) -> RunwatchError:
        code, words = getattr(error, "error_code", ""), str(error)
        if code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            hint = "is it the id of a run, and --tracking-uri that of its server?"
            return InputError(f"MLflow knows no run {self._run}", hint=hint)
        denied = code in ("UNAUTHENTICATED", "PERMISSION_DENIED") or "error code 401" in words
        return unreachable("MLflow", error, _LOGIN if denied or "error code 403" in words else "")

    def _client(self) -> Any:
        if self._made is None:
            # Not `mlflow` alone: any folder of that name can be imported.
            library = client("mlflow.client", "MLflow", _QUIETLY)
            self._made = library.MlflowClient(self._uri or None)
        return self._made


def _line(
    held: tuple[float, int, dict[str, float]], counter: Counter, beside: dict[str, int]
) -> bytes:
    time, step, values = held
    return row(counter.at(next(iter(values)), step), time, {**values, **beside})


def _told(spots: dict[str, _Spot]) -> dict[str, Any]:
    return {name: [spot.token, spot.read] for name, spot in spots.items()}
