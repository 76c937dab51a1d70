"""Jobs and pipelines of Vertex AI, as they are named on the command line."""

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.cli.words.repeated import listed, repeatable
from runwatch.cli.words.settings import section_of, text_of
from runwatch.errors import UsageError

if TYPE_CHECKING:
    from runwatch.target import Target

REGION = "us-central1"
_BESIDE = ("project", "region", "vertex_endpoint", "logging_endpoint")


def add_vertex(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """The options that name them; `several` where more than one can be named."""
    add = parser.add_argument
    more = repeatable(several=several)
    add("--vertex-pipeline", metavar="JOB", help="a pipeline of Vertex AI, by id or name", **more)
    add("--vertex-training", metavar="JOB", help="a custom job of Vertex AI, by id or name", **more)
    add("--project", metavar="PROJECT", default="",
        help="its project (GOOGLE_CLOUD_PROJECT, credentials, gcloud's settings)")  # fmt: skip
    add("--region", metavar="REGION", default="", help=f"its region ({REGION})")
    add("--vertex-endpoint", metavar="HOST", default="",
        help="another address of Vertex AI: a proxy, a private endpoint")  # fmt: skip
    add("--logging-endpoint", metavar="HOST", default="", help="the same of Cloud Logging")


def vertex(options: argparse.Namespace, beside: "Target | None") -> "list[Target]":
    """The jobs that were named."""
    from runwatch.target import Kind, Target

    named = [
        (kind, job)
        for kind in (Kind.VERTEX_PIPELINE, Kind.VERTEX_TRAINING)
        for job in listed(getattr(options, kind))
    ]
    given = [name for name in _BESIDE if getattr(options, name)]
    if given and not named:
        option = f"--{given[0].replace('_', '-')}"
        raise UsageError(f"{option} goes with a job of Vertex AI", hint="--vertex-training JOB")
    targets = []
    for kind, job in named:
        if not job.startswith(("projects/", "https://")):
            # Kept for the next, and for a timer, which has neither this environment nor settings.
            options.project = project(options.project)
        targets.append(Target.of_vertex(
            kind, job, project=options.project, region=options.region or REGION,
            vertex=options.vertex_endpoint, logging=options.logging_endpoint, beside=beside,
        ))  # fmt: skip
    return targets


def project(option: str) -> str:
    """The first that says it: option, environment, credentials, gcloud's own settings. Raises
    UsageError where nothing does."""
    told = next((name for name in _told(option, os.environ) if name), "")
    if not told:
        from runwatch.ingest.vertex_api import project_of_credentials

        told = project_of_credentials()
    if not told:
        hint = "--project PROJECT, GOOGLE_CLOUD_PROJECT, or `gcloud config set project PROJECT`"
        raise UsageError("no Google Cloud project is named", hint=hint)
    return told


def _told(option: str, environment: Mapping[str, str]) -> Iterator[str]:
    yield option
    yield environment.get("GOOGLE_CLOUD_PROJECT", "")
    yield environment.get("CLOUDSDK_CORE_PROJECT", "")
    if key := environment.get("GOOGLE_APPLICATION_CREDENTIALS"):
        yield _of_key(Path(key))
    with suppress(RuntimeError):  # a user without a home
        config = environment.get("CLOUDSDK_CONFIG") or Path.home() / ".config" / "gcloud"
        yield _of_settings(Path(config), environment)


def _of_key(path: Path) -> str:
    """The project of a service account's key."""
    import json

    try:
        told = json.loads(text_of(path))
    except ValueError:
        return ""
    return str(told.get("project_id", "")) if isinstance(told, dict) else ""


def _of_settings(folder: Path, environment: Mapping[str, str]) -> str:
    """The project of gcloud's active configuration."""
    said = environment.get("CLOUDSDK_ACTIVE_CONFIG_NAME")
    name = said or text_of(folder / "active_config").strip()
    if not re.fullmatch(r"[\w-]*", name):
        return ""
    kept = folder / "configurations" / f"config_{name or 'default'}"
    return section_of(kept, "core").get("project", "")
