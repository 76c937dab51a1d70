"""Laws that every signature obeys."""

import pytest

from runwatch.detect.signatures import (
    Signature,
    catalog,
    context_table,
    masked,
    parsed,
)
from runwatch.errors import FormatError
from runwatch.judgement import rules
from tests.detect.text.feeder import batches

SIGNATURES = list(catalog().signatures.values())
NAMES = [signature.name for signature in SIGNATURES]
# Roles whose kind is a matter between the signatures and the episode, not a finding's.
INNER = ("finish", "closing", "phase", "thread", "noise", "handled", "follow-on")


@pytest.mark.parametrize("signature", SIGNATURES, ids=NAMES)
def test_fires_on_its_samples(signature: Signature) -> None:
    """A signature claims each of its own samples, and none with more weight takes it away."""
    claimed = {line: catalog().match(line) for line in signature.fires}
    assert dict.fromkeys(signature.fires, signature.name) == {
        line: found[0].name if found else None for line, found in claimed.items()
    }


@pytest.mark.parametrize("signature", SIGNATURES, ids=NAMES)
def test_stays_silent_on_its_counter_samples(signature: Signature) -> None:
    """A line that only looks like it is not claimed."""
    for line in signature.silent:
        found = catalog().match(line)
        assert found is None or signature.name != found[0].name, line


@pytest.mark.parametrize("signature", SIGNATURES, ids=NAMES)
def test_is_whole(signature: Signature) -> None:
    """A signature has samples of both sorts, fragments as lines are masked, and a known kind."""
    assert signature.fires
    assert signature.silent
    assert [masked(f) for f in signature.fragments] == list(signature.fragments)
    if signature.role not in INNER:
        assert signature.kind == "@exit" or signature.kind in rules()


@pytest.mark.parametrize(
    "signature", [s for s in SIGNATURES if s.role != "noise"], ids=lambda s: s.name
)
def test_samples_are_lines_of_note(signature: Signature) -> None:
    """The parser hands on every line that a signature fires on, whatever prefix it peels off. What
    only looks like a failure need not be handed on."""
    for line in signature.fires:
        noted = [n for batch in batches(line + "\n") for n in batch.lines.column("raw").tolist()]
        assert noted != [], line


def test_measurements_that_look_like_a_failure_are_no_lines_of_note() -> None:
    """They would be read one by one, each of them once more as text."""
    line = " iteration {:8}/ 900 | lm loss: 4.6 | grad norm: 0.8 | number of nan iterations: 0 |\n"
    read = list(batches("".join(line.format(i) for i in range(40))))
    assert 3 * 40 == sum(len(batch.points) for batch in read)
    assert 0 == sum(len(batch.lines) for batch in read)


def test_the_tables_name_known_kinds() -> None:
    """Exceptions, broken-off tracebacks and exit codes lead to kinds that have a rule."""
    table = context_table()
    kinds = {row["kind"] for row in [*table["exception"], *table["cut"]]} | {
        *table["exit"].values()
    }
    assert set() == kinds - set(rules())


def test_a_bad_signature_is_refused_by_name() -> None:
    """A user's file with an unknown role says which signature is wrong, and how to mend it."""
    text = '[[signature]]\nname = "mine"\nrole = "villain"\nfragments = ["x"]\n'
    with pytest.raises(FormatError, match=r"mine\.toml: signature mine") as error:
        parsed(text, "mine.toml")
    assert "roles are root" in error.value.hint


def test_broken_toml_is_refused_with_its_place() -> None:
    """A file that is no TOML is named."""
    with pytest.raises(FormatError, match=r"^mine\.toml: "):
        parsed("[[signature", "mine.toml")
