"""DuckDB's engine alone, for what needs no more: writing few rows and looking up a run.

Its package around the engine, which reads and gives Arrow tables, takes three times as long to
load; whoever wants those imports `duckdb`. Both raise the same errors.
"""

try:
    import _duckdb as duckdb
except ImportError:  # another release keeps its engine elsewhere
    import duckdb  # type: ignore[no-redef]

__all__ = ["duckdb"]
