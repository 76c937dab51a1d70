"""Real programs for tests of watching: a trainer of ours, and `runwatch watch` beside it."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

TRAINER = Path(__file__).with_name("trainer.py")
PATIENCE = 60.0  # seconds before a test gives up on a program


def steps(first: int, last: int, total: int = 100) -> list[str]:
    """Lines of a healthy training."""
    return [f"step {i}/{total} | loss {3 - i / 50:.4f} | lr 1e-4" for i in range(first, last + 1)]


class Training:
    """The trainer as a process of its own, its output in a log."""

    def __init__(self, folder: Path, *attempts: Sequence[Any]) -> None:
        self.log = folder / "train.log"
        self.plan = folder / "plan.json"
        self.plan.write_text(json.dumps({"attempts": attempts}))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin the first attempt."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(TRAINER), str(self.plan)], stdout=out, stderr=out,
                cwd=self.log.parent,
            )  # fmt: skip

    @property
    def starts(self) -> int:
        """How often it was started."""
        return int(self.plan.with_suffix(".count").read_text())

    def stop(self) -> None:
        """End what is left of it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Watcher:
    """`runwatch watch --json` as people run it; its events as they come."""

    def __init__(self, *words: str, folder: Path, reap: Callable[[], object] | None = None) -> None:
        command = [sys.executable, "-m", "runwatch", "watch", *words, "--json"]
        self.process = subprocess.Popen(
            [*command, "--out-dir", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ.copy(),
        )  # fmt: skip
        self.folder = folder
        self.events: list[dict[str, Any]] = []
        self._reap = reap
        self._queue: Queue[dict[str, Any] | None] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next event that is wanted; the test fails where it does not come."""
        for event in self._next():
            if wanted(event):
                return event
        raise AssertionError(f"never came; {self.told()}")

    def end(self) -> int:
        """Read on to the end; the exit code."""
        for _ in self._next():
            pass
        code = self.process.wait(PATIENCE)
        self.close()
        return code

    def _next(self) -> Iterator[dict[str, Any]]:
        while True:
            try:
                event = self._queue.get(timeout=0.1)
            except Empty:
                if self._reap is not None:
                    self._reap()
                continue
            if event is None:
                return
            self.events.append(event)
            yield event

    def told(self) -> str:
        """What it said, for the message of a test that fails."""
        self.process.kill()
        assert self.process.stderr is not None
        return f"{self.events}\n{self.process.stderr.read().decode()}"

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    @property
    def artifact(self) -> dict[str, Any]:
        """babysit-training.json."""
        document: dict[str, Any] = json.loads((self.folder / "babysit-training.json").read_text())
        return document

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def progress(step: int) -> Callable[[dict[str, Any]], bool]:
    """A report at this step or later."""
    return lambda event: event["event"] == "progress" and (event["step"] or 0) >= step


def finding(kind: str) -> Callable[[dict[str, Any]], bool]:
    """A finding of this kind."""
    return lambda event: event["event"] == "finding" and event["kind"] == kind


def state(word: str) -> Callable[[dict[str, Any]], bool]:
    """A change to this state."""
    return lambda event: event["event"] == "state" and word in event["state"]
