"""From the shape of a text line to its plan: which numbers are axes, which are measurements.

A plan depends on the shape alone, never on a value, so it is made once per shape and holds for
every line of it.
"""

from collections.abc import Sequence

from runwatch.parse.bar import DRAWN, bar_plan
from runwatch.parse.draft import Draft, assign
from runwatch.parse.grid import beside, heading, row
from runwatch.parse.number import NAN_MARK, NUMBER_MARK
from runwatch.parse.plan import SILENT, Evidence, Field, Plan
from runwatch.parse.quantity import Names
from runwatch.parse.text import Number, Sentence, read, speaks_of_eval
from runwatch.pattern import compiled

_TIMES = compiled(r"^\W*(?:\w+=\S* )?(?:time|timers?|times) ?\((?:ms|s|us)\)")
_CODE = compiled(
    r"^\s*(?:def|class|import|from|return|if|elif|else|for|while|with|try|raise|assert|print"
    r"|#include|static|const|void|int|float|struct)\b.*[(:{;]|\bself\.|^(?!\s*={2,}>?\s).*==(?!\[)"
    r"|^\s*>>> |\+=|(?!^)\{\w|\bargs\.|=\s+\*\s*\(|[\w)] \*\* "
)
_MANY = 2  # clues; with more of them a line surely reports
_PROSE, _SURE_PROSE = 2, 4  # words beside a counter, or a fraction, that make it a sentence
_FLAG = compiled(r"(?:^|[\s'\"\[])--[A-Za-z][\w-]*(?:[ =]|['\"],|$)")
_SHELL = compiled(r"\++ (?!\S+: )|\s*(?:export|declare -x|setenv) \w+[= ]")
_DUMP = compiled(r"\s*[\w./-]+ \.\.\. (?!.*[:=])")  # "loss_scale ........ 0"
_JOINT = compiled(r"\w[/_]\w")  # "val/abs_rel" is nothing but a name
_NAMING = compiled(r"[:=]")
_SUM = compiled(r"\x01\s[-+*x\u00d7\u00f7]\s\x01\s*=")  # arithmetic, as models write it
_QUOTED_KEY = compiled(r"""^\s*["'][^"']*["']\s*:\s*+,?\s*$""")  # of a pretty-printed object


def understand(literals: Sequence[str], marks: str, names: Names) -> Plan:
    """Make the plan of a shape, given as literals and the marks of the tokens between them."""
    if NUMBER_MARK not in marks and NAN_MARK not in marks:
        return heading(literals)
    bar = next((i for i, text in enumerate(literals) if text.startswith(DRAWN)), 0)
    if bar and marks[bar - 1] == NUMBER_MARK:
        return bar_plan(literals, marks, bar, names)
    if any("--" in text and _FLAG.search(text) for text in literals):
        return SILENT  # a command line
    if _DUMP.match(literals[0]) and not any(map(_NAMING.search, literals[1:])):
        return SILENT
    if marks.count(NUMBER_MARK) > 2 and _SUM.search(_drawn(literals, marks)):
        return SILENT
    sentence = read(literals, marks)
    draft = Draft(timed=_TIMES.match("".join(literals)) is not None)
    assign(sentence, literals, 0, draft, names)
    return _finish(draft, sentence, literals, marks, names)


def _drawn(literals: Sequence[str], marks: str) -> str:
    """The line with a mark for each of its tokens."""
    return literals[0] + "".join(map("".join, zip(marks, literals[1:], strict=True)))


