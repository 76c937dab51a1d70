"""Lines that are nothing but the cells of a table: bare values, or the names above them."""

from collections.abc import Sequence

from runwatch.parse.number import OPAQUE_MARK
from runwatch.parse.plan import OPAQUE, SILENT, Cell, Plan
from runwatch.parse.text import Sentence
from runwatch.pattern import compiled

_MIN_COLUMNS, _MAX_COLUMNS = 3, 60
_MAX_NAME = 40
_MAX_HEADING = 1000
_MAX_LOOSE = 3  # words among the values of a row: `all`, `person`
_SLOT = compiled("\x01(\\d+)\x01")
_EDGES = str.maketrans("│┃&", "|||")  # "& 0.115 & 0.903 \\\\" is a row of LaTeX
_DRAWN = compiled(r"[|\t,;]")
_DRAWN_CELLS = compiled(r"\s*\|\s*|\t+|\s{2,}|[,;]\s*")
_LISTED_CELL = compiled("\\[(?:[\\s,]|\x01\\d+\x01)*+\\]")  # "[0.31, 0.12]", or one without any
_LIST_ALONE = compiled("\x03([\\d.]*)\x03\\s*")
_COMMENT = compiled(r"^#\s+")
_BARS = compiled(r"\s*[|│┃]\s*")
_LISTED = compiled(r"[\w./@%-]+(?:,\s*+[\w./@% -]++)+|[\w./@% -]++(?:,(?=\S)[\w./@% -]++)+")
_LISTED_APART = compiled(r"[\w./@%-]+(?:;\s*+[\w./@% -]++){2,}")
_LEADER = compiled(r"\.{2,}")
_GAP = compiled(r"\s{2,}")
_NO_HEAD = compiled(  # a word of a sentence, or none
    r"(?i)(?:an?|the|th(?:at|is|ese|ose|en|an)|to|of|in|is|are|be|was|were|been|and|or|not?|as|at|by|for|from"
    r"|with|if|it|its|on|can|may|might|must|will|would|should|has|have|had|but|so|until|when|which"
    r"|we|you|i|some|use[ds]?)|[^A-Za-z\u0080-\uffff#%]+|.*[`{};\\].*"
)
_PRECISION_AND_RECALL = compiled(r"\(P\s+R\b")


def row(sentence: Sentence, literals: Sequence[str], marks: str) -> tuple[Cell, ...]:
    """The cells of a line that is nothing but values in columns, else nothing."""
    if sentence.values < 2 or sentence.loose_words > _MAX_LOOSE:
        return ()
    text = _marked(literals, marks)
    text = text.translate(_EDGES).strip().rstrip("\\ ").strip("|").rstrip(":")
    if "[" in text:
        text = _LISTED_CELL.sub(lambda m: f"\x03{'.'.join(_SLOT.findall(m.group()))}\x03", text)
    if text.startswith('"'):
        text = text.replace('"', "")
    drawn = _DRAWN.search(text) is not None
    out = _cells(_DRAWN_CELLS.split(text.strip()) if drawn else text.split())
    if (None in out or ", " in text) and "|" not in text and "\t" not in text:
        apart = _cells(_GAP.split(text.strip()))  # "12.4 ms" is one cell
        out = apart if _MIN_COLUMNS <= len(apart) < len(out) else out
    numbers = sum(map(is_value, out))
    return tuple(out) if numbers >= 2 and numbers * 2 >= len(out) else ()


def beside(literals: Sequence[str], marks: str) -> tuple[Cell, ...]:
    """The bare cells of a line whose other cells say themselves what they hold, else nothing:
    `12	images/sec: 1212.1	7.121`."""
    if not any("\t" in literal for literal in literals):
        return ()
    found = [_SLOT.fullmatch(cell.strip()) for cell in _marked(literals, marks).split("\t")]
    cells = tuple(int(m.group(1)) if m else None for m in found)
    return cells if cells[0] == 0 and any(map(is_value, cells[1:])) else ()


def _marked(literals: Sequence[str], marks: str) -> str:
    """The line with the slots of its numbers in their places."""
    return literals[0] + "".join(
        f"\x01{slot}\x01{literal}" if marks[slot] != OPAQUE_MARK else f"\x02{literal}"
        for slot, literal in enumerate(literals[1:])
    )


def is_value(cell: Cell) -> bool:
    """Whether a cell holds a number, or a list of them."""
    return bool(cell) if isinstance(cell, tuple) else cell is not None and cell >= 0


def _cells(texts: Sequence[str]) -> list[Cell]:
    """What the cells of a row begin with."""
    return [_cell(text.lstrip(" \t*`")) for text in texts]  # "**0.51**": the best one


def _cell(text: str) -> Cell:
    if found := _SLOT.match(text):
        return int(found.group(1))
    if listed := _LIST_ALONE.fullmatch(text):
        return tuple(int(slot) for slot in listed.group(1).split(".") if slot)
    return OPAQUE if text.startswith("\x02") else None


def heading(literals: Sequence[str]) -> Plan:
    """The names of a line that may be the head of a table."""
    line = literals[0] if len(literals) == 1 else ""
    text = _COMMENT.sub("", line.strip().strip("|│┃").strip())
    if not text or len(text) > _MAX_HEADING:
        return SILENT
    if "|" in text or "│" in text or "┃" in text:
        cells = _BARS.split(line.strip())
        cells = cells[not cells[0] : len(cells) - (not cells[-1])]  # between the edges
    elif _LISTED.fullmatch((bare := text.replace('"', "").removeprefix("#")).removeprefix(",")):
        cells = [cell.strip() for cell in bare.split(",")]
    elif _LISTED_APART.fullmatch(bare):
        cells = [cell.strip() for cell in bare.split(";")]
    elif "\t" in text:
        cells = [cell.strip() for cell in text.split("\t") if cell.strip()]
    elif _GAP.search(text):
        cells = _GAP.split(_PRECISION_AND_RECALL.sub("(P  R", text))
        if line.lstrip().startswith("#"):
            cells = text.split()  # the names above the columns of a file of numbers
    else:
        cells = text.split()
        if any(cell.endswith(",") or _NO_HEAD.fullmatch(cell) for cell in cells):
            return SILENT  # a sentence
    if not _MIN_COLUMNS <= len(cells) <= _MAX_COLUMNS or any(
        len(cell) > _MAX_NAME for cell in cells
    ):
        return SILENT
    if any(cell.startswith("-----") or _GAP.search(cell) for cell in cells):
        return SILENT  # a title between rules, what nvidia-smi shows
    if any(_LEADER.fullmatch(cell) for cell in cells):
        return SILENT  # "loss_fn ... cross entropy"
    return Plan(head=tuple(map(_head_name, cells)), spans=_spans(line, cells))


def _spans(line: str, cells: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Where the names stand, for rows with empty cells; nothing where that cannot be told."""
    out = []
    at = 0
    for cell in cells:
        start = line.find(cell, at)
        if start < 0 or not cell:
            return ()
        at = start + len(cell)
        out.append((start, at))
    return tuple(out)


def _head_name(cell: str) -> str:
    """A column's name: `Box(P` is P, `mAP50-95)` is mAP50-95."""
    cell = cell.strip().strip(":")
    if "(" in cell and ")" not in cell:
        cell = cell[cell.index("(") + 1 :]
    elif ")" in cell and "(" not in cell:
        cell = cell.replace(")", "")
    return cell
