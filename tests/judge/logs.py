"""Logs of trainings of ours, healthy and not, for tests of what is judged from their numbers."""

import random
from collections.abc import Callable
from pathlib import Path

Course = Callable[[int], float]


def healthy(step: int) -> float:
    """A loss that falls."""
    return 3 - step / 500


def lines(
    last: int, course: Course = healthy, *, first: int = 1, total: int = 1000, every: int = 50,
    noise: float = 0.03, norm: Course = lambda step: 1.0,
) -> list[str]:  # fmt: skip
    """Step by step, with an evaluation now and then; the same for the same arguments."""
    told = []
    for step in range(first, last + 1):
        shake = random.Random(step)
        loss = course(step) + shake.gauss(0, noise)
        grad = norm(step) * shake.uniform(0.8, 1.2)
        told.append(f"step {step}/{total} | loss {loss:.4f} | lr 1e-4 | grad_norm {grad:.4g}")
        if step % every == 0:
            quality = 0.9 - 0.2 * course(step)
            told.append(f"step {step} | val_loss {course(step) + 0.1:.4f} | val_acc {quality:.4f}")
    return told


def write(path: Path, told: list[str]) -> Path:
    """The lines as a log."""
    path.write_text("".join(f"{line}\n" for line in told))
    return path
