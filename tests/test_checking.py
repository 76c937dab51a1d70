"""Where a person finds a run that was checked."""

from pathlib import Path

import pytest

from runwatch.checking import address_of
from runwatch.target import Kind, Target


def test_every_run_has_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page, a whole path, or what was named."""
    monkeypatch.chdir(tmp_path)
    wandb = Target.of_wandb("team/gpt/4f2a")
    assert address_of(wandb) == "https://wandb.ai/team/gpt/runs/4f2a"
    assert address_of(wandb, "http://own:8080/") == "http://own:8080/team/gpt/runs/4f2a"
    assert address_of(Target.of_mlflow("0a1b", uri="http://m:5000")) == "run 0a1b at http://m:5000"
    where = {"project": "p", "region": "us-west1"}
    job = Target.of_vertex(Kind.VERTEX_TRAINING, "4", **where)
    pages = "https://console.cloud.google.com/vertex-ai/locations/us-west1"
    assert address_of(job) == f"{pages}/training/4?project=p"
    pipeline = Target.of_vertex(Kind.VERTEX_PIPELINE, "a-1", **where)
    assert address_of(pipeline) == f"{pages}/pipelines/runs/a-1?project=p"
    assert address_of(Target.parse("logs/train.log")) == str(tmp_path / "logs" / "train.log")
    assert address_of(Target.parse("me@box:/x/train.log")) == "me@box:/x/train.log"
