"""Makes logs that are hard to read fast, and measures what `parse --summary` does with them.

usage: python -m bench.hard [--megabytes 100] [--threads 1] [--corpus FOLDER] [NAME...]

NAME is one of `ranks` (one log of 3,072 ranks with start-up text, warnings and metrics of each),
`bar` (one line of 3 MB, all redraws of a progress bar), `flat` (key=value from 1 MB on, ten times
more each time, up to --megabytes, then lines that repeat a few pieces, ten times longer each time:
the cost of a byte must not grow) and `corpus` (the logs of a folder one behind the other, again and
again; with nothing kept of earlier runs, then with what that run left). What is larger than 100 MB
goes through a pipe and is never in a file.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.logs import write

RANKS = 3072
_PART = 100  # MB of a log that are made; of more, they come again and again
_START = (
    "gpu{node:04}:{pid}:{pid} [{gpu}] NCCL INFO Bootstrap : Using eth0:10.0.{node}.{gpu}<0>",
    "gpu{node:04}:{pid}:{pid} [{gpu}] NCCL INFO Channel {gpu:02}/08 : {rank} -> {next} via P2P",
    "[rank{rank}]: UserWarning: no device id is given in init_process_group",
    "[rank{rank}]: initialized model on cuda:{gpu}, {memory:.2f} GiB reserved",
    '[rank{rank}]:   File "/opt/train/model.py", line {line}, in forward',
    "{rank}: loading shard {rank:05} of 03072 from /data/tokens/part-{rank:05}.bin",
)
_STEP = "{rank}: step {step}/100000 | loss: {loss:.5f} | grad norm: {norm:.3f} | {speed:.1f} tok/s"


def ranks(megabytes: float) -> Iterator[str]:
    """All ranks of one run in one log, in no order."""
    chance, step, room = random.Random(11), 0, int(megabytes * 1e6)
    while room > 0:
        step += 1
        for rank in chance.sample(range(RANKS), RANKS):
            forms = (*_START, _STEP) if step % 40 == 1 else (_STEP,)
            for form in forms:
                line = form.format(
                    rank=rank, node=rank // 8, gpu=rank % 8, next=(rank + 1) % RANKS,
                    pid=chance.randint(1000, 99999), line=chance.randint(1, 900), step=step,
                    memory=chance.uniform(10, 80), loss=chance.gauss(2.5, 0.05),
                    norm=chance.uniform(0.3, 2), speed=chance.uniform(9e3, 1.1e4),
                )  # fmt: skip
                room -= len(line) + 1
                yield line + "\n"


def bar(megabytes: float = 3) -> Iterator[str]:
    """One line, every redraw of tqdm in it."""
    chance, total = random.Random(12), int(megabytes * 1e6) // 95
    for n in range(total):
        done = "#" * (n * 10 // total)
        yield (
            f"\rEpoch 3:  {n * 100 // total:3}%|{done:10}| {n}/{total} "
            f"[{n // 240:02}:{n // 4 % 60:02}<12:{n % 60:02}, {chance.uniform(3, 5):.2f}it/s, "
            f"loss={chance.gauss(2.5, 0.1):.4f}]"
        )
    yield "\n"


# What patterns stumble over: runs of one class, brackets that stay open, separators without names.
PIECES = (
    "a", "A", "_", "é", "1", " ", "\t", ".", ",", "-", "=", ":", "|", "[", "(", "{", "]", ")", "}",
    "'", '"', "#", "%", "/", "a.", "a1", "1.", "a: ", "x=1 ", "(a", "nan ", "loss ", "0/0 ",
)  # fmt: skip


def repetitive(length: int, megabytes: float = 2) -> Iterator[str]:
    """Lines of so many characters, each a few pieces again and again."""
    chance = random.Random(13)
    for _ in range(int(megabytes * 1e6) // length):
        piece = "".join(chance.choices(PIECES, k=chance.randint(1, 4)))
        yield f"{piece * (length // len(piece))} 1\n"


def corpus(folder: Path, megabytes: float, out: Path) -> None:
    """The logs of a folder one behind the other, again and again."""
    logs = [path.read_bytes() for path in sorted(folder.rglob("*.*")) if path.is_file()]
    room = int(megabytes * 1e6)
    with out.open("wb") as file:
        while room > 0:
            for log in logs:
                room -= file.write(log if log.endswith(b"\n") else log + b"\n")


# Feeds a log to a command as often as it is told, and prints what that took: CPU-seconds, seconds,
# peak MB.
_FEED = """
import resource, subprocess, sys, time
times, path, *words = sys.argv[1:]
start = time.perf_counter()
with open(path, "rb") as file:
    data = file.read() if int(times) > 1 else b""
once = [path] if not data else ["-"]
run = subprocess.Popen([*words, *once], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
for _ in range(int(times) if data else 0):
    run.stdin.write(data)
run.stdin.close()
assert run.wait() == 0
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1024)
"""


def tell(name: str, path: Path, threads: int, times: int = 1) -> None:
    """Measure `parse --summary` of a log, so many times one behind the other; print the figures."""
    words = [sys.executable, "-m", "runwatch", "parse", "--summary", "--threads", str(threads)]
    told = subprocess.run(
        [sys.executable, "-c", _FEED, str(times), str(path), *words],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    cpu, wall, peak = map(float, told.split())
    size = times * path.stat().st_size / 1e6
    print(
        f"{name:12}{size:10.1f} MB{cpu:8.2f} CPU-s{size / cpu:9.1f} MB/CPU-s{size / wall:9.1f} MB/s"
        f"{peak:7.0f} MB peak",
        flush=True,
    )


def flat(megabytes: float, threads: int, path: Path) -> None:
    """What a byte costs in longer logs, and in longer lines."""
    size = 1.0
    while size <= megabytes:
        write("keyvalue", min(size, _PART), path)
        tell(f"flat {size:g}", path, threads, max(1, int(size / _PART)))
        size *= 10
    for length in (100, 1000, 10_000, 100_000):
        path.write_text("".join(repetitive(length)))
        tell(f"line {length}", path, threads)


def main() -> None:
    """Make each log, measure it, remove it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["ranks", "bar", "flat"])
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    names = [*options.names, *(["corpus"] if options.corpus else [])]
    names = list(dict.fromkeys(names))
    with tempfile.TemporaryDirectory(prefix="rw-hard-") as folder:
        path = Path(folder) / "train.log"
        os.environ["RUNWATCH_CACHE"] = str(Path(folder) / "cache")  # nothing is known but the code
        path.write_text("step=1 loss=2.5\n" * 70_000)
        tell("compiling", path, options.threads)
        tell("start", path, options.threads)
        for name in names:
            if name == "flat":
                flat(options.megabytes, options.threads, path)
                continue
            if name == "corpus":
                corpus(options.corpus, options.megabytes, path)
            else:
                lines = ranks(options.megabytes) if name == "ranks" else bar()
                with path.open("w", newline="") as file:
                    file.writelines(lines)
            tell(name, path, options.threads)
            if name == "corpus":
                tell("... again", path, options.threads)


if __name__ == "__main__":
    main()
