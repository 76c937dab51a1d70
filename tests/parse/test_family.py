"""Signs of programs: each has samples, and each sample has the sign of its program alone."""

import pytest

from runwatch.parse.family import families
from runwatch.parse.knowledge import shipped


@pytest.mark.parametrize("entry", shipped("family.toml")["family"], ids=lambda entry: entry["name"])
def test_a_sample_is_of_its_family_alone(entry: dict[str, list[str]]) -> None:
    """Every family has a sample, and no other family claims it."""
    assert entry["samples"]
    for sample in entry["samples"]:
        assert [entry["name"]] == [f.name for f in families() if f.sign(sample) is not None]
