"""Every kind of finding can be explained, from what its detector says of itself."""

import pytest

from runwatch.detect.explanation import explain, kinds


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_is_explained(kind: str) -> None:
    """What it sees, why it matters, what it misses, how to tune it, and where it stands."""
    found = explain(kind)
    assert found is not None
    assert {"Sees", "Matters", "Misses", "Tune"} == set(found.parts)
    assert all(len(text) > 20 for text in found.parts.values())
    assert found.title
    assert found.source.startswith("runwatch.detect.")


def test_a_finding_in_numbers_is_explained_by_its_own_detector() -> None:
    """Not by the one for texts."""
    found = explain("plateau")
    assert found is not None
    assert "runwatch.detect.plateau" == found.source


def test_a_fault_shows_lines_that_are_it() -> None:
    """A reader sees what to search for."""
    found = explain("cuda_oom")
    assert found is not None
    assert any("out of memory" in line.lower() for line in found.samples)


def test_what_is_no_kind_is_not_explained() -> None:
    """Nothing is made up."""
    assert explain("bad_luck") is None


def test_a_fault_names_the_words_that_lead_to_it() -> None:
    """Signatures, exceptions and exit codes, and the files they stand in."""
    found = explain("sigkill_unknown")
    assert found is not None
    assert "shell-killed" in found.parts["Sees"]
    assert "-9" in found.parts["Sees"]
    assert "signature/host.toml" in found.source


def test_no_kind_claims_to_see_nothing() -> None:
    """Every kind in the table is told by something that reads a log or asks a service."""
    every = [found for kind in kinds() if (found := explain(kind)) is not None]
    assert [] == [e.kind for e in every if e.parts["Sees"].startswith("nothing in a log yet")]
