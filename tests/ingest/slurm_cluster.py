"""A real cluster of Slurm on loopback, of one node: munged, slurmctld and slurmd in a folder."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

PARTS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "scancel")
PATIENCE = 30.0  # seconds until the node is idle
_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmctldPort={ctld}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class RealCluster:
    """Runs until closed. Skips the test where Slurm is not installed or does not run."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
        missing = [name for name in PARTS if not shutil.which(name, path=path)]
        if missing:
            pytest.skip(
                f"no {missing[0]} here: apt-get install munge slurmctld slurmd slurm-client"
            )
        if os.geteuid():
            pytest.skip("a cluster of one's own needs root: slurmd starts the jobs of others")
        self.folder = folder
        conf = folder / "slurm.conf"
        self.environ = {**os.environ, "PATH": path, "SLURM_CONF": str(conf)}
        host = socket.gethostname().partition(".")[0]
        ports = _free_ports()
        conf.write_text(_CONF.format(folder=folder, host=host, ctld=ports[0], node=ports[1]))
        for name in ("state", "spool", "munge"):
            (folder / name).mkdir(mode=0o700)
        (folder / "munge" / "key").write_bytes(os.urandom(1024))
        (folder / "munge" / "key").chmod(0o400)
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._start()

    def _start(self) -> None:
        munge = self.folder / "munge"
        self._run(
            "munged", "--foreground", "--force", f"--key-file={munge}/key",
            f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
            f"--seed-file={munge}/seed",
        )  # fmt: skip
        self._run("slurmctld", "-D")
        self._run("slurmd", "-D")
        end = time.monotonic() + PATIENCE
        while self.ask("sinfo", "--noheader", "--format=%T").strip() != "idle":
            if time.monotonic() > end or any(one.poll() is not None for one in self._daemons):
                self.close()
                said = (self.folder / "daemons.log").read_text(errors="replace")
                pytest.skip(f"Slurm does not run here: {said.strip()[-300:]}")
            time.sleep(0.1)

    def _run(self, *words: str) -> None:
        with (self.folder / "daemons.log").open("ab") as log:
            self._daemons.append(
                subprocess.Popen(words, stdout=log, stderr=log, env=self.environ, cwd=self.folder)
            )

    def ask(self, *words: str) -> str:
        """What a command of Slurm prints."""
        done = subprocess.run(words, capture_output=True, text=True, env=self.environ)
        return done.stdout

    def submit(self, script: str, *words: str) -> str:
        """A batch job that runs a script of the shell; its id."""
        job = self.folder / "job.sh"
        job.write_text(f"#!/bin/sh\n{script}\n")
        job.chmod(0o755)
        told = subprocess.run(
            ["sbatch", "--parsable", f"--chdir={self.folder}", *words, str(job)],
            capture_output=True, text=True, env=self.environ, check=True,
        )  # fmt: skip
        return told.stdout.strip()

    def close(self) -> None:
        """End all jobs and daemons."""
        self.ask("scancel", "--user=root", "--signal=KILL", "--full")
        for daemon in reversed(self._daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _free_ports() -> list[int]:
    probes = [socket.socket() for _ in range(2)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
