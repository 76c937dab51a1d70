"""`runwatch watch --slurm` beside a real cluster on loopback."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from runwatch.cli import main
from runwatch.errors import InputError
from runwatch.ingest import slurm
from tests.ingest.slurm_cluster import RealCluster
from tests.monitor.live import Watcher, progress, state, steps

QUICK = ("--interval", "0.5", "--max-interval", "1")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """The cluster that all these tests share."""
    cluster = RealCluster(tmp_path_factory.mktemp("slurm"))
    yield cluster
    cluster.close()


@pytest.fixture
def cluster(running: RealCluster, monkeypatch: pytest.MonkeyPatch) -> RealCluster:
    for name in ("PATH", "SLURM_CONF"):
        monkeypatch.setenv(name, running.environ[name])
    return running


def says(*lines: str) -> str:
    """A script that prints lines."""
    return "\n".join(f"echo '{line}'" for line in lines)


def until(cue: Path) -> str:
    return f"until [ -e '{cue}' ]; do sleep 0.1; done"


def test_a_job_is_waited_for_and_followed_to_its_end(cluster: RealCluster, tmp_path: Path) -> None:
    """Held at first; its output has a name that only Slurm knows; what it says is the run."""
    cue = tmp_path / "cue"
    script = [says(*steps(1, 50)), until(cue), says(*steps(51, 100), "Training finished")]
    job = cluster.submit("\n".join(script), "--hold", "--job-name=a run", "--output=out %x-%j.txt")
    watcher = Watcher("--slurm", job, *QUICK, folder=tmp_path)
    try:
        watcher.until(state("watching"))
        cluster.ask("scontrol", "release", job)
        watcher.until(progress(50))
        cue.touch()
        assert 0 == watcher.end()
        last = watcher.events[-1]
        assert (101, "SUCCEEDED", "GO") == (last["lines"], last["terminal_state"], last["decision"])
    finally:
        watcher.close()
    assert 101 == (cluster.folder / f"out a run-{job}.txt").read_bytes().count(b"\n")


def test_a_job_that_is_cancelled_says_so(cluster: RealCluster, tmp_path: Path) -> None:
    """By Slurm's word, as its log says nothing of it."""
    job = cluster.submit(f"{says(*steps(1, 50))}\nexec sleep 60", "--output=cancelled.txt")
    watcher = Watcher("--slurm", job, *QUICK, folder=tmp_path)
    try:
        watcher.until(progress(50))
        cluster.ask("scancel", job)
        assert 1 == watcher.end()
        assert "CANCELLED" == watcher.events[-1]["terminal_state"]
    finally:
        watcher.close()


def test_a_job_that_fails_is_a_no_go(cluster: RealCluster, tmp_path: Path) -> None:
    """Its code is known, though its log does not say why."""
    job = cluster.submit(f"{says(*steps(1, 50))}\nexit 3", "--output=failed.txt")
    watcher = Watcher("--slurm", job, *QUICK, folder=tmp_path)
    try:
        assert 1 == watcher.end()
        last = watcher.events[-1]
        assert ("FAILED", "NO-GO") == (last["terminal_state"], last["decision"])
        assert any("exit code 3" in one["message"] for one in last["findings"])
    finally:
        watcher.close()


def test_the_tasks_of_an_array_have_their_own_files(cluster: RealCluster) -> None:
    """As scontrol tells them; `%A` and `%a` are filled in."""
    job = cluster.submit("exit 0", "--array=3,5", "--output=task %A_%a.txt", "--hold")
    found = asyncio.run(slurm.find(f"{job}_5"))
    assert ("PENDING", [f"{cluster.folder}/task {job}_5.txt"]) == (found.state, found.logs)
    cluster.ask("scancel", job)


def test_a_job_that_slurm_does_not_know_is_an_error(
    cluster: RealCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the input, not of the run."""
    with pytest.raises(InputError, match="knows no job 999999"):
        asyncio.run(slurm.find("999999"))
    assert 2 == main(["watch", "--slurm", "999999", "--once", "--no-store"])
    assert "Slurm knows no job 999999" in capsys.readouterr().err
