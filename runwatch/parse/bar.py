"""Progress bars of tqdm, Keras and rich: drawn, redrawn, and glued to whatever is printed next.

Epoch 3:  45%|####5     | 45/100 [00:10<00:12,  4.02it/s, loss=3.21]
"""

import re
from collections.abc import Sequence

from runwatch.parse.draft import Draft, assign
from runwatch.parse.grid import heading, row
from runwatch.parse.number import NUMBER_MARK
from runwatch.parse.plan import Evidence, Field, Plan
from runwatch.parse.quantity import Names
from runwatch.parse.text import read, speaks_of_eval
from runwatch.pattern import compiled

DRAWN = "%||"  # what stands for a bar of any length
_BAR = compiled(r"%\|[^|\n]{0,300}?\|")
_THIN = compiled(
    r"(?<=\d)%(?: [━╸╺─╌]{4,40})?(?= \d+/\d+ (?:\[|[\d.]+(?:it/s|s/it) ))"
)  # "25% ━━── 2/8 "
_END = compiled(r"(%\|\|\s*[\d.?kKMG]+/[\d.?kKMG]+ \[[^\]\n]{0,400}\])(?=\S|\s+\S)")
_LEADER = compiled(r"\s\.{5,}\s+(?=[^\s:])")  # "min_lr ........... 1e-05"
_LOCATION, _PATH = 16, 120  # characters of "y:12", and of "   train/loop.py:12", at most
_PRINTED_FROM = compiled(r"(?<=\S)\s{2,}[\w./-]+\.py:\d+$")  # at the right edge of a console
_TENSOR = compiled(  # "tensor(2.3, device='cuda:0')", "Array(2.3, dtype=float32)", "param(0.09)"
    r"\b(?:tensor|(?:Device)?[Aa]rray|param)\(\[?\s{0,4}([-+]?\d[\w.+-]{0,30}|nan|-?inf)\s{0,4}\]?"
    r"(?:, ?\w{1,20}=[^(),]{1,60}){0,5}\)"
)
_FILLING = compiled(r"[━╸╺─=>.\u2500-\u257f\u2588-\u258f]{5,}|\[[=>.# ]{5,}\]")
_SCALAR = compiled(r"\bj?np\.[a-z]\w{0,15}\(([^()\s]{1,40})\)")
_DESCRIPTION = compiled(r"[\W\d\x00-\x1f]+")
_MAX_LOOSE = 12  # words of a description; more is something else glued in front


def normal(message: str) -> tuple[str, str]:
    """The message with its bar as `DRAWN`, and what is glued behind the bar (else "")."""
    if "% " in message:
        message = _THIN.sub(DRAWN, message)
    if "%|" not in message:
        return message, ""
    message = _BAR.sub(DRAWN, message)
    if m := _END.search(message):
        return message[: m.end()], message[m.end() :]
    return message, ""


def undrawn(message: str) -> str:
    """The message without the filling of other bars and the place that printed it, with short
    leader dots, and with the numbers of `np.float32(0.5)` and its like alone."""
    if ".py:" in message[-_LOCATION:]:
        end = message.rstrip()
        if m := _PRINTED_FROM.search(end, max(0, len(end) - _PATH)):
            message = end[: m.start()]
    if "tensor(" in message or "rray(" in message or "param(" in message:
        message = _TENSOR.sub(r"\1", message)
    if "np." in message:
        message = _SCALAR.sub(r"\1", message)
    if "━" in message or "===" in message or "..." in message:
        return _FILLING.sub("  ", _LEADER.sub(" ... ", message))
    return message


def bar_plan(literals: Sequence[str], marks: str, at: int, names: Names) -> Plan:
    """A progress bar: what its description says, its count and total, and its postfix."""
    draft = Draft()
    described = read(literals[:at], marks[: at - 1])
    assign(described, literals, 0, draft, names)
    axes = draft.axes
    axes.bar = _DESCRIPTION.sub(" ", "".join(literals[:at])).strip()
    counted = at < len(marks) and marks[at] == NUMBER_MARK
    loose = described.loose_words
    tail = at
    if counted:
        tail = at + 1
        if axes.rank_of_step < 3 or not draft.clues:  # "Step: 2836. Loss: 0.4:  48%|" counts itself
            axes.step, axes.rank_of_step = at, 2
        if tail < len(marks) and literals[tail].strip() == "/" and marks[tail] == NUMBER_MARK:
            axes.total_steps = tail if axes.step == at else axes.total_steps
            tail += 1
    rest = [re.sub(r"^[\s\[]+", " ", literals[tail].removeprefix(DRAWN)), *literals[tail + 1 :]]
    sentence = read(rest, marks[tail:])
    inner = Draft()
    assign(sentence, rest, 0, inner, names)
    for found in inner.fields:
        draft.fields.append(Field(found.slot + tail, found.metric, found.unit))
    draft.clues += inner.clues
    if inner.axes.step is not None and inner.axes.rank_of_step != 2:
        axes.step = inner.axes.step + tail
    if inner.axes.epoch is not None and axes.epoch is None:
        axes.epoch = inner.axes.epoch + tail
    head = () if described.numbers else heading(["".join(literals[:at]).rstrip(": ")]).head
    rates = draft.rates + inner.rates
    evidence = Evidence.CLEAR if draft.clues and len(draft.fields) > rates else Evidence.NONE
    cells = row(described, literals[:at], marks[: at - 1])
    if loose > _MAX_LOOSE:
        evidence = Evidence.NONE
    return Plan(
        evidence, tuple(draft.fields), axes.step, axes.total_steps, axes.epoch, axes.total_epochs,
        axes.rank, axes.bar, cells, head, not speaks_of_eval("".join(literals[:at])),
    )  # fmt: skip
