"""runwatch beside the tools that are told the schema: the same sums from the same bytes.

usage: python -m bench.peers [--megabytes 500] [--runs 3] [--folder DIR]

Every tool is a process of its own, run in turn on a log and on one three times as long. The cost of
the bytes alone is what the longer log takes more, in CPU-seconds; the start is the rest. The median
of the runs counts. Every metric of every line is summed, and the sums must agree.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.logs import FORMATS, write

METRICS = {
    "json": ["loss", "grad_norm", "lr", "tokens_per_sec", "mem_gb"],
    "keyvalue": ["loss", "grad_norm", "lr", "throughput", "step_time", "mem"],
    "megatron": [
        "consumed samples", "elapsed time per iteration (ms)", "learning rate",
        "global batch size", "lm loss", "loss scale", "grad norm",
        "number of skipped iterations", "number of nan iterations",
    ],
}  # fmt: skip
PEERS = {
    "json": ["runwatch", "duckdb", "simdjson", "polars", "regex"],
    "keyvalue": ["runwatch", "polars", "regex"],
    "megatron": ["runwatch", "polars", "regex"],
}
GOALS = {"json": ("duckdb", 2.5), "keyvalue": ("polars", 4.0), "megatron": ("polars", 4.0)}


@dataclass(frozen=True)
class Cost:
    """What one run of one tool took."""

    cpu: float
    wall: float
    peak: float  # MB
    sums: dict[str, float]


# The peers, each in its own process.


def runwatch(form: str, path: str) -> dict[str, float]:
    """`runwatch parse --summary`, told nothing."""
    words = [sys.executable, "-m", "runwatch", "parse", "--summary", "--json", path]
    words += ["--threads", "1"]  # CPU-seconds are compared, and each peer has one thread
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return {
        m["metric"]: m["mean"] * (m["count"] - m["nan"])
        for m in json.loads(out)["metrics"]
        if m["metric"] in METRICS[form]
    }


def duckdb(form: str, path: str) -> dict[str, float]:
    """DuckDB's read_json with the columns told, one thread."""
    import duckdb

    columns = {"ts": "VARCHAR", "rank": "INTEGER", "step": "BIGINT"}
    columns |= dict.fromkeys(METRICS[form], "DOUBLE")
    sums = ", ".join(f"sum({name})" for name in METRICS[form])
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    row = connection.execute(
        f"SELECT {sums} FROM read_json(?, format='newline_delimited', columns={columns})", [path]
    ).fetchall()[0]
    return dict(zip(METRICS[form], row, strict=True))


def simdjson(form: str, path: str) -> dict[str, float]:
    """simdjson's on-demand reader in C++, the fields told."""
    words = [str(Path(path).parent / "simdjson_sum"), path, *METRICS[form]]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return dict(zip(METRICS[form], map(float, out.split()), strict=True))


