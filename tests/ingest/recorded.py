"""Real files of records: written by the libraries that trainings write them with."""

import json
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runwatch.ingest.tfrecord import masked_crc


def events(folder: Path, values: Sequence[tuple[str, float, int]], **words: Any) -> Path:
    """An event file that tensorboardX wrote, with a histogram and a text between the scalars."""
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(logdir=str(folder), write_to_disk=True, **words)
    for at, (tag, value, step) in enumerate(values):
        writer.add_scalar(tag, value, step, walltime=1_717_236_000.0 + at)
        if at % 50 == 1:
            writer.add_histogram("weights", list(range(100)), step)
            writer.add_text("note", "step 1 loss 99", step)
    writer.close()
    (path,) = folder.glob("events.out.tfevents.*")
    return path


def framed(data: bytes) -> bytes:
    """One record as TensorBoard frames it."""
    length = struct.pack("<Q", len(data))
    crcs = (struct.pack("<I", masked_crc(part)) for part in (length, data))
    return length + next(crcs) + data + next(crcs)


def state(path: Path, last: int, total: int = 300, **more: Any) -> Path:
    """`trainer_state.json` as Hugging Face's trainer writes it after `last` steps."""
    entries = [
        {"epoch": step / 100, "grad_norm": 1.1, "learning_rate": 1e-4, "loss": 3 - step / 150,
         "step": step}
        for step in range(10, last + 1, 10)
    ]  # fmt: skip
    document = {
        "best_metric": 1.2, "best_model_checkpoint": "out/checkpoint-200", "epoch": last / 100,
        "global_step": last, "is_hyper_param_search": False, "is_local_process_zero": True,
        "is_world_process_zero": True, "log_history": entries, "max_steps": total,
        "num_train_epochs": 3, "total_flos": 1e15, "trial_name": None, **more,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
    return path


_OFFLINE = """
import sys, wandb
run = wandb.init(project="p", mode="offline", dir=sys.argv[1], settings={"console": "redirect"})
for step in range(int(sys.argv[2])):
    run.log({"train/loss": float("nan") if step == 90 else 3 - step / 100, "deep": {"er": step}})
print("the loader uses 4 workers")
run.finish(exit_code=int(sys.argv[3]))
"""


def wandb_run(folder: Path, steps: int = 120, code: int = 0) -> Path:
    """The folder of an offline run that the wandb client wrote."""
    words = [sys.executable, "-c", _OFFLINE, str(folder), str(steps), str(code)]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    (run,) = (folder / "wandb").glob("offline-run-*")
    return run
