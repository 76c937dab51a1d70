"""A server of ours on loopback that answers the GraphQL which the real wandb client sends.

Recorded of client 0.31: `Viewer` when it logs in, `Run` with the run's fields, `RunHistoryKeys`
before a scan, then `RunParquetHistory` (here without files, as for a run whose history was not yet
exported) and `HistoryPage` with a range of steps and a number of rows.
"""

import base64
import contextlib
import gzip
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "k" * 40


@dataclass
class Kept:
    """A run at the server: its state, and rows of history by step."""

    state: str = "running"
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)

    def log(self, first: int, last: int, **values: Any) -> None:
        """Rows for steps, each value a number or a function of the step."""
        for step in range(first, last):
            told = {name: v(step) if callable(v) else v for name, v in values.items()}
            self.rows[step] = {"_step": step, "_timestamp": 1.717e9 + step, **told}

    @property
    def last(self) -> int:
        """The last step."""
        return max(self.rows, default=-1)


class Rows(Mapping[int, dict[str, Any]]):
    """Rows of history made when they are asked for, so that the server holds none."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._count))

    def __contains__(self, step: object) -> bool:
        return isinstance(step, int) and 0 <= step < self._count

    def __getitem__(self, step: int) -> dict[str, Any]:
        if step not in self:
            raise KeyError(step)
        values = {f"metric_{n}": step / (n + 7) for n in range(6)}
        return {"_step": step, "_timestamp": 1.7e9 + step, "loss": 1 / (step + 1), **values}


class _Long(Kept):
    @property
    def last(self) -> int:
        return len(self.rows) - 1


def long(rows: int) -> Kept:
    """A finished run with so many rows."""
    return _Long(state="finished", rows=Rows(rows))  # type: ignore[arg-type]


class Server:
    """`start`, `stop` and start again: the port and the runs stay. `asked` are the queries."""

    def __init__(self) -> None:
        self.runs: dict[str, Kept] = {}
        self.key = KEY
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.port = 0
        self._server: _Web | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen."""
        made = type("Answers", (_Answers,), {"kept": self})
        self._server = _Web(("127.0.0.1", self.port), made)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Close the port."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.cut()
            self._server = None

    def pages(self) -> list[tuple[int, int]]:
        """The ranges of steps that were asked for."""
        return [(v["minStep"], v["maxStep"]) for name, v in self.asked if name == "HistoryPage"]


class _Web(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self._open: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        """Remember each connection: a client keeps it for its next questions."""
        made = super().get_request()
        self._open.append(made[0])
        return made

    def cut(self) -> None:
        """End all connections."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kept: Server

    def log_message(self, *about: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path != "/graphql":
            return self._answer(200, {})
        if not self._knows():
            return self._answer(401, {"errors": [{"message": "user is not logged in"}]})
        asked = json.loads(body)
        name, _, _ = asked["query"].split("query ", 1)[1].partition("(")
        name = name.split("{")[0].strip()
        told = asked.get("variables") or {}
        self.kept.asked.append((name, told))
        return self._answer(200, {"data": self._data(name, told)})

    def _knows(self) -> bool:
        word = self.headers.get("Authorization", "").removeprefix("Basic ")
        return base64.b64decode(word).decode() == f"api:{self.kept.key}"

    def _data(self, name: str, told: dict[str, Any]) -> dict[str, Any]:
        if name in ("Viewer", "GetDefaultEntity"):
            return {"viewer": {
                "id": "1", "entity": "team", "username": "me", "email": "", "flags": "{}",
                "teams": {"edges": []},
            }}  # fmt: skip
        run_name = told.get("name") or told.get("run") or told.get("runName")
        run = self.kept.runs.get(f"{told.get('entity')}/{told.get('project')}/{run_name}")
        return {"project": {"run": None if run is None else self._fields(name, run, told)}}

    def _fields(self, name: str, run: Kept, told: dict[str, Any]) -> dict[str, Any]:
        if name == "RunParquetHistory":
            return {"parquetHistory": {"parquetUrls": [], "liveData": []}}
        if name == "HistoryPage":
            steps = range(told["minStep"], min(told["maxStep"], run.last + 1))
            found = [run.rows[step] for step in steps if step in run.rows]
            return {"history": [json.dumps(row) for row in found[: told["pageSize"]]]}
        keys = {"keys": {key: {} for key in run.rows.get(run.last, {})}, "lastStep": run.last}
        if name == "RunHistoryKeys":
            return {"historyKeys": keys}
        me = {"name": "me", "username": "me"}
        return {
            "id": "1", "projectId": "2", "name": told["name"], "displayName": "brave-sky-7",
            "state": run.state, "tags": [], "user": me, "historyKeys": keys, "readOnly": False,
            "config": json.dumps({key: {"value": v} for key, v in run.config.items()}),
            "summaryMetrics": json.dumps(run.summary), "systemMetrics": "{}",
            "createdAt": "2024-06-01T10:00:00", "heartbeatAt": None, "historyLineCount": run.last,
            "description": "", "notes": "", "sweepName": None, "group": None, "jobType": None,
            "commit": None,
        }  # fmt: skip

    def _answer(self, code: int, told: dict[str, Any]) -> None:
        body = json.dumps(told).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
