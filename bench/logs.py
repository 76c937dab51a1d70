"""Makes the logs that the peers are measured on: eight ranks' JSON lines, key=value, Megatron-like.

usage: python -m bench.logs {json,keyvalue,megatron} MEGABYTES FILE
"""

import random
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 1, 12, 0, 0)
NOISE = 0.2  # share of Megatron-like lines that report nothing


def _numbers(seed: int) -> Iterator[tuple[int, datetime, float, float, float]]:
    """Step, moment, loss, gradient norm and learning rate, for ever."""
    chance, moment, step = random.Random(seed), START, 0
    while True:
        step += 1
        moment += timedelta(milliseconds=chance.randint(80, 120))
        loss = 2 + 5 / (1 + step / 1e4) + chance.gauss(0, 0.05)
        yield step, moment, loss, chance.uniform(0.3, 2), 3e-4 * min(1, step / 2000)


def json_lines(seed: int = 7) -> Iterator[str]:
    """One object a line, eight ranks in turn."""
    chance = random.Random(seed + 1)
    for step, moment, loss, norm, lr in _numbers(seed):
        yield (
            f'{{"ts": "{moment.isoformat(timespec="microseconds")}", "rank": {step % 8}, '
            f'"step": {step // 8}, "loss": {loss:.6f}, "grad_norm": {norm:.4f}, "lr": {lr:.8e}, '
            f'"tokens_per_sec": {chance.uniform(9e3, 1.1e4):.1f}, '
            f'"mem_gb": {chance.uniform(60, 62):.2f}}}\n'
        )


def keyvalue(seed: int = 7) -> Iterator[str]:
    """A time stamp, a level, a logger, and key=value."""
    chance = random.Random(seed + 1)
    for step, moment, loss, norm, lr in _numbers(seed):
        stamp = moment.strftime("%Y-%m-%d %H:%M:%S,") + f"{moment.microsecond // 1000:03}"
        yield (
            f"{stamp} INFO train: step={step} loss={loss:.6f} grad_norm={norm:.4f} lr={lr:.8e} "
            f"throughput={chance.uniform(9e3, 1.1e4):.1f} "
            f"step_time={chance.uniform(0.08, 0.12):.4f} mem={chance.uniform(60, 62):.2f}\n"
        )


def megatron(seed: int = 7) -> Iterator[str]:
    """Padded columns between bars, with lines of other kinds between them."""
    chance = random.Random(seed + 1)
    for step, moment, loss, norm, lr in _numbers(seed):
        if chance.random() < NOISE:
            yield _noise(chance, step)
        yield (
            f" [{moment:%Y-%m-%d %H:%M:%S}] iteration {step:8}/ 1000000 | consumed samples: "
            f"{step * 512:12} | elapsed time per iteration (ms): {chance.uniform(600, 620):.1f} | "
            f"learning rate: {lr:.6E} | global batch size: {512:5} | lm loss: {loss:.6E} | "
            f"loss scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations: {0:3} | "
            f"number of nan iterations: {0:3} |\n"
        )


def _noise(chance: random.Random, step: int) -> str:
    node, gpu, pid = chance.randint(0, 7), chance.randint(0, 7), chance.randint(1000, 99999)
    return chance.choice(
        (
            f"gpu{node:02}:{pid}:{pid + 77} [{gpu}] NCCL INFO Channel {chance.randint(0, 8):02}/08 "
            f": {gpu}[{gpu}] -> {node}[{node}] via P2P/IPC\n",
            f"saving checkpoint at iteration {step:7} to /ckpt/run/iter_{step:07}\n",
            "[before the start of training step] collecting garbage\n",
        )
    )


FORMATS: dict[str, Callable[[int], Iterator[str]]] = {
    "json": json_lines,
    "keyvalue": keyvalue,
    "megatron": megatron,
}


def write(form: str, megabytes: float, path: Path) -> None:
    """Write at least so many bytes of a format."""
    room = int(megabytes * 1e6)
    with path.open("w") as file:
        for line in FORMATS[form](7):
            room -= file.write(line)
            if room <= 0:
                return


if __name__ == "__main__":
    write(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]))
