"""Users' own files of formats: named on the command line, or kept beside the history."""

import argparse
from pathlib import Path


def add_formats(parser: argparse.ArgumentParser) -> None:
    """The option that names them."""
    parser.add_argument(
        "--formats",
        metavar="FILE",
        action="append",
        default=[],
        help="your own prefixes and metric names (TOML), asked before ours",
    )


def own_formats(named: list[str]) -> list[Path]:
    """The named files, and `formats.toml` beside the history where there is one."""
    from runwatch.cli.words.environment import history
    from runwatch.errors import StoreError

    try:
        kept = history(None).parent / "formats.toml"
    except StoreError:  # a user without a home, who has none kept there
        return [*map(Path, named)]
    return [*map(Path, named), *([kept] if kept.is_file() else [])]
