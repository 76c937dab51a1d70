"""Named rules, asked for on the command line."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runwatch.detect.named import Named


def add_rules(parser: argparse.ArgumentParser) -> None:
    """The option that names them."""
    parser.add_argument(
        "--rule",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="apply a named rule besides, or all (`runwatch explain rules` lists them)",
    )


def named_rules(words: list[str]) -> "tuple[Named, ...]":
    """What was asked for. Raises UsageError where there is no such rule."""
    if not words:
        return ()
    from runwatch.detect.named import chosen

    return chosen(words)
