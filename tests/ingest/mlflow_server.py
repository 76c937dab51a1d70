"""A real MLflow tracking server on loopback, with a store of its own, that can be stopped."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # seconds before a test gives up on the server


class Server:
    """`start`, `stop` and start again: the port and what was logged stay."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [
            sys.executable, "-m", "uvicorn", "--host", "127.0.0.1", "--port", str(self.port),
            "--log-level", "warning", "mlflow.server.fastapi_app:app",
        ]  # fmt: skip
        store = f"sqlite:///{self.folder}/mlflow.db"
        told = {
            "_MLFLOW_SERVER_FILE_STORE": store, "_MLFLOW_SERVER_REGISTRY_STORE": store,
            "_MLFLOW_SERVER_ARTIFACT_ROOT": str(self.folder / "artifacts"),
            "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }  # fmt: skip
        with (self.folder / "server.log").open("ab") as log:
            self._server = subprocess.Popen(
                command, env={**os.environ, **told}, stdout=log, stderr=log, cwd=self.folder
            )
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if self._server.poll() is not None or time.monotonic() > until:
                raise AssertionError((self.folder / "server.log").read_text())
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        """Kill it, as a power cut does."""
        if self._server is not None:
            self._server.kill()
            self._server.wait()
            self._server = None

    def run(self, **params: object) -> "Run":
        """A new run."""
        return Run(self, params)


class Run:
    """A run at the server, logged to as a training does."""

    def __init__(self, server: Server, params: dict[str, object]) -> None:
        from mlflow import MlflowClient
        from mlflow.entities import Param

        self._client = MlflowClient(server.uri)
        self.id: str = self._client.create_run("0", run_name="test").info.run_id
        self._client.log_batch(
            self.id, params=[Param(name, str(value)) for name, value in params.items()]
        )

    def log(self, values: Sequence[tuple[str, float, int]]) -> None:
        """Values of metrics at their steps, a second apart."""
        from mlflow.entities import Metric

        metrics: list[Any] = [
            Metric(name, value, 1_717_236_000_000 + 1000 * step, step)
            for name, value, step in values
        ]
        for at in range(0, len(metrics), 1000):
            self._client.log_batch(self.id, metrics=metrics[at : at + 1000])

    def end(self, status: str = "FINISHED") -> None:
        """The training has ended."""
        self._client.set_terminated(self.id, status)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
