"""Runs of Weights & Biases, through the public API of their own client."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runwatch.errors import InputError, RunwatchError
from runwatch.ingest import service
from runwatch.ingest.rows import row
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
from runwatch.ingest.wandb_file import history_row
from runwatch.judgement import TerminalState
from runwatch.target import Target

_STATES = {
    "finished": TerminalState.SUCCEEDED,
    "failed": TerminalState.FAILED,
    "crashed": TerminalState.FAILED,  # its client has not been heard of for minutes
    "killed": TerminalState.CANCELLED,
    "preempted": TerminalState.CANCELLED,
}
_QUIETLY = {"WANDB_SILENT": "true", "WANDB_CONSOLE": "off"}
_PAGE = 10_000  # steps in an answer
_LOGIN = "log in again with `wandb login`, or set WANDB_API_KEY"
_DENIED = ("401", "403", "permission", "unauthorized", "authenticat", "logged in", "login")


class Service(service.Service):
    """See `service.Service`. The target's path is entity/project/run."""

    def __init__(self, target: Target) -> None:
        self.title = f"W&B run {target.path}"
        self._path = target.path
        self._api: Any = None

    def look(self) -> Tracked:
        """The run's state."""
        return self._tracked(self._asked(self._run))

    def pages(self, seen: Mapping[str, Seen]) -> Iterator[Page]:
        """The rows of history from the step behind the last one that was seen."""
        run = self._asked(self._run)
        beside = announced(run.config)
        told = seen.get(HISTORY, {})
        step = int(told.get("step", -1))
        scan = self._asked(lambda: iter(run.scan_history(min_step=step + 1, page_size=_PAGE)))
        lines: list[bytes] = []
        while (found := self._asked(lambda: next(scan, None))) is not None:
            at = found.get("_step")
            if not isinstance(at, int | float) or at <= step:
                continue
            step = int(at)
            values = dict(sorted(_numbers(found).items()))  # the client gives them in any order
            lines.append(history_row(step, {**values, **beside}))
            if len(lines) >= _PAGE:
                yield Page(b"".join(lines), {"step": step})
                lines.clear()
        if lines:
            yield Page(b"".join(lines), {"step": step})
        if self._tracked(run).over and not told.get("summary"):
            final = _beside(run)
            text = row(step, None, final) if final and step >= 0 else b""
            yield Page(text, {"step": step, "summary": True})

    def _run(self) -> Any:
        run = self._client().run(self._path)
        run.load(force=True)
        return run

    def _tracked(self, run: Any) -> Tracked:
        state = str(run.state)
        return Tracked(
            self.title, state, ending_of(_STATES, state, "W&B"), str(run.name or ""), str(run.url)
        )

    def _asked(self, ask: Callable[[], Any]) -> Any:
        return asked(ask, self._told_as_ours)

    def _told_as_ours(self, error: Exception) -> RunwatchError:
        self._api = None  # its connection may be of no more use
        words = str(error)
        if "Could not find run" in words or "not found" in words:
            hint = "is it entity/project/run-id, and may this login see it?"
            return InputError(f"W&B knows no run {self._path}", hint=hint)
        denied = any(word in words.lower() for word in _DENIED)
        return unreachable("W&B", error, _LOGIN if denied else "")

    def _client(self) -> Any:
        if self._api is None:
            # WANDB_HTTP_TIMEOUT says how long it waits.
            self._api = client("wandb", "W&B", _QUIETLY).Api()
        return self._api


_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _numbers(found: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose numbers that JSON does not know are numbers again."""
    return {
        key: _WORDS.get(value, value) if isinstance(value, str) else value
        for key, value in found.items()
    }


def _beside(run: Any) -> dict[str, Any]:
    """What the summary of a run says that no row of its history does: best and final results."""
    known = run.history_keys or {}
    logged = set(known.get("keys", {})) if isinstance(known, Mapping) else set()
    return {
        key: value
        for key, value in _numbers(_flat(dict(run.summary_metrics or {}))).items()
        if key not in logged and not key.startswith("_") and isinstance(value, int | float)
        and not isinstance(value, bool)
    }  # fmt: skip


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested names joined with a dot, as W&B names them in its history."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            if "_type" not in value:
                found |= _flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found
