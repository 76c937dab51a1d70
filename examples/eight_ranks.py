"""Writes `eight-ranks/`: the logs of a made-up training run on two nodes with four GPUs each.

All is invented, but it goes as such runs go. In step 840 a batch with an overlong sequence comes
to rank 5, which runs out of GPU memory. Node 1's launcher ends its other ranks at once. Node 0
knows nothing of it: ranks 0 to 3 wait in an all-reduce until the NCCL watchdog loses patience ten
minutes later, and print far more text than the rank that caused it.

    python examples/eight_ranks.py [FOLDER]
"""

import math
import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

RANKS, NODE_SIZE, FAILING = 8, 4, 5
STEPS, FAILED_STEP, EVERY = 5000, 840, 10
START = datetime(2026, 3, 11, 14, 2, 5, 123000)
STEP_TIME = 2.15  # seconds
PATIENCE = 600  # seconds that NCCL waits for a collective
PEAK_RATE = 3e-4
WARM_UP = 200


def main() -> None:
    """Write all files below FOLDER, the one beside this script if none is named."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("eight-ranks")
    for name, lines in run().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run() -> dict[str, list[str]]:
    """The lines of every file, by its name in the folder."""
    files = {}
    for rank in range(RANKS):
        chance = random.Random(rank)
        files[f"rank_{rank}/stdout.log"] = stdout(rank, chance)
        files[f"rank_{rank}/stderr.log"] = stderr(rank, chance)
    files["torchrun-node1.log"] = launcher(1, ended(), [FAILING])
    files["torchrun-node0.log"] = launcher(0, ended(PATIENCE + 2), [0, 1, 2, 3])
    return files


def ended(later: float = 0) -> datetime:
    """When rank 5 failed, and so many seconds later."""
    return at(FAILED_STEP) + timedelta(seconds=later)


def at(step: float) -> datetime:
    """When a step ended; evaluations and checkpoints took 21 seconds each 200 steps."""
    return START + timedelta(seconds=26 + step * STEP_TIME + step // 200 * 21)


def stdout(rank: int, chance: random.Random) -> list[str]:
    """What the training program prints."""
    lines = [said(rank, START, f"node {rank // NODE_SIZE} gpu {rank % NODE_SIZE} joined")]
    if rank == 0:
        lines += opening()
    for step in range(EVERY, FAILED_STEP, EVERY):
        lines.append(said(rank, at(step), measured(rank, step, chance)))
        if rank == 0 and step % 200 == 0:
            lines += pause(step, chance)
    return lines


def opening() -> list[str]:
    """Settings and model, which measure nothing."""
    texts = [
        "config: hidden_size=2048 num_layers=24 seq_length=4096 micro_batch=8 seed=1234",
        f"config: peak_lr={PEAK_RATE} warmup_steps={WARM_UP} max_steps={STEPS} dtype=bfloat16",
        "Transformer(",
        "  (embed): Embedding(50304, 2048)",
        "  (blocks): ModuleList((0-23): 24 x Block())",
        "  (head): Linear(in_features=2048, out_features=50304, bias=False)",
        ")",
        "1,312,456,704 parameters, 8 ranks, 262,144 tokens a step",
    ]
    return [said(0, START + timedelta(seconds=i), text) for i, text in enumerate(texts, 4)]


def loss_at(step: int) -> float:
    """A power law, as such curves are."""
    return 2.45 + 8.3 * (1 + step / 18) ** -0.62


def measured(rank: int, step: int, chance: random.Random) -> str:
    """One line of numbers; rank 0 prints more."""
    loss = loss_at(step) + chance.gauss(0, 0.03)
    memory = 61.4 + chance.random() * 0.8
    time = STEP_TIME + chance.gauss(0, 0.02)
    text = f"step {step}/{STEPS} | loss {loss:.4f} | step_time {time:.3f}s | mem {memory:.1f}GiB"
    if rank:
        return text
    rate = PEAK_RATE * min(1, step / WARM_UP)
    norm = 0.35 + 4.2 * math.exp(-step / 60) + abs(chance.gauss(0, 0.04))
    speed = 262_144 / time
    return f"{text} | grad_norm {norm:.3f} | lr {rate:.3e} | tokens/s {speed:,.0f}"


def pause(step: int, chance: random.Random) -> list[str]:
    """Evaluation and checkpoint."""
    loss = loss_at(step) + 0.04 + chance.gauss(0, 0.005)
    return [
        said(
            0,
            at(step),
            f"validation | step {step} | val_loss {loss:.4f} | val_ppl {math.exp(loss):.2f}",
        ),
        said(0, at(step) + timedelta(seconds=18), f"saved checkpoint checkpoints/step-{step}"),
    ]


def said(rank: int, time: datetime, text: str, level: str = "INFO") -> str:
    """As Python's logging writes it."""
    return (
        f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}] [{level}] [rank {rank}] {text}"
    )