def build_simdjson(folder: Path) -> bool:
    """Compile the peer in C++; False where there is no compiler or no library."""
    source = Path(__file__).with_name("simdjson_sum.cpp")
    words = ["g++", "-O3", "-march=native", "-std=c++17", str(source), "-lsimdjson"]
    try:
        done = subprocess.run([*words, "-o", str(folder / "simdjson_sum")], capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def polars(form: str, path: str) -> dict[str, float]:
    """polars: its JSON reader with the schema told, or a split written by hand for the format."""
    import polars as pl

    names = METRICS[form]
    if form == "json":
        schema = {"ts": pl.String, "rank": pl.Int64, "step": pl.Int64}
        frame = pl.scan_ndjson(path, schema={**schema, **dict.fromkeys(names, pl.Float64)})
        return frame.select(pl.col(names).sum()).collect(engine="streaming").row(0, named=True)
    separator, skip = (" ", 5) if form == "keyvalue" else ("|", 1)
    width = skip + len(names) if form == "keyvalue" else skip + len(names) + 1
    frame = pl.scan_csv(
        path, has_header=False, separator=separator, quote_char=None, truncate_ragged_lines=True,
        schema={f"c{i}": pl.String for i in range(width)},
    )  # fmt: skip
    mark = "=" if form == "keyvalue" else ":"
    frame = frame.filter(pl.col(f"c{skip}").is_not_null())
    values = [
        pl.col(f"c{skip + i}").str.split(mark).list.last().str.strip_chars().cast(pl.Float64)
        .sum().alias(name)
        for i, name in enumerate(names)
    ]  # fmt: skip
    return frame.select(values).collect(engine="streaming").row(0, named=True)


def regex(form: str, path: str) -> dict[str, float]:
    """A generic regular expression in Python."""
    pattern = re.compile(r'"?([A-Za-z][\w ()]*)"?\s*[:=]\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)')
    sums = dict.fromkeys(METRICS[form], 0.0)
    with open(path) as file:
        for line in file:
            for name, value in pattern.findall(line):
                if name in sums:
                    sums[name] += float(value)
    return sums


def measure(tool: str, form: str, path: Path) -> Cost:
    """Run a tool once in a process of its own."""
    words = [sys.executable, "-m", "bench.peers", "--child", tool, form, str(path)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = json.loads(done.stdout)
    return Cost(cpu, said["wall"], said["peak"], said["sums"])


def child(tool: str, form: str, path: str) -> None:
    """What the process of a tool does."""
    import time

    start = time.perf_counter()
    sums = globals()[tool](form, path)
    who = resource.RUSAGE_CHILDREN if tool in ("runwatch", "simdjson") else resource.RUSAGE_SELF
    peak = resource.getrusage(who).ru_maxrss / 1024
    print(json.dumps({"sums": sums, "wall": time.perf_counter() - start, "peak": peak}))


def main() -> None:
    """Print the table; exit with 1 where a goal is missed or sums differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "rw-bench")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(*options.child)
    options.folder.mkdir(exist_ok=True)
    if not build_simdjson(options.folder):
        PEERS["json"].remove("simdjson")
        print("without simdjson: it needs g++ and libsimdjson-dev")
    missed = [form for form in FORMATS if not compare(form, options)]
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)


def compare(form: str, options: argparse.Namespace) -> bool:
    """Measure all peers on one format; whether the goal is met."""
    small, large = (options.folder / f"{form}-{n}.log" for n in (1, 3))
    if not large.exists():
        write(form, options.megabytes / 3, small)
        large.write_bytes(small.read_bytes() * 3)
    more = (large.stat().st_size - small.stat().st_size) / 1e6
    print(f"\n{form}: {large.stat().st_size / 1e6:.0f} MB", flush=True)
    print(f"{'':10}{'MB/CPU-s':>10}{'start s':>9}{'MB/s':>8}{'peak MB':>9}  of {GOALS[form][0]}")
    for path in (small, large):
        path.read_bytes()  # so that nobody waits for the disk
    taken: dict[str, list[tuple[Cost, Cost]]] = {tool: [] for tool in PEERS[form]}
    for _ in range(options.runs):  # in turn, as a machine may be slower for a while
        for tool, runs in taken.items():
            runs.append((measure(tool, form, small), measure(tool, form, large)))
    rates, sums = {}, {}
    for tool, runs in taken.items():
        marginal = statistics.median(b.cpu - a.cpu for a, b in runs)
        start = statistics.median(a.cpu for a, _ in runs) - marginal / 2
        wall = statistics.median(b.wall for _, b in runs)
        rates[tool], sums[tool] = more / marginal, runs[0][1].sums
        peak = max(b.peak for _, b in runs)
        print(
            f"{tool:10}{rates[tool]:10.0f}{start:9.2f}{large.stat().st_size / 1e6 / wall:8.0f}"
            f"{peak:9.0f}",
            flush=True,
        )
    peer, goal = GOALS[form]
    ratio = rates["runwatch"] / rates[peer]
    agree = all(
        abs(sums[tool][name] - value) <= 1e-9 * abs(value)
        for tool in PEERS[form]
        for name, value in sums["runwatch"].items()
    )
    print(
        f"{ratio:.2f} times {peer} (goal {goal}); sums {'agree' if agree else 'DIFFER'}", flush=True
    )
    return ratio >= goal and agree and len(sums["runwatch"]) == len(METRICS[form])


if __name__ == "__main__":
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    main()
