"""How jobs of Vertex AI are named, and where their project comes from."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runwatch.cli.words.services import add_services, services
from runwatch.errors import UsageError
from runwatch.target import Kind, Target

WHERE = "locations/us-central1/customJobs"


def parsed(*words: str) -> list[Target]:
    parser = argparse.ArgumentParser()
    add_services(parser, several=True)
    return services(parser.parse_args(words))


def named(*words: str) -> list[str]:
    return [target.path for target in parsed(*words)]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any settings."""
    for name in os.environ:
        if name.startswith(("GOOGLE_", "CLOUDSDK_", "GCLOUD_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # no machine of Google's is asked who it is
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_full_names_and_pages_say_everything(nowhere: Path) -> None:
    """As copied from a log or from the browser, whatever the options say."""
    whole = "projects/p/locations/europe-west4/customJobs/4"
    assert [whole] == named("--vertex-training", whole)
    page = "https://console.cloud.google.com/vertex-ai/locations/europe-west4/training/4?project=p"
    assert [whole] == named("--vertex-training", page)
    whole = "projects/p/locations/europe-west4/pipelineJobs/a-1"
    for part in ("locations/europe-west4/pipelines/runs", "pipelines/locations/europe-west4/runs"):
        page = f"https://console.cloud.google.com/vertex-ai/{part}/a-1?hl=de&project=p#x"
        assert [whole] == named("--vertex-pipeline", page, "--project", "q")
    with pytest.raises(UsageError, match="nothing for --vertex-training"):
        named("--vertex-training", whole)


def test_an_id_takes_project_and_region_from_the_options(nowhere: Path) -> None:
    """The usual region is us-central1; several jobs are named at once."""
    assert [f"projects/p/{WHERE}/4", f"projects/p/{WHERE}/my run"] == named(
        "--vertex-training", "4", "--vertex-training", "my run", "--project", "p"
    )
    (target,) = parsed("--vertex-pipeline", "a", "--project", "p", "--region", "asia-east1")
    assert (Kind.VERTEX_PIPELINE, "projects/p/locations/asia-east1/pipelineJobs/a") == (
        target.kind, target.path
    )  # fmt: skip
    for wrong in ("", "a/b", "a\nb"):
        with pytest.raises(UsageError, match="names no job"):
            named("--vertex-training", wrong, "--project", "p")
    with pytest.raises(UsageError, match="no project and region"):
        named("--vertex-training", "4", "--project", 'p" OR "')
    with pytest.raises(UsageError, match="goes with a job of Vertex AI"):
        named("--wandb", "a/b/c", "--region", "us-central1")


def test_the_project_is_that_of_whoever_says_it_first(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option, the environment, a service account's key, then gcloud's active settings."""
    pytest.importorskip("google.auth")
    with pytest.raises(UsageError, match="no Google Cloud project"):
        named("--vertex-training", "4")
    gcloud = nowhere / ".config" / "gcloud"
    (gcloud / "configurations").mkdir(parents=True)
    (gcloud / "configurations" / "config_default").write_text("[core]\nproject = set\n")
    assert [f"projects/set/{WHERE}/4"] == named("--vertex-training", "4")
    (gcloud / "configurations" / "config_work").write_text("[core]\nproject = work\n")
    (gcloud / "active_config").write_text("work\n")
    assert [f"projects/work/{WHERE}/4"] == named("--vertex-training", "4")
    key = nowhere / "key.json"
    key.write_text(json.dumps({"type": "service_account", "project_id": "keyed"}))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    assert [f"projects/keyed/{WHERE}/4"] == named("--vertex-training", "4")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "said")
    assert [f"projects/said/{WHERE}/4"] == named("--vertex-training", "4")
    assert [f"projects/p/{WHERE}/4"] == named("--vertex-training", "4", "--project", "p")
    done = subprocess.run(
        [sys.executable, "-m", "runwatch", "check", "--vertex-training", "4", "--install-timer"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "--project=said" in done.stderr  # a timer has another environment


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("proxy.corp:443", "proxy.corp:443"), ("https://proxy.corp/", "proxy.corp"),
        ("http://127.0.0.1:8443", "http://127.0.0.1:8443"),
        ("http://localhost:1/", "http://localhost:1"), ("http://[::1]:9", "http://[::1]:9"),
    ],
)  # fmt: skip
def test_another_address_is_taken(nowhere: Path, address: str, meant: str) -> None:
    """Of a proxy or a private endpoint, over TLS; in plain text on this machine."""
    (target,) = parsed(
        "--vertex-training", "4", "--project", "p", "--vertex-endpoint", address,
        "--logging-endpoint", address,
    )  # fmt: skip
    assert (meant, meant) == (target.service, target.log_service)


@pytest.mark.parametrize("option", ["--vertex-endpoint", "--logging-endpoint"])
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://proxy.corp:80", "plain text"), ("http://127.0.0.1.evil.org", "plain text"),
        ("http://10.0.0.7:80", "plain text"), ("ftp://proxy", "no address"), ("a b", "no address"),
    ],
)  # fmt: skip
def test_no_token_crosses_a_network_in_plain_text(
    nowhere: Path, option: str, address: str, why: str
) -> None:
    """Such an address is refused before anything is sent."""
    with pytest.raises(UsageError, match=why):
        parsed("--vertex-training", "4", "--project", "p", option, address)


def test_a_user_without_a_home_names_them_all_the_same(tmp_path: Path) -> None:
    """In a container with a number for a user: what a home would say is nothing."""
    if os.geteuid():
        pytest.skip("only root can become another user")
    code = (
        "import configparser, json, os, pathlib\n"
        "from runwatch.cli.words.services import _said\n"
        "from runwatch.cli.words.vertex import _told\n"
        "os.setuid(54321)\n"
        "print(len(list(_said('a/b', {}, pathlib.Path('/')))), list(_told('p', {})))"
    )
    environment = {name: word for name, word in os.environ.items() if name != "HOME"}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True
    )
    assert (b"", b"5 ['p', '', '']\n") == (found.stderr, found.stdout)
