"""Appends what a bench measured to a history, one JSON line a bench: when, which commit, how fast.

usage: python -m bench.history MEASURED.json HISTORY.jsonl
"""

import json
import os
import sys
from pathlib import Path


def main(measured: Path, history: Path) -> None:
    """Read what pytest-benchmark wrote and append the figures."""
    found = json.loads(measured.read_text())
    machine = found["machine_info"]
    with history.open("a") as file:
        for bench in found["benchmarks"]:
            row = {
                "time": found["datetime"],
                "commit": found["commit_info"]["id"][:12],
                "load": round(os.getloadavg()[0], 1),  # above the cores: the figures are too low
                "dirty": found["commit_info"]["dirty"],
                "cpu": machine["cpu"].get("brand_raw", machine["machine"]),
                "bench": bench["fullname"],
                "best_s": bench["stats"]["min"],
                "median_s": bench["stats"]["median"],
                **bench["extra_info"],
            }
            if size := bench["extra_info"].get("bytes"):
                row["MB_per_s"] = round(size / 1e6 / bench["stats"]["min"], 1)
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
