"""How tables lie in memory: numbers that stand for things."""

import ast
from collections import Counter
from pathlib import Path

from runwatch.kernels import layout


def test_no_name_stands_for_two_things() -> None:
    """The later one would be taken for both."""
    assert layout.__file__ is not None
    module = ast.parse(Path(layout.__file__).read_text(encoding="utf-8"))
    names = Counter(
        part.id
        for statement in module.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name)
    )
    assert names["SMALL"] == 1
    assert not [name for name, count in names.items() if count > 1]
