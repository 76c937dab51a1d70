"""The final word on a watched run as a JSON document that other programs read."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from runwatch.errors import InputError, in_words
from runwatch.finding import Finding, Severity
from runwatch.judgement import rule

NAME = "babysit-training"
SCHEMA_VERSION = "1.0"


def artifact(
    summary: Mapping[str, Any], seen: Sequence[Finding], *, target_type: str, began: datetime,
    ended: datetime, why: str, commands: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """The document. `seen` is everything that was found while watching, also what has gone since;
    `commands` are what a person may run next."""
    actions = summary.get("actions", ())
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": summary["run"],
        "timestamp": ended.isoformat(),
        "target": summary["target"],
        "target_type": target_type,
        "terminal_state": summary["terminal_state"],
        "decision": summary["decision"],
        "confidence": summary["confidence"],
        "total_steps": summary["steps"]["last"],
        "planned_steps": summary["steps"]["total"],
        "final_metrics": dict(summary["final_metrics"]),
        "best_checkpoint": summary["best_checkpoint"],
        "anomalies_detected": [
            {
                "step": f.step, "type": f.kind, "severity": str(f.severity),
                "description": f.message, "action_taken": _action(f, actions),
            }
            for f in seen
        ],
        "findings": [
            {
                "id": f.id, "severity": str(f.severity), "title": rule(f.kind).title,
                "description": _described(f), "fix": f.advice or rule(f.kind).advice,
            }
            for f in seen
            if f.severity.weight >= Severity.HIGH.weight
        ],
        "actions": [dict(action) for action in actions],
        **({"job": summary["job"]} if "job" in summary else {}),
        "duration_seconds": round((ended - began).total_seconds(), 3),
        "next_commands": list(commands),
        "next_steps": list(summary["next_steps"]),
        "stopped_because": why,
        "summary": _sentence(summary),
    }  # fmt: skip


def _action(finding: Finding, actions: Sequence[Mapping[str, Any]]) -> str:
    own = [a for a in actions if a["finding"] == finding.id]
    told = [f"{a['kind']}: {a['outcome'] or 'tried'}" for a in own]
    return "; ".join(told) or "reported"


def _described(finding: Finding) -> str:
    cited = f" [{finding.stream}:{finding.line}] {finding.evidence[0]}" if finding.evidence else ""
    return f"{finding.message}{cited}"


def _sentence(summary: Mapping[str, Any]) -> str:
    steps = summary["steps"]
    if steps["last"] is None:
        where = "no step was reported"
    else:
        where = f"step {steps['last']}" + (f" of {steps['total']}" if steps["total"] else "")
    return f"{summary['decision']}: {summary['terminal_state']} at {where}; {summary['reason']}"


def write(document: bytes, folder: Path, name: str = NAME) -> Path:
    """Put it into a folder in one move, so that nobody reads half of it. Raises InputError where
    it cannot be written."""
    place = folder / f"{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number, beside = tempfile.mkstemp(prefix=f".{name}-", dir=folder)
        try:
            with os.fdopen(number, "wb") as out:
                out.write(document)
            os.chmod(beside, 0o644)
            os.replace(beside, place)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise InputError(
            f"{place}: {in_words(error)}",
            hint="name another folder with --out-dir",
        ) from error
    return place
