"""The summary of a run for people: the answer first, then what it rests on, then what was read.

Written from the plain dictionary that `--json` prints, so a scan and a stored run look the same.
"""

import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import groupby
from typing import Any, TextIO

from runwatch.cli.report.cloud import tasks
from runwatch.cli.report.table import brief
from runwatch.cli.report.text import clean, paint, shorten, wrap
from runwatch.cli.words.environment import width
from runwatch.cloud import CloudTask
from runwatch.plain import counted

STATE = {"SUCCEEDED": "green", "FAILED": "red", "TIMEOUT": "red", "CANCELLED": "yellow"}
ANSWER = {"GO": "green", "CONTINUE": "green", "NO-GO": "red", "STOP": "red"}
SEVERITY = {"critical": "red bold", "high": "red", "medium": "yellow", "low": "dim"}
ROLES = ["root", "confirmation", "follow-on", "symptom"]
SEVERITIES = ["critical", "high", "medium", "low"]
LABEL = 18  # columns of "Steps completed:  "
COLUMN = 15  # columns of "  not checked  "
KINDS = 12  # groups of findings that are shown in full
METRICS = 8  # final metrics that are shown
Paint = Callable[[str, str], str]
Record = dict[str, Any]


def report(summary: Record, out: TextIO | None = None) -> str:
    """The whole text; `out` (stdout) is where it will go, which decides the colours."""

    def ink(text: str, colour: str) -> str:
        return paint(text, colour, out or sys.stdout)

    room = width()
    parts = [
        _answer(summary, room, ink),
        *_findings(summary, room, ink),
        _done(summary, room, ink),
        _next(summary, room, ink),
        _coverage(summary, room, ink),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _answer(summary: Record, room: int, ink: Paint) -> str:
    state, decision = summary["terminal_state"], summary["decision"]
    ended = state not in ("RUNNING", "UNKNOWN")
    title = "Training Complete" if ended else "Training Status"
    rows = [
        ("Target", clean(summary["target"]), ""),
        ("Terminal state", state, STATE.get(state, "yellow")),
        ("Steps completed", _steps(summary), ""),
        ("Tasks", _tasks(summary), ""),
        ("Final metrics", _metrics(summary.get("final_metrics") or {}), ""),
        ("Best checkpoint", clean(str(summary.get("best_checkpoint") or "none")), ""),
        ("Decision", decision, ANSWER.get(decision, "yellow")),
        ("Confidence", summary["confidence"], ""),
        ("Judgement", summary["judgement"], ANSWER.get(summary["judgement"], "yellow")),
        ("Reason", clean(summary.get("reason") or ""), ""),
    ]
    lines = [ink(title, "bold"), "=" * len(title)]
    for label, text, colour in rows:
        if text:
            folded = wrap(text, room, " " * LABEL)
            lines.append(f"{label + ':':<{LABEL}}{ink(folded, colour)}")
    return "\n".join(lines)


def _steps(summary: Record) -> str:
    steps = summary.get("steps") or {}
    if steps.get("last") is None:
        return "unknown: no step in the log"
    last, total = steps["last"], steps.get("total") or 0
    # A total that was passed is none: of an epoch, or announced for less.
    text = f"{last}/{total} ({100 * last / total:.0f} %)" if total >= last > 0 else f"{last}"
    segments = summary.get("segments") or 1
    return text + (f" in {segments} segments" if segments > 1 else "")


def _tasks(summary: Record) -> str:
    """The tasks of a pipeline, which has them in place of steps."""
    told = (summary.get("job") or {}).get("tasks") or ()
    return tasks(tuple(CloudTask(**one) for one in told))


def _metrics(metrics: Record) -> str:
    shown = [
        f"{clean(name)}={brief(value) if isinstance(value, int | float) else value}"
        for name, value in list(metrics.items())[:METRICS]
    ]
    more = len(metrics) - METRICS
    return ", ".join([*shown, f"{more} more"] if more > 0 else shown) or "none"


def _findings(summary: Record, room: int, ink: Paint) -> Iterable[str]:
    found = sorted(summary.get("findings") or [], key=lambda one: _order(one, summary))
    if not found:
        yield _nothing(summary, room, ink)
        return
    groups = [list(group) for _, group in groupby(found, key=lambda one: _order(one, summary))]
    for group in groups[:KINDS]:
        yield _finding(group, room, ink)
    if len(groups) > KINDS:
        kinds = sorted({one["kind"] for group in groups[KINDS:] for one in group})
        rest = sum(map(len, groups[KINDS:]))
        yield wrap(f"… {rest} more findings ({', '.join(kinds)}), all with --json", room, "  ")


def _nothing(summary: Record, room: int, ink: Paint) -> str:
    ran = sum(check["ran"] for check in summary.get("checks") or [])
    if not ran:
        return ink("Nothing was checked, so nothing was found.", "yellow")
    return wrap(f"Nothing found by the {counted(ran, 'check')} that ran (listed below).", room, "")


def _order(one: Record, summary: Record) -> tuple[Any, ...]:
    """The root cause first, then by role and severity; equals are told as one."""
    cause = summary.get("root_cause") or {}
    same = ("kind", "stream", "line")
    first = all(cause.get(key) == one.get(key) for key in same)
    return (
        not first,
        ROLES.index(one["role"]),
        SEVERITIES.index(one["severity"]),
        one["kind"],
        one["state"],
    )


def _finding(group: list[Record], room: int, ink: Paint) -> str:
    one, *others = group
    many = f" x{len(group)}" if others else ""
    head = f"{one['kind']}{many}"
    tags = f"{one['severity']} · {one['role']} · {one['state']}"
    lines = [f"{ink('●', SEVERITY[one['severity']])} {ink(head, 'bold')}  {tags}"]
    lines.append(f"  {ink(shorten(_where(one), room - 2), 'cyan')}")
    lines.append(f"  {wrap(clean(one['message']), room, '  ')}")
    bar = f"  {ink('│', 'dim')} "
    lines += [f"{bar}{text}" for text in _evidence(one, room - 4)]
    if one.get("advice") and one["role"] != "follow-on":
        lines.append(f"  {ink('→', 'green')} {wrap(clean(one['advice']), room, '    ')}")
    if others:
        places = ", ".join(f"{clean(other['stream'])}:{other['line']}" for other in others[:6])
        more = f" and {len(others) - 6} more" if len(others) > 6 else ""
        lines.append(f"  {wrap(f'also {places}{more}', room, '  ')}")
    return "\n".join(lines)


def _evidence(one: Record, room: int) -> list[str]:
    """The decisive lines: folded for a cause, cut to the width for all else."""
    if one["role"] != "root":
        return [shorten(clean(text), room) for text in one["evidence"][:2]]
    folded = [wrap(shorten(clean(text), 3 * room), room, "") for text in one["evidence"][:4]]
    return [row for text in folded for row in text.split("\n")]


def _where(one: Record) -> str:
    place = f"{clean(one['stream'])}:{one['line']}"
    if (one.get("last_line") or one["line"]) != one["line"]:
        place += f"-{one['last_line']}"
    if one.get("step") is not None:
        place += f"  step {one['step']:,}"
    if one.get("rank") is not None:
        place += f"  rank {one['rank']}"
    elif one.get("rank_note"):
        place += f"  rank {clean(one['rank_note'])}"
    return place + (f"  {str(one['time'])[:19].replace('T', ' ')}" if one.get("time") else "")


def _done(summary: Record, room: int, ink: Paint) -> str:
    """What runwatch did about it, with what came of that."""
    lines = []
    for one in summary.get("actions") or []:
        at = datetime.fromisoformat(one["at"]).astimezone()
        step = "" if one["step"] is None else f", at step {one['step']}"
        told = f"{at:%H:%M:%S}  {one['kind']} ({clean(one['why'])}{step}): {clean(one['outcome'])}"
        lines.append(f"  {wrap(told, room, ' ' * 12)}")
    return "\n".join([ink("Done", "bold"), *lines]) if lines else ""


def _next(summary: Record, room: int, ink: Paint) -> str:
    steps = summary.get("next_steps") or []
    texts = [clean(step[:1].upper() + step[1:]) for step in steps]
    lines = [f"  {i}. {wrap(text, room, '     ')}" for i, text in enumerate(texts, 1)]
    return "\n".join([ink("Next", "bold"), *lines]) if steps else ""


def _coverage(summary: Record, room: int, ink: Paint) -> str:
    checks, coverage = summary.get("checks") or [], summary.get("coverage") or {}
    examples = [clean(str(text)) for text in coverage.get("examples") or []][:3]
    left_out = [
        f"{clean(it['name'])}: {clean(it['why'])}" for it in coverage.get("files_skipped") or []
    ]
    ran = ", ".join(check["name"] for check in checks if check["ran"])
    silent = sorted((check["why"], check["name"]) for check in checks if not check["ran"])
    by_reason = [
        f"{', '.join(name for _, name in group)}: {clean(why)}"
        for why, group in groupby(silent, key=lambda pair: pair[0])
    ]
    lines = [
        ink("What this rests on", "bold"),
        *_rows("read", [_read(summary, coverage)], room),
        *(f"{'':<{COLUMN}}{ink(shorten(text, room - COLUMN), 'dim')}" for text in examples),
        *_rows("left out", left_out, room),
        *_rows("checked", [ran or "nothing"], room),
        *_rows("not checked", by_reason, room),
    ]
    return "\n".join(lines)


def _rows(label: str, texts: list[str], room: int) -> list[str]:
    """Folded texts in the second column, the label before the first."""
    labels = [label, *[""] * len(texts)]
    return [
        f"{'  ' + label:<{COLUMN}}{wrap(text, room, ' ' * COLUMN)}"
        for label, text in zip(labels, texts, strict=False)
    ]


def _read(summary: Record, coverage: Record) -> str:
    streams = summary.get("streams") or 1
    lines = coverage.get("lines") or summary.get("lines") or 0
    text = f"{counted(lines, 'line')} in {counted(streams, 'stream')}"
    counts = [
        ("metric_lines", "with numbers"),
        ("skipped", "skipped"),
        ("not_understood", "not understood"),
    ]
    told = [f"{coverage[key]:,} {words}" for key, words in counts if coverage.get(key) is not None]
    return f"{text}: {', '.join(told)}" if told else text
