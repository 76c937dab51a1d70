"""Law of going on: what was read in pieces, as its files grew, is what one reading tells."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runwatch.scanning import scan
from runwatch.store import Store


def log(rank: int, dice: random.Random) -> bytes:
    """A rank's log: its own length, an epoch or none, redraws, a fault or none, held forms."""
    epochs, fails = dice.random() < 0.5, dice.random() < 0.4
    lines = [f"lr: {dice.random()}", "workers: 8"]
    for step in range(1, dice.randrange(20, 90)):
        loss = 3 - step / 100 + dice.random() / 50
        lines.append(f"step {step}/120 | loss {loss:.4f} | lr 1e-4 | grad_norm {dice.random():.3f}")
        if epochs:
            lines[-1] = f"epoch {1 + step // 40} {lines[-1]}"
        if dice.random() < 0.1:
            lines.append("\r".join(f"{step}%|##| {step}/120 loss={i}.5" for i in range(3)))
        if dice.random() < 0.1:
            lines.append(f"eval_loss: {loss + 0.1:.4f}")
        if dice.random() < 0.05:
            lines.append(f"what was measured is {dice.random()}, of 8")
        if dice.random() < 0.05:
            lines.append(f"Saving checkpoint to out/step-{step}")
    if fails:
        lines += ["Traceback (most recent call last):", '  File "t.py", line 3, in <module>',
                  f"RuntimeError: rank {rank} lost its peer"]  # fmt: skip
    text = "\n".join(lines).encode()
    return text if dice.random() < 0.5 else text + b"\n"


def read(folder: Path, store: Store | None) -> Mapping[str, Any]:
    found = scan(str(folder), store=store, clock=lambda: datetime(2026, 3, 1, tzinfo=UTC))
    return found.as_dict()


@pytest.mark.parametrize("seed", range(12))
def test_a_folder_that_grows_reads_as_one_that_was_there(seed: int, tmp_path: Path) -> None:
    """Files that grow, that end in half a line, that do not grow, and that join: the same summary,
    and every point once."""
    dice = random.Random(seed)
    texts = {f"rank_{rank}.log": log(rank, dice) for rank in range(dice.randrange(1, 5))}
    folder, store = tmp_path / "logs", Store(tmp_path / "grown.duckdb")
    folder.mkdir()
    cuts = {name: sorted(dice.choices(range(len(text)), k=2)) for name, text in texts.items()}
    for part in range(3):
        for at, (name, text) in enumerate(texts.items()):
            cut = (*cuts[name], len(text))[part]
            if (at == 0 or part > 0) and cut:  # the others join later
                (folder / name).write_bytes(text[:cut])
        grown = read(folder, store)
    whole = Store(tmp_path / "whole.duckdb")
    assert read(folder, whole) == grown
    rows = "SELECT stream, line, metric, value, step, rank FROM points ORDER BY ALL"
    assert whole.query(rows).to_pylist() == store.query(rows).to_pylist()


def test_what_has_not_grown_still_counts(tmp_path: Path) -> None:
    """Streams, bytes and the rank of a run that is read on are those of all of it."""
    folder, store = tmp_path / "logs", Store(tmp_path / "history.duckdb")
    folder.mkdir()
    for rank in (0, 1):
        (folder / f"rank_{rank}.log").write_text(f"step 1 | loss 2.5\nstep {rank + 2} | lo")
    first = read(folder, store)
    assert read(folder, store) == first
    assert (2, 58) == (first["streams"], first["bytes"])
