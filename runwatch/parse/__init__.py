"""Bytes to records. `Parser` reads every format it can recognise without being told any.

What is known of formats and names is data: `prefix.toml`, `metrics.toml`, `silence.toml`,
`family.toml`.
"""

from runwatch.parse.ledger import Account
from runwatch.parse.parser import Parser

__all__ = ["Account", "Parser"]
