"""The summary of a run, as `scan --json` prints it, laid out for SQL and given back as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from runwatch.store.incoming import listed
from runwatch.store.opening import first_row
from runwatch.store.rows import kept_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

JUDGED = ("judgement", "decision", "confidence", "terminal_state", "reason")


def write_summary(
    connection: DuckDBPyConnection, run: str, summary: Mapping[str, Any], now: float
) -> None:
    """Replace what the run's last summary said; a changed judgement is added to its history."""
    text = json.dumps(summary)
    summary = json.loads(text)  # enums are plain texts from here on
    _put_run(connection, run, summary, text)
    _put_findings(connection, run, summary.get("findings") or [])
    _keep_cited_lines(connection, run, summary.get("findings") or [])
    _add_judgement(connection, run, summary, now)


def _put_run(
    connection: DuckDBPyConnection, run: str, summary: Mapping[str, Any], text: str
) -> None:
    steps = summary.get("steps") or {}
    root = summary.get("root_cause") or {}
    metrics = {
        name: float(value)
        for name, value in (summary.get("final_metrics") or {}).items()
        if isinstance(value, int | float)
    }
    columns = {
        "complete": True,
        "summary": text,
        "first_step": steps.get("first"),
        "last_step": steps.get("last"),
        "total_steps": steps.get("total"),
        "root_kind": root.get("kind"),
        "root_stream": root.get("stream"),
        "root_line": root.get("line"),
        "root_rank": root.get("rank"),
        "findings": len(summary.get("findings") or []),
    }
    plain = ("lines", "bytes", "segments", "best_checkpoint", *JUDGED[:-1])
    columns |= {name: summary.get(name) for name in plain}
    named = ", ".join(f"{name} = ?" for name in columns)
    connection.execute(
        f"UPDATE stored_rows.runs SET {named}, final_metrics = map(?, ?) WHERE run = ?",  # noqa: S608 names from the lists above
        [*columns.values(), list(metrics), list(metrics.values()), run],
    )


def _put_findings(
    connection: DuckDBPyConnection, run: str, findings: list[Mapping[str, Any]]
) -> None:
    connection.execute("DELETE FROM stored_rows.findings WHERE run = ?", [run])
    if not findings:
        return
    types = {
        **dict.fromkeys(("id", "kind", "severity", "role", "state", "stream"), "VARCHAR"),
        **dict.fromkeys(("rank_note", "time", "message", "advice", "confidence"), "VARCHAR"),
        **dict.fromkeys(("line", "last_line", "step", "rank"), "BIGINT"),
        "evidence": "VARCHAR[]",
        "series": "DOUBLE[][]",
    }
    source, values = listed(
        {name: (kind, [one.get(name) for one in findings]) for name, kind in types.items()}
    )
    connection.execute(
        f"""INSERT INTO stored_rows.findings BY NAME
        SELECT * REPLACE (try_cast(time AS TIMESTAMPTZ) AS time), ? AS run
        FROM {source}""",  # noqa: S608 names of ours
        [run, *values],
    )


def _keep_cited_lines(
    connection: DuckDBPyConnection, run: str, findings: list[Mapping[str, Any]]
) -> None:
    """A line that a finding cites is in `lines`, also where nobody passed it on."""
    cited = {
        (finding["stream"], finding["line"]): (kept_text(finding["evidence"][0]), finding)
        for finding in findings
        if len(finding.get("evidence") or ()) > len(finding.get("rules") or ())
    }
    if not cited:
        return
    source, values = listed(
        {
            "stream": ("VARCHAR", [stream for stream, _ in cited]),
            "line": ("BIGINT", [line for _, line in cited]),
            "text": ("VARCHAR", [text for text, _ in cited.values()]),
            "step": ("BIGINT", [finding.get("step") for _, finding in cited.values()]),
            "time": ("VARCHAR", [finding.get("time") for _, finding in cited.values()]),
        }
    )
    connection.execute(
        f"""INSERT INTO stored_rows.lines BY NAME
        SELECT
            ? AS run, c.stream, c.line, try_cast(c.time AS TIMESTAMPTZ) AS time, s.rank,
            c.step, c.text, coalesce(c.line > s.lines, false) AS tail
        FROM {source} AS c
        LEFT JOIN stored_rows.streams AS s ON s.run = ? AND s.stream = c.stream
        WHERE NOT EXISTS (
            SELECT 1 FROM stored_rows.lines AS l
            WHERE l.run = ? AND l.stream = c.stream AND l.line = c.line)""",  # noqa: S608 names of ours
        [run, *values, run, run],
    )


def _add_judgement(
    connection: DuckDBPyConnection, run: str, summary: Mapping[str, Any], now: float
) -> None:
    root = summary.get("root_cause") or {}
    row = (
        *(summary.get(name) for name in JUDGED),
        root.get("kind"),
        root.get("stream"),
        root.get("line"),
    )
    last = first_row(
        connection,
        """SELECT judgement, decision, confidence, terminal_state, reason,
            root_kind, root_stream, root_line
        FROM stored_rows.judgements WHERE run = ? ORDER BY time DESC, rowid DESC LIMIT 1""",
        [run],
    )
    if row != last:
        connection.execute(
            "INSERT INTO stored_rows.judgements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [run, datetime.fromtimestamp(now, UTC), *row],
        )
