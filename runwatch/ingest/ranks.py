"""Which rank a file's name tells: `rank_3/stderr.log`, `slurm-123-7.out`, `worker-0003.log`.

The rules are data (`stream_names.toml`). A wrong rank is worse than none, so a name that might
mean something else (a job id, an array task, a rotated copy, LoRA's rank) tells nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from runwatch import shipped
from runwatch.pattern import compiled

COMPRESSED = compiled(r"\.(?:gz|zst|bz2|xz)$", re.IGNORECASE)
ROTATED = compiled(r"(\.(?:log|out|err|txt|jsonl?))[.-](\d{1,14})$", re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """`pattern` finds the rank in a name; without a group `rank` the name tells none.

    A name that it matches holds one of the lower-case `words`. `beside_master` is added where the
    run also has a master's stream, whose rank is 0.
    """

    name: str
    words: tuple[str, ...]
    pattern: str
    beside_master: int = 0

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Compiled when a name first holds one of the words: most names hold few."""
        return compiled(self.pattern, re.IGNORECASE | re.VERBOSE)


@cache
def rules() -> tuple[Rule, ...]:
    """In order: the first rule that matches a name decides."""
    rows = shipped.table("ingest/stream_names.toml")["rule"]
    return tuple(
        Rule(row["name"], tuple(row["words"]), row["pattern"], row.get("beside_master", 0))
        for row in rows
    )


def rank_of(name: str) -> int | None:
    """The rank that a stream's name tells by itself, None where it tells none."""
    return ranks([name])[0]


def ranks(names: Sequence[str]) -> list[int | None]:
    """The rank of each name of one run, told from the name and, for workers, its siblings."""
    found = [_match(name) for name in names]
    master = any(rule.name == "master" for rule, _ in filter(None, found))
    return [pair and _shifted(*pair, master) for pair in found]


def bare(name: str) -> str:
    """A name without the endings that compression and rotation add."""
    return ROTATED.sub(r"\1", COMPRESSED.sub("", name))


def _match(name: str) -> tuple[Rule, int] | None:
    if not any(sign.isdecimal() for sign in name):
        return None  # saves loading the rules for most single files
    name = bare(name)
    lower = name.lower()
    for rule in rules():
        if not any(word in lower for word in rule.words):
            continue
        hits = list(rule.compiled.finditer(name))
        if hits:
            rank = hits[-1].groupdict().get("rank")
            return None if rank is None else (rule, int(rank))
    return None


def _shifted(rule: Rule, rank: int, master: bool) -> int:
    return rank + rule.beside_master if master else rank
