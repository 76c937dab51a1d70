"""Jobs of Slurm, asked of small programs that print what the real ones publish."""

import asyncio
from pathlib import Path

import pytest

from runwatch.errors import InputError, UsageError
from runwatch.ingest import slurm
from runwatch.ingest.following import open_following
from runwatch.ingest.process_shell import here
from runwatch.ingest.slurm import Job, SlurmLogs
from runwatch.ingest.slurm_job import job_of
from runwatch.target import Target
from tests.ingest.following import Reader

RECORD = """JobId=4711 JobName=llm train
   UserId=ada(1000) GroupId=lab(1000) MCS_label=N/A
   Priority=4294901749 Nice=0 Account=lab QOS=normal
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode={code}
   RunTime=00:01:02 TimeLimit=1-00:00:00 TimeMin=N/A
   NodeList=gpu[01-02]
   BatchHost=gpu01
   Command=/home/ada/run me.sh
   WorkDir={folder}
   StdErr={folder}/err %j.txt
   StdIn=/dev/null
   StdOut={folder}/slurm-%A=x.out
"""


class Cluster:
    """scontrol, squeue and sacct, which print what a test says."""

    def __init__(self, folder: Path, path: str) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.path = f"{self.bin}:{path}"
        for name in ("scontrol", "squeue", "sacct"):
            self.says(name, "", code=1)

    def says(self, name: str, text: str, code: int = 0) -> None:
        """Let a command print a text; what it was asked is kept."""
        (self.bin / f"{name}.txt").write_text(text)
        program = self.bin / f"{name}.new"
        asked = f'echo "$@" >> {self.bin}/{name}.asked'
        program.write_text(f"#!/bin/sh\n{asked}\ncat {self.bin}/{name}.txt\nexit {code}\n")
        program.chmod(0o755)
        program.rename(self.bin / name)

    def record(self, state: str, reason: str = "None", code: str = "0:0") -> str:
        """What scontrol prints of the job."""
        return RECORD.format(state=state, reason=reason, code=code, folder=self.folder)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    import os

    cluster = Cluster(tmp_path, os.environ["PATH"])
    monkeypatch.setenv("PATH", cluster.path)
    return cluster


def test_a_running_job_is_described_by_scontrol(cluster: Cluster) -> None:
    """Paths keep blanks and equals signs; their signs are filled in."""
    cluster.says("scontrol", cluster.record("RUNNING"))
    assert Job(
        "4711", "llm train", "RUNNING", "", f"{cluster.folder}/slurm-4711=x.out",
        f"{cluster.folder}/err 4711.txt", str(cluster.folder), "gpu[01-02]", None,
    ) == asyncio.run(slurm.find("4711"))  # fmt: skip
    assert (cluster.bin / "scontrol.asked").read_text() == "show job 4711\n"


def test_the_state_comes_from_squeue_and_after_the_end_from_sacct(cluster: Cluster) -> None:
    """With the reason it waits for; then how it ended, its code or its signal."""
    cluster.says("scontrol", cluster.record("PENDING", "Priority"))
    job = asyncio.run(slurm.find("4711"))
    assert ("PENDING", "Priority", False) == (job.state, job.reason, job.over)
    cluster.says("squeue", "RUNNING|None\n")
    job = asyncio.run(slurm.look(job))
    assert ("RUNNING", "", None) == (job.state, job.reason, job.exit_code)
    cluster.says("squeue", "", code=1)
    ends = {
        "TIMEOUT|0:15": ("TIMEOUT", -15),
        "CANCELLED by 1000|0:0": ("CANCELLED", 0),
        "COMPLETED|0:0": ("COMPLETED", 0),
        "OUT_OF_MEMORY|0:125": ("OUT_OF_MEMORY", -125),
        "FAILED|1:0|None|llm train|a|b|c": ("FAILED", 1),
    }
    for said, expected in ends.items():
        cluster.says("sacct", said + "\n")
        over = asyncio.run(slurm.look(job))
        assert expected == (over.state, over.exit_code)
        assert over.over
        assert job.stdout == over.stdout


def test_a_job_that_only_sacct_knows_has_its_paths_from_there(cluster: Cluster) -> None:
    """Minutes after the end scontrol has forgotten it."""
    folder = cluster.folder
    cluster.says("sacct", f"COMPLETED|0:0|None|train|logs/%x-%j.out|/err/%8j|{folder}\n")
    job = asyncio.run(slurm.find("12"))
    assert [f"{folder}/logs/train-12.out", "/err/00000012"] == job.logs


def test_the_task_of_an_array_is_picked_out(tmp_path: Path) -> None:
    """scontrol prints a record for each task; %A and %a are the array's."""
    text = "\n\n".join(
        f"JobId={100 + task} ArrayJobId=100 ArrayTaskId={task} JobName=a\n   JobState=RUNNING "
        f"Reason=None\n   WorkDir=/w\n   StdOut=/w/%A_%a.out\n   StdErr=/w/%A_%a.out"
        for task in range(3)
    )
    job = job_of(text, "100_2")
    assert job is not None
    assert ["/w/100_2.out"] == job.logs
    assert job_of("slurm_load_jobs error: Invalid job id specified\n", "1") is None


def test_the_output_of_a_job_is_followed_from_when_it_starts(cluster: Cluster) -> None:
    """A job that waits is waited for; its files are read as soon as they are there."""
    cluster.says("scontrol", cluster.record("PENDING", "Resources"))
    cluster.says("squeue", "PENDING|Resources\n")

    async def follow() -> None:
        source = SlurmLogs(Target.of_slurm("4711"), here, None, turn=0.05)
        async with Reader(source) as reader:
            await reader.turns()
            assert source.reach.note == "job 4711 is PENDING (Resources)"
            cluster.says("squeue", "RUNNING|None\n")
            (cluster.folder / "slurm-4711=x.out").write_bytes(b"step 1\n")
            await reader.text("slurm-4711=x.out", b"step 1\n")
            (cluster.folder / "err 4711.txt").write_bytes(b"warning\n")
            await reader.text("err 4711.txt", b"warning\n")

    asyncio.run(follow())


def test_what_slurm_does_not_know_is_an_error(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such job, no Slurm, no id."""
    with pytest.raises(InputError, match="knows no job 4"):
        asyncio.run(slurm.find("4"))
    monkeypatch.setenv("PATH", str(cluster.folder))
    with pytest.raises(UsageError, match="no scontrol here"):
        open_following(Target.of_slurm("4"))
    with pytest.raises(UsageError, match="no id of a Slurm job"):
        Target.of_slurm("4; rm")
