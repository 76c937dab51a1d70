"""The suffix of a number: `ms`, `%`, `GiB`, `tokens/s`. It is kept as printed, never scaled by."""

from runwatch.parse.memo import often
from runwatch.pattern import compiled

_RATE = (
    r"(?:[A-Za-z]{1,12}(?:_[A-Z]{1,6})?|µs)\s?/\s?(?:s|sec|secs|second|seconds|it|iter|step|sample|seq|batch|epoch|"
    r"image|img|GPU|gpu|device|min|hour|token|tok)\b(?:/(?:GPU|gpu|device|chip|s|sec))?"
    r"(?: per (?:GPU|device|chip|node|worker)\b)?"
    r"|/\s?(?:s|sec|step|it|GPU)\b|(?:tokens|samples|images|steps|examples) per (?:second|sec)\b"
)
_CLOSE = (
    r"%|pct|[munµ]s|[mu]?secs?|seconds?|mins?|minutes?|hrs?|hours?|[KMGTPkmgtp]i?[Bb](?:ytes)?|(?:[Gg]iga|[Mm]ega)[Bb]ytes|"
    r"[KMGTPE]?FLOP/?[sS]|[KMGT]?flops|[kKMGTB]|[smhxi]|its?|ba|kit|epochs?|batch(?:es)?|"
    r"m?eV(?: ?/ ?(?:A|atom|Å))?|billion|million|bytes|tks/s|dB|W|C"
)
# Right behind the number, whatever follows that is no word: `12ms`, `61.25GiB(77%)`, `0.59M`.
_TIGHT = compiled(rf"[kKMG] ?(?:{_RATE})|(?:{_RATE}|{_CLOSE})(?!\w|/(?!$))")
_ONLY_RATE = compiled(rf"(?:[kKMGB] )?(?:{_RATE})")
# After a blank only where no name of the next number can be meant: at the end, at a separator.
_LOOSE = compiled(
    rf" ((?:[kKMGB] )?{_RATE}|(?:{_CLOSE}|seconds|examples|samples|tokens|params|MFLOPS)(?![\w/]))"
    r"(?=\s*$|\s*[,;|()\]}\n\t]| {2,}| -| : |\.(?:\s|$)|\s+(?:and|per|total)\b)"
)

# ... or where a name with its separator goes on behind it: ` s/iter data_time: `.
_NAMED_BEHIND = compiled(
    rf" ((?:[kKMGB] )?{_RATE}|[munµ]?s|secs?|seconds|[KMGT]i?B)"
    r"(?= [A-Za-z_][\w./()% -]{0,60}[:=]\s*$)"
)
_RATE_OVER = compiled(rf" ((?:[kKMGB] )?{_RATE})(?= (?:between|over|across|on|from) )")
_COUNTED = frozenset(("epoch", "epochs", "batch", "batches", "examples", "samples", "tokens"))


def is_rate(text: str) -> bool:
    """Whether a text is a unit like `tokens/s`, and nothing else."""
    return _ONLY_RATE.fullmatch(text) is not None


@often
def take(text: str) -> tuple[str, str]:
    """The unit at the start of what follows a number, and the rest: `("ms", ", mfu ")`."""
    if not text:
        return "", ""
    if m := _TIGHT.match(text):
        return m.group().strip(), text[m.end() :]
    if text[0] == " " and (
        m := _LOOSE.match(text) or _NAMED_BEHIND.match(text) or _RATE_OVER.match(text)
    ):
        if m.group(1) in _COUNTED and text[m.end() :] == " ":
            return "", text  # "step 500 epoch 2": the name of the next number
        return m.group(1).strip(), text[m.end() :]
    return "", text
