"""A process that writes: `python -m tests.store.history_writer FILE RUN FLUSHES`, a line out
a flush.

It goes on from what is stored of the run, as a scan does, and says how far that was first.
"""

import sys
from pathlib import Path

from runwatch.store import Store
from tests.store.stored_batches import batch, cursor

LINES = 50  # per flush


def tell(done: int) -> None:
    sys.stdout.write(f"{done}\n")
    sys.stdout.flush()


def main(path: str, run: str, flushes: int) -> None:
    store = Store(Path(path), patience=600)
    past = store.past(run)
    done = past.cursors["train.log"].lines if past else 0
    tell(done)
    for _ in range(flushes):
        piece = batch(done + 1, done + LINES, noted=[(done + 1, f"line {done + 1}")])
        done += LINES
        state = {"lines": done}
        store.flush(run, "train.log", [piece], {"train.log": cursor(done)}, state)
        tell(done)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