def _finish(
    draft: Draft, sentence: Sentence, literals: Sequence[str], marks: str, names: Names
) -> Plan:
    axes = draft.axes
    text = "".join(literals)
    located = axes.step is not None or axes.epoch is not None
    loose = sentence.loose_words + draft.prose
    evidence = Evidence.NONE
    listing = loose - len(draft.weak) if len(draft.weak) > 3 else loose  # "act 0.1 pre 0.2 f 3"
    sure_of = _SURE_PROSE if axes.rank_of_step > 1 else _PROSE
    if located and ((draft.twice and not draft.sure) or (not draft.fields and listing > sure_of)):
        return SILENT  # "Step 1: add the two numbers" counts nothing
    if located:
        draft.clues += draft.rates
    if sentence.turned and axes.step is not None:
        draft.fields += [found for found in draft.weak if _is_short(found)]
        draft.prose, draft.weak = 0, []
        loose = sentence.loose_words
    weak = len(draft.weak)
    listed = (
        draft.clues >= 2
        or (located and weak >= 3 and loose - weak <= min(draft.clues, 1))
        or (located and draft.clues and loose == weak)
        or (draft.clues and loose == weak > 1 and all(_JOINT.search(f.metric) for f in draft.weak))
        or (draft.clues == 1 and all(f.unit for f in draft.weak))
    )
    if weak == 1 and axes.step == 0 and not draft.fields and _is_split(draft, names):
        draft.fields, draft.weak, draft.clues = draft.weak, [], 1  # "1200 val 3.91"
        weak, loose = 0, loose - 1
    if weak == 1 == loose and located and not draft.fields and _is_all(sentence, draft):
        draft.fields, draft.weak, weak, loose = draft.weak, [], 0, 0  # "Epoch 500   Error 0.02"
    single = [found for found in draft.weak if _is_short(found, draft.clues > _MANY)]
    named = weak == 1 and len(draft.fields) >= 3 and loose == 1 and "_" in draft.weak[0].metric
    if single and (named or (listed and (len(single) == weak or draft.clues >= 2))):
        draft.fields = sorted(draft.fields + single, key=lambda found: found.slot)
        loose -= len(single)
    if draft.timed:
        draft.clues, draft.settings = len(draft.fields), 0
    if _CODE.search(text) or _SHELL.match(text):
        evidence = Evidence.NONE  # source, or a shell's trace of its commands
    elif any(found.slot != axes.step for found in draft.fields) or (draft.fields and not loose):
        evidence = _weigh(draft, loose, located)
        if not draft.known and _QUOTED_KEY.match(text):
            evidence = Evidence.NONE
    labelled = _is_labelled(sentence)
    bare = labelled or not draft.fields
    cells = row(sentence, literals, marks) if bare else beside(literals, marks)
    return (
        Plan(
            evidence=evidence,
            fields=tuple(draft.fields),
            step=axes.step,
            total_steps=axes.total_steps if axes.total_steps is not None else axes.announced_steps,
            epoch=axes.epoch,
            total_epochs=axes.total_epochs
            if axes.total_epochs is not None
            else axes.announced_epochs,
            rank=axes.rank,
            bar=axes.bar,
            row=cells,
            training=not speaks_of_eval(text) or _tells_both(draft, names),
            step_unit=next((n.unit for n in sentence.numbers if n.slot == axes.step), ""),
        )
        if located
        or draft.fields
        or cells
        or axes.rank is not None
        or axes.announced_steps is not None
        else SILENT
    )


def _is_all(sentence: Sentence, draft: Draft) -> bool:
    """Whether a line holds nothing but its place and one number with a name of one word."""
    axes = draft.axes
    places = (axes.step, axes.total_steps, axes.epoch, axes.total_epochs, draft.weak[0].slot)
    return " " not in draft.weak[0].metric and all(n.slot in places for n in sentence.numbers)


def _is_labelled(sentence: Sentence) -> bool:
    """Whether no number has a name of its own beside a label of the line: "test: 0.7  0.6  0.5"."""
    first, *others = sentence.numbers or [Number(0)]
    bare = len(others) > 1 and not any(number.name or number.link for number in others)
    label = bare and first.joined_by == ":" and not first.link
    return label or all(number.joined_by == "|" for number in sentence.numbers)


def _is_short(found: Field, sure: bool = False) -> bool:
    """Whether a name without a separator is one: a word, or two before a number with a unit or,
    where it is sure that the line reports, before any."""
    return " " not in found.metric or (bool(found.unit or sure) and found.metric.count(" ") == 1)


def _tells_both(draft: Draft, names: Names) -> bool:
    """Whether a loss stands beside that of an evaluation, which has a name of its own."""
    rules = (names.quantity(found.metric) for found in draft.fields)
    return {"loss", "eval_loss"} <= {rule.name for rule in rules if rule}


def _is_split(draft: Draft, names: Names) -> bool:
    """Whether the only name of a line is that of a split of the data, and stands for its loss."""
    return draft.weak[0].metric.lower() in names.axes.get("split", ())


def _weigh(draft: Draft, loose: int, located: bool) -> Evidence:
    """How sure the line is to report: what speaks for it against what speaks for prose."""
    fields = len(draft.fields)
    if located and draft.clues and loose <= 4 + 2 * fields and draft.settings <= 1 + draft.clues:
        return Evidence.CLEAR
    if located and draft.axes.step is not None and fields >= 2 and loose <= 2:
        return Evidence.CLEAR
    if located and draft.known and loose <= 2 and not draft.settings:
        return Evidence.CLEAR
    if draft.clues and not draft.settings and loose <= 1 + fields:
        return Evidence.CLEAR if draft.sure or fields > 1 else Evidence.KNOWN
    if draft.clues > draft.settings and fields >= 3 and loose <= fields:
        return Evidence.CLEAR
    if draft.sure and loose <= 1 and draft.settings <= draft.clues:
        return Evidence.CLEAR
    if loose <= 2 and (not draft.settings or draft.clues):
        return Evidence.KNOWN if draft.known else Evidence.HELD
    if located and loose <= 2 and 2 * draft.settings < fields:
        return Evidence.HELD  # "Epoch 3: Digit: 0.24, Rotation: 0.03, Total: 0.27"
    return Evidence.NONE
