"""Options that may be given more than once with one command, and once with another."""

from typing import Any


def repeatable(*, several: bool) -> dict[str, Any]:
    """What argparse is told of such an option besides."""
    return {"action": "append", "default": []} if several else {}


def listed(named: Any) -> list[Any]:
    """What was named, either way. An empty name is one, too: it is told to be wrong."""
    return named if isinstance(named, list) else [named] if named is not None else []
