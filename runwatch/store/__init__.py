"""Keep and ask: the history of all runs in one DuckDB file that nobody holds open.

    store = Store(path)                      # nothing is opened yet
    past = store.past(run)                   # None, or the cursors and state to go on from
    store.flush(run, target, batches, cursors, state, fresh=past is None)
    store.flush(run, target, batches, cursors, state, summary)       # or store.save(summary)
    store.query("select * from points")      # read-only, as a pyarrow.Table
    store.runs(), store.run("last")          # for `runwatch runs` and `runwatch show`

Every flush opens the file, commits one transaction and closes it. So a process that dies leaves
what its last flush wrote: rows, cursors and state that belong together.
"""

from runwatch.store.past import Past
from runwatch.store.store import Store

__all__ = ["Past", "Store"]