def stderr(rank: int, chance: random.Random) -> list[str]:
    """NCCL's greeting, and the end as this rank saw it."""
    pid, gpu, node = 41870 + rank, rank % NODE_SIZE, rank // NODE_SIZE
    where = f"gpu-node{node}:{pid}:{pid} [{gpu}] NCCL INFO"
    lines = [
        f"{where} Bootstrap : Using eth0:10.20.0.{11 + node}<0>",
        f"{where} ncclCommInitRank comm 0x55d0c81f{rank:04x} rank {rank} nranks {RANKS} cudaDev {gpu} - Init COMPLETE",
    ]
    if rank == FAILING:
        return lines + out_of_memory(rank, pid, gpu)
    if node == 0:
        return lines + watchdog(rank, ended(PATIENCE + chance.random()))
    return lines


def out_of_memory(rank: int, pid: int, gpu: int) -> list[str]:
    """The cause: a warning that nobody read, and the exception."""
    traceback = [
        "Traceback (most recent call last):",
        '  File "/srv/pretrain/train.py", line 214, in <module>',
        "    main()",
        '  File "/srv/pretrain/train.py", line 187, in main',
        "    loss = train_step(model, batch)",
        '  File "/srv/pretrain/train.py", line 122, in train_step',
        "    logits = model(batch.tokens)",
        '  File "/srv/pretrain/model.py", line 88, in forward',
        "    return self.head(hidden).float()",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.28 GiB. "
        f"GPU {gpu} has a total capacity of 79.11 GiB of which 9.87 GiB is free. "
        f"Process {pid} has 69.23 GiB memory in use. Of the allocated memory 67.02 GiB is "
        "allocated by PyTorch, and 1.14 GiB is reserved by PyTorch but unallocated.",
    ]
    warning = f"step {FAILED_STEP}: longest sequence has 16384 tokens, planned for 4096"
    return [
        said(rank, ended(-3), warning, "WARNING"),
        *(f"[rank{rank}]: {line}" for line in traceback),
    ]


def watchdog(rank: int, time: datetime) -> list[str]:
    """The echo on the other node, ten minutes later."""
    stamp = f"[rank{rank}]:[E{time:%m%d %H:%M:%S}.{time.microsecond:06} ProcessGroupNCCL.cpp"
    work = f"WorkNCCL(SeqNum={FAILED_STEP * 26 + 3}, OpType=ALLREDUCE, NumelIn=52428800, NumelOut=52428800, Timeout(ms)={PATIENCE}000)"
    return [
        f"{stamp}:632] [Rank {rank}] Watchdog caught collective operation timeout: {work} ran for {PATIENCE}0{40 + rank} milliseconds before timing out.",
        f"{stamp}:2268] [Rank {rank}] failure detected by watchdog at work sequence id: {FAILED_STEP * 26 + 3} PG status: last enqueued work: {FAILED_STEP * 26 + 4}, last completed work: {FAILED_STEP * 26 + 2}",
        f"{stamp}:684] [Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
        f"{stamp}:698] [Rank {rank}] To avoid data inconsistency, we are taking the entire process down.",
    ]


def launcher(node: int, time: datetime, failed: list[int]) -> list[str]:
    """What torchrun prints on one node, with its table of failures."""
    ranks = range(node * NODE_SIZE, (node + 1) * NODE_SIZE)
    code = 1 if FAILING in failed else -6
    stamp = f"{time:%m%d %H:%M:%S}.{time.microsecond:06} 41702 torch/distributed/elastic/multiprocessing/api.py"
    lines = [
        f"W{stamp}:900] Sending process {41870 + rank} closing signal SIGTERM"
        for rank in ranks
        if rank not in failed
    ]
    first = failed[0]
    lines.append(
        f"E{stamp}:874] failed (exitcode: {code}) local_rank: {first % NODE_SIZE} (pid: {41870 + first}) of binary: /usr/bin/python3"
    )
    lines += ["=" * 60, "train.py FAILED", "-" * 60, "Failures:"]
    for i, rank in enumerate(failed[1:], 1):
        lines += failure(i, rank, node, time, code)
    lines += ["  <NO_OTHER_FAILURES>"] if len(failed) == 1 else []
    lines += ["-" * 60, "Root Cause (first observed failure):"]
    return [*lines, *failure(0, first, node, time, code), "=" * 60]


def failure(index: int, rank: int, node: int, time: datetime, code: int) -> list[str]:
    """One entry of the table."""
    return [
        f"[{index}]:",
        f"  time      : {time:%Y-%m-%d_%H:%M:%S}",
        f"  host      : gpu-node{node}",
        f"  rank      : {rank} (local_rank: {rank % NODE_SIZE})",
        f"  exitcode  : {code} (pid: {41870 + rank})",
        "  error_file: <N/A>",
        "  traceback : "
        + (
            f"Signal 6 (SIGABRT) received by PID {41870 + rank}"
            if code < 0
            else "To enable traceback see the torch elastic documentation"
        ),
    ]


if __name__ == "__main__":
    main()
