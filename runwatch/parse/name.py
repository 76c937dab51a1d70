"""Names: what the text in front of a number calls it, cut free of all that is not the name."""

from runwatch.parse.memo import often
from runwatch.parse.number import NAN_MARK
from runwatch.pattern import compiled

END_MARK = "\x04"  # a mark that was put back into the text is followed by its slot and this
INSIDE = compiled(r"(?i)\b(?:on|over|across|for|last|past|previous|first)(?: the)?(?: last)? $")
_INNER = compiled("[\x01\x02\x03]\\d+\x04")
_ATTACHED = compiled(r"(?:\w+(?:-\w+)*\s)?")  # the rest of the word that a number began: "7b "
_BEGUN = compiled(r"[A-Za-z]{1,4}")  # "1px: 0.91, 3px: 0.95"
_TIMED = compiled(  # "ETA is 0:12:10", "elapsed: 1m 2s"
    r"(?i)\b(?:eta|elapsed|remain(?:ing)?|time)(?: (?:is|was|left|cost|taken))?\s*[:=]?\s*"
    r"\x02\d+\x04"
)
_BOUNDARY = compiled(
    r"[,;\uff0c\uff1b|\t{}<>!?\"]|\s{2,}|\s[-\u2013\u2014*#]+\s|\s={2,}\s|\swith\san?\s|(?<!\b[Vv]al)(?<!\b[Aa]vg)\.\s|\)\s|\]\s*(?:/\s+)?"
    r"|^[-*#>=\s|]+(?:/\s+)?|^/\s+|[\u2500-\u257f\u2588]+"
)
_COLON = compiled(r":(?![\d.])")
_WORDS = compiled(r"[A-Za-z_]\w*")
_STATED = compiled(
    r"(?<![\w.-])[\w.-]++=[A-Za-z][\w./-]*|(?<![\w.])[\w.]++: [A-Za-z]\w*+(?=[,;|])"
)  # "mode=train"
_HAS_LETTER = compiled(r"[^\W\d_]")
# What the names behind it belong to: "Test net output #0: ", "Test statistics: Old nodes -- ".
_SCOPE = compiled(r"\W*(?:[A-Za-z][\w./@-]*(?: [\w#./@-]+){0,3}(?:: | --+ ))+")
_ENDS = compiled(r": | --+ ")
_NOTE = compiled(r"\s*(?:\([^()]*\)|<\w+>)\s*$")  # "speed (it/s)", "loss <mean>"
_NO_NAME = compiled(
    r"(?:an?|the|out of|at|after|before|by|for|from|in|into|is|of|on|or|over|per|than|then|to|until"
    r"|up|was|with|within|about|all|and|are|as|be|has)$"
)
# The arguments of a call, or of a printed module; what a trainer returns is printed the same way.
_CALL = compiled(r"\b[A-Za-z_]\w*(?<!Output)(?<!Result)(?<!Metrics)\([^()]*$")
_SOURCE = compiled(r"\.(?:py|cc|cpp|cu|h|hpp|c|go|rs|java|js|ts|scala)\]?$")  # then a line number
_VERB = compiled(r" (?:is|was|reached|of)$")
_UNFINISHED = compiled(  # "the next evaluation at 2000"; but "Step at 1" is a place
    r"(?i)^(?!(?:step|epoch|iter|iteration|update|batch)\b).* (?:at|by|every|than|from)$"
)
_SUPPOSED = compiled(r"(?i)\s*(?:if|when|whether|suppose|assume|because|unless|although)\s")
_FILLER = compiled(
    r"(?i)^\W*(?:(?:the|an?|with|and|at|of|is|has|had|to|its?|our|got|gets|achieved|obtained|now)\s)+"
)
_QUOTES = compiled(r"(?<!\w)['\"]|['\"](?!\w)")
_MAX_NAME = 100
SIGHT = 400  # characters in front of a number among which its name stands, if it has one


def near(text: str) -> str:
    """The end of a text, where the name of a number behind it stands."""
    return text[-SIGHT:]


def trailing_name(region: str, joined_by: str) -> tuple[str, int]:
    """The name at the end of a text and the number of words before it."""
    region = region.rstrip()
    note = ""
    if joined_by != " " and (m := _NOTE.search(region)):
        note, region = m.group().rstrip(), region[: m.start()]
    if region.endswith("]") and "@[" in region:  # COCO: "Average Precision (AP) @[ IoU=… ] = 0.2"
        return _tidy(region.lstrip(" =") + note), 0
    if region.endswith(('"', "'")):
        quote = region[-1]
        start = region.rfind(quote, 0, -1)
        return _tidy(region[start + 1 : -1]) + note, count(region[: max(start, 0)])
    start = 0
    for m in _BOUNDARY.finditer(region):
        if m.end() < len(region):
            start = m.end()
    colon = region.rfind(": ", start)
    if colon >= 0:
        start = colon + 2
    if joined_by != ":":
        start = max((m.end() for m in _COLON.finditer(region, start)), default=start)
    if (bracket := region.rfind("(", start)) >= 0 and ")" not in region[bracket:]:
        start = bracket + 1
    if (bracket := region.rfind("[", start)) >= 0 and "]" not in region[bracket:]:
        start = bracket + 1
    for m in _INNER.finditer(region, start):
        rest = region[m.end() :]
        begun = joined_by != " " and _BEGUN.fullmatch(rest) is not None
        inside = begun or rest in ("", "]") or INSIDE.search(region[: m.start()])
        if m.group()[0] != NAN_MARK and not inside:
            start = _ATTACHED.match(region, m.end()).end()  # type: ignore[union-attr]
    name = region[start:]
    unfinished = joined_by == " " and _UNFINISHED.search(name.rstrip())
    nothing = joined_by != "=" and _NO_NAME.match(name.lower().strip())
    supposed = joined_by == " " and _SUPPOSED.match(name)
    if unfinished or supposed or _CALL.search(region) or nothing:
        return "", count(region)
    scope = _SCOPE.fullmatch(region[:start])
    return _tidy(name + note), len(_ENDS.findall(scope.group())) if scope else count(region[:start])


def _tidy(name: str) -> str:
    name = _VERB.sub("", " ".join(_QUOTES.sub("", name).split()))
    name = _FILLER.sub("", name).strip("-\u2013*\u2022>|,;:.=\ufffd ")
    if not _HAS_LETTER.search(name) or _SOURCE.search(name) or len(name) > _MAX_NAME:
        return ""
    return name


@often
def count(text: str) -> int:
    """The words of a text. One `mode=train` is no prose; many of them are a dump of arguments. What
    names a time is none either."""
    text = _INNER.sub(" ", _TIMED.sub(" ", text))
    return len(_WORDS.findall(_STATED.sub(" ", text, count=1)))
