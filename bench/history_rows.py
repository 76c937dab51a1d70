"""A long, dense history at a service, read page by page: time, and memory that must not grow.

    python -m bench.history_rows [--rows 500000]

A server of ours answers the real W&B client; what reads it is a process of its own, whose peak
memory is compared with that of reading a tenth of the rows.
"""

import argparse
import os
import resource
import subprocess
import sys

from tests.ingest import wandb_server


def read(server: wandb_server.Server, rows: int) -> tuple[float, float]:
    """CPU seconds and peak MB of a process that reads them all."""
    server.runs["team/proj/long"] = wandb_server.long(rows)
    words = ["parse", "--wandb", "team/proj/long", "--summary", "--json"]
    child = subprocess.Popen(
        [sys.executable, "-m", "runwatch", *words], stdout=subprocess.PIPE,
        env={**os.environ, "WANDB_BASE_URL": server.url, "WANDB_API_KEY": server.key},
    )  # fmt: skip
    assert child.stdout is not None
    told = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert f'"lines":{rows}'.encode() in told.replace(b" ", b""), told[:200]
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Read a tenth, then all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    rows = parser.parse_args().rows
    server = wandb_server.Server()
    server.start()
    few, many = read(server, rows // 10), read(server, rows)
    server.stop()
    own = resource.getrusage(resource.RUSAGE_SELF)
    for count, (seconds, peak) in ((rows // 10, few), (rows, many)):
        print(f"{count:>9,} rows: {seconds:6.1f} CPU-s, {1e6 * seconds / count:5.1f} µs a row, "
              f"peak {peak:.0f} MB")  # fmt: skip
    print(f"the server took {own.ru_utime + own.ru_stime:.1f} CPU-s")


if __name__ == "__main__":
    main()
