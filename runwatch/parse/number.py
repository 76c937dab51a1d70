"""Where the numbers of a line are, and what they are worth.

A line is split into literal text and tokens of three kinds: numbers; opaque things made of digits
that are no measurement (dates, clocks, versions, addresses); and nan or inf. The literals with the
kinds between them are the line's *shape*: two lines of one shape mean the same, number by number.
"""

from typing import NamedTuple

from runwatch.parse.memo import lately
from runwatch.pattern import compiled

NUMBER = (
    r"[+-]?(?:\d{1,3}(?:,\d{3}){1,8}+(?!\d|,\d)(?:\.\d+)?"
    r"|\d+(?:\.\d*+(?:f-?\d{1,2}(?![\w.]))?)?|\.\d+)(?:[eE][+-]?\d+)?"  # Julia's 0.125f0, too
)
OPAQUE = "|".join(
    (
        r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T_ -]\d{1,2}[:-]\d{2}[:-]\d{2}(?:[.,]\d+)?"
        r"(?:Z|[+-]\d{2}:?\d{2})?)?",  # a date, with or without its time of day
        r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) "
        r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
        r" +\d{1,2} \d\d:\d\d:\d\d(?: [A-Z]{3,4})?(?: \d{4})?",  # as C prints it
        r"\d+(?: days?, )\d+:\d{2}:\d{2}",
        r"\d+:\d{2}:\d{2}(?:[.,]\d+)?|\d+:\d{2}(?![\d:.])",  # a clock, or a duration
        r"\d+h ?\d+m(?: ?\d+s)?\b|\d+m(?:in)? ?\d+s\b",
        r"\d+(?:\.\d+){2,}(?::\d+)?",  # a version, or an address
        r"0x[0-9a-fA-F]+",
        r"(?:cuda|cpu|gpu|xpu|npu|hpu|tpu|mps|xla):\d+(?:/\d+)?",
    )
)
NOT_FINITE = r"[+-]?(?:nan|inf|infinity)(?:\.0)?(?=[mun]?s\b|%|\b)(?![\w(])|[+-]?nan(?=[mun]?s\b)"

# No digit of a word (`top1`, `w2v`, `Acc@1`) or of a hyphenated one (`mAP50-95`) is a number.
# What is counted with `#` is a number behind the name of an axis only: `Epoch #1`, not `output #1`.
_HYPHENATED = "".join(rf"(?<![A-Za-z_][0-9]{{{digits}}}-)" for digits in range(1, 4))
_COUNTERS = (
    "[Ss]tep",
    "STEP",
    "[Ii]ter",
    "ITER",
    "[Ii]teration",
    "[Ee]poch",
    "EPOCH",
    "[Ee]pisode",
)
_HYPHENATED += rf"(?:(?<![A-Za-z_]-)|{'|'.join(rf'(?<={word}-)' for word in _COUNTERS)})"
# The thresholds of an averaged score, `mAP@0.50:0.95`, are part of its name.
_RANGED = "".join(rf"(?<!@{low}:)" for low in (r"\d\.\d\d", r"\d\.\d", r"\.\d\d", r"\.\d"))
_COUNTED = r"(?<=[Ee]poch #)|(?<=[Ii]ter #)|(?<=[Ss]tep #)|(?<=[Ii]teration #)|(?<=[Ee]pisode #)"
TOKEN = compiled(
    rf"(?=[-+.\dFIMNSTWcghimntx])(?<![\w.@])(?:(?<!#)|{_COUNTED}){_HYPHENATED}{_RANGED}(?:({OPAQUE})|({NUMBER})|((?i:{NOT_FINITE})))"
)
_DIGIT = compiled(r"\d")
OPAQUE_MARK, NUMBER_MARK, NAN_MARK = "\x02", "\x01", "\x03"


class Tokens(NamedTuple):
    """A line split: `literals` has one more element than `marks` and `values`. Nobody changes
    them. `shape` is the literals with a mark for each token between them."""

    literals: list[str]
    marks: str
    values: list[str]
    shape: str


@lately
def split(text: str) -> Tokens:
    """Split a line into literals and tokens."""
    parts = TOKEN.split(text) if _is_numeric(text) else [text]
    if len(parts) == 1:
        return Tokens(parts, "", [], text)
    marks, values = [], []
    drawn = parts[::2]  # each second one of them is a number or None
    for index in range(1, len(parts), 4):
        opaque, number, _ = parts[index : index + 3]
        if opaque is not None:
            marks.append(OPAQUE_MARK)
            values.append(opaque)
        elif number is not None:
            marks.append(NUMBER_MARK)
            values.append(number)
        else:
            marks.append(NAN_MARK)
            values.append(parts[index + 2])
    drawn[1::2] = marks
    return Tokens(parts[::4], "".join(marks), values, "".join(drawn))


def _is_numeric(text: str) -> bool:
    """Whether there is something in a text that every token has."""
    if _DIGIT.search(text):
        return True
    lower = text.lower()
    return "nan" in lower or "inf" in lower


def value_of(text: str) -> float:
    """The number that a token stands for, equal to `float(text)` to the last bit.

    Thousands separators are removed; a number too large for a double is infinite, as C reads it.
    """
    return float(text.replace(",", "") if "," in text else text)
