"""Decides which lines are worth a template, and lays it out."""

from typing import TYPE_CHECKING

from runwatch.kernels import layout, native
from runwatch.parse.parts import Template
from runwatch.parse.probe import NOWHERE, Probe
from runwatch.parse.program import Program
from runwatch.parse.template import as_it_is, learn
from runwatch.parse.trace import Context, Outcome, Trace

if TYPE_CHECKING:
    from runwatch.parse.reader import Reader
    from runwatch.parse.remembered import Memory

_LONGEST = 8192  # bytes of a line whose numbers are changed
_MAX_TEMPLATES = 1 << 14
_MAX_EXACT = 1 << 15
_MAX_ONCE = 1 << 14  # lines of which what came of them is remembered until they come again
_MAX_BYTES = 1 << 23  # of lines that are kept as they are
_MOST_AT_ONCE = 1 << 14, 1 << 22  # lines, and their bytes, that are kept before they come again
_MAX_SILENT = 1 << 10  # different things that lines do which report nothing
_MAX_SEEN = 1 << 16
_MAX_NAMES = 512  # kinds, or keys, whose state is kept for each writer
_VARIANTS = 24  # templates of one form: for digits of other widths, in other contexts
# Lines of one form after which it pays to learn it, which costs several reads: one that reports is
# sure to come again.
_REPORTING, _SILENT = 2, 3
_TRIES = 48  # lines of one form that are looked at


class Learner:
    """Sees the lines that no template fitted."""

    def __init__(
        self, host: "Reader", program: Program, *, timed: bool, memory: "Memory | None" = None
    ) -> None:
        self._host, self._program, self._timed, self._memory = host, program, timed, memory
        self._probe = Probe(host, timed=timed)
        self._seen: dict[int, int] = {}
        self._learned: dict[int, list[Template]] = {}
        self._lines: set[int] = set()  # that were seen, by their very bytes
        self._kept: set[tuple[int, Context]] = set()  # lines, and the contexts they were kept in
        self._once: dict[int, tuple[Outcome, Context]] = {}  # what came of lines seen once
        # Templates of lines as they are that report nothing, by what they do.
        self._silent: dict[tuple[Outcome, Context], int] = {}
        self._bytes = self._general = 0

    def recall(self, line: bytes, start: int, end: int) -> bool:
        """Keep a line that comes again as it is, from what came of it when it was read, or take up
        what was learned of such a line in an earlier run; whether there was one. What comes once
        only is never laid out."""
        outcome, before = self._once.pop(hash(line), (None, NOWHERE))
        if outcome is None and self._memory is not None and len(line) <= _LONGEST:
            form = int(native.form_at(start, end))
            template = self._memory.template(form, line, self._probe)
            if template is not None:
                return self._add(template, form)
            outcome, before = self._memory.outcome(line) or (None, NOWHERE)
        return outcome is not None and self._keep(line, start, end, outcome, before)

    def consider(self, line: bytes, start: int, end: int, trace: Trace) -> bool:
        """Learn from a line, between two addresses, and the steps it took; whether something was
        learned."""
        if not line or len(line) > layout.LONGEST:
            return False
        if trace.odd or len(trace.taken) > 1:
            return False
        seen = hash(line)
        if seen in self._lines:
            outcome = trace.outcome(timed=self._timed)
            return outcome is not None and self._keep(line, start, end, outcome, trace.before)
        if len(self._lines) >= _MAX_SEEN:
            self._lines.clear()
        self._lines.add(seen)
        form = int(native.form_at(start, end))
        count = self._seen.get(form, 0) + 1
        if len(self._seen) >= _MAX_SEEN:
            self._seen.clear()
        self._seen[form] = count
        if len(line) <= _LONGEST and count <= _TRIES and self._learns(line, form, count, trace):
            return True
        if (outcome := trace.outcome(timed=self._timed)) is None:
            return False
        if self._memory is not None and len(line) <= _LONGEST:
            self._memory.saw(line, outcome, trace.before)
        if not outcome.form and self._may_keep_at_once():
            return self._keep(line, start, end, outcome, trace.before)
        if len(self._once) >= _MAX_ONCE:
            self._once.clear()
        self._once[seen] = outcome, trace.before
        return False

    def _may_keep_at_once(self) -> bool:
        """Whether there is room for lines that may never come again; to keep one that says nothing
        costs less than to read it again."""
        lines, size = _MOST_AT_ONCE
        return len(self._kept) < lines and self._bytes < size

    def _learns(self, line: bytes, form: int, count: int, trace: Trace) -> bool:
        """Lay out what lines of this form are like, so many of which came; whether it was."""
        if self._memory is not None:
            template = self._memory.template(form, line, self._probe, trace.before)
            if template is not None:
                return self._add(template, form)
        reports = trace.taken and trace.taken[0][0].points
        if count < (_REPORTING if reports else _SILENT) or not self._has_room(form):
            return False
        template = learn(line, self._probe, trace)
        if template is None or not self._add(template, form):
            return False
        if self._memory is not None:
            self._memory.learned(form, template)
        return True

    def _has_room(self, form: int) -> bool:
        return self._general < _MAX_TEMPLATES and len(self._learned.get(form, ())) < _VARIANTS

    def _add(self, template: Template, form: int) -> bool:
        """Keep a template for all lines that it fits; whether it says what no other does."""
        known = self._learned.setdefault(form, [])
        if (
            not self._has_room(form)
            or not self._fits_in(template.outcome.form, template.outcome.key)
            or not all(_differ(template, other) for other in known)
        ):
            return False
        known.append(template)
        self._general += 1
        self._program.add(template, self._program.forms, form, self._host.ledger.numbers)
        return True

    def _keep(self, line: bytes, start: int, end: int, outcome: Outcome, before: Context) -> bool:
        """Keep a line that came before as it is."""
        exact = int(native.exact_at(start, end))
        if (
            (exact, before) in self._kept
            or not self._fits_in(outcome.form, outcome.key)
            or len(self._kept) >= _MAX_EXACT
            or self._bytes + len(line) > _MAX_BYTES
        ):
            return False
        self._kept.add((exact, before))
        self._bytes += len(line)
        alike = self._silent.get((outcome, before))
        if alike is not None:
            self._program.add_alike(alike, line, exact)
            return True
        number = self._program.add(
            as_it_is(line, outcome, before), self._program.exact, exact, self._host.ledger.numbers
        )
        if not outcome.form and len(self._silent) < _MAX_SILENT:
            self._silent[outcome, before] = number
        return True

    def _fits_in(self, form: tuple[tuple[str, str], ...], key: str) -> bool:
        """Whether there is room for the state of a kind of record."""
        kinds, keys = self._program.kinds, self._program.keys
        if len(form) > layout.MAX_SLOTS - 8:
            return False
        kind = form[0][0] if form else ""
        return (not self._timed or kind in kinds or len(kinds) < _MAX_NAMES) and (
            key in keys or len(keys) < _MAX_NAMES
        )


def _differ(template: Template, other: Template) -> bool:
    """Whether a template says something that another does not."""
    return (template.parts, template.inside, template.code, template.head) != (
        other.parts, other.inside, other.code, other.head,
    )  # fmt: skip
