"""The plans of shapes that were met, each made once."""

from collections.abc import Sequence

from runwatch.parse.memo import Memo
from runwatch.parse.number import Tokens
from runwatch.parse.plan import SILENT, Plan
from runwatch.parse.quantity import Names
from runwatch.parse.shape import understand
from runwatch.pattern import compiled

_LONG = compiled(r"\d{4,}")  # longer than what a name that we know has of digits


class Plans:
    """Plans by shape. A shape with one of the `fragments` is silent.

    Long numbers in words, as in `to /ckpt/iter_0001000`, make shapes that never come again. Where
    other digits in their places give the same plan, all do; but not where a name that is known has
    as many digits itself.
    """

    def __init__(self, names: Names, fragments: tuple[str, ...]) -> None:
        self._names, self._fragments = names, fragments
        self._of_shape = Memo[Plan]()
        self._of_form = Memo[Plan | None]()
        self._is_numbered = any(map(_LONG.search, names.texts | {*fragments}))

    def of(self, tokens: Tokens) -> Plan:
        """The plan of a line that is split into these."""
        shape = tokens.shape
        plan = self._of_shape.answers.get(shape)
        if plan is not None:
            return plan
        if self._is_numbered or not _LONG.search(shape):
            return self._of_shape.keep(shape, self._made(shape, tokens.literals, tokens.marks))
        form = _with_digits(shape, "0")
        if form not in self._of_form.answers:
            return self._learned(form, tokens)
        known = self._of_form.answers[form]
        if known is not None:
            return known
        return self._of_shape.keep(shape, self._made(shape, tokens.literals, tokens.marks))

    def _learned(self, form: str, tokens: Tokens) -> Plan:
        """The plan of the first shape of a form; whether it is that of the others is found out."""
        plan, alike = self._made(tokens.shape, tokens.literals, tokens.marks), True
        for digit in "07":
            others = [_with_digits(text, digit) for text in tokens.literals]
            said = self._made(_with_digits(tokens.shape, digit), others, tokens.marks)
            alike = alike and said == plan
        self._of_form.keep(form, plan if alike else None)
        return plan

    def _made(self, shape: str, literals: Sequence[str], marks: str) -> Plan:
        for text in self._fragments:
            if text in shape:
                return SILENT
        return understand(literals, marks, self._names)


def _with_digits(text: str, other: str) -> str:
    """The text with another digit in the place of those of its long numbers."""
    return _LONG.sub(lambda m: other * len(m.group()), text)
