"""A check for people: the answer first, then what it rests on, then when the next is due."""

from datetime import datetime
from typing import TextIO

from runwatch.checkup import Checkup
from runwatch.cli.report.text import clean, paint, shorten, wrap
from runwatch.cli.words.environment import width
from runwatch.judge import Opinion
from runwatch.judgement import Judgement

_COLOURS = {Judgement.STOP: "red bold", Judgement.CONTINUE: "green bold", None: "yellow bold"}
_MARKS = {
    Opinion.FINE: ("ok", "green"),
    Opinion.UNSURE: ("?", "yellow"),
    Opinion.BAD: ("BAD", "red"),
    Opinion.UNKNOWN: ("-", "dim"),
}
_WIDEST = 28  # columns of a signal's name


def report(checked: Checkup, out: TextIO) -> str:
    """The whole text, for a stream that may be a terminal."""
    answer, room = checked.answer, width()
    word = str(answer.judgement or "UNKNOWN")
    head = paint(word, _COLOURS.get(answer.judgement, "yellow bold"), out)
    lines = [f"{head}  {wrap(clean(answer.reason), room, '  ')}"]
    step = "" if checked.step is None else f"step {checked.step:,}"
    if step and checked.total:
        step += f"/{checked.total:,} ({checked.step / checked.total:.0%})"  # type: ignore[operator]
    about = "  ".join(part for part in (clean(checked.run), step) if part)
    lines.append(paint(about, "dim", out))
    column = min(_WIDEST, max((len(s.title) for s in checked.signals), default=0))
    for signal in checked.signals:
        mark, colour = _MARKS[signal.opinion]
        title = clean(signal.title)
        head = f"  {paint(f'{mark:>3}', colour, out)}  {shorten(title, column):<{column}}  "
        lines.append(head + wrap(clean(signal.words), room, " " * (column + 9)))
    lines += [
        f"  {clean(stream)}:{line}: {clean(text)[:200]}" for stream, line, text in checked.evidence
    ]
    lines += _review(checked)
    lines += [f"note: {clean(note)}" for note in checked.notes if note]
    if checked.action:
        lines.append(f"action: {clean(checked.action)}")
    lines.append(
        f"next check due {clock(checked.due)}, in {_minutes(checked.interval)}" + _after(checked)
    )
    return "\n".join(lines) + "\n"


def clock(at: datetime) -> str:
    """A moment as the people here read it."""
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}"


def _review(checked: Checkup) -> list[str]:
    if checked.review is None:
        return []
    review = checked.review
    if review["why"]:
        return [f"reviewer: WAIT, since {clean(review['why'])}"]
    return [f"reviewer ({clean(review['model'])}): {clean(review['answer'])}"]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


def _after(checked: Checkup) -> str:
    return "; the run has ended, so no more are needed" if checked.over else ""
