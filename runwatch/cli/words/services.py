"""Runs that a tracking service keeps, as they are named on the command line."""

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.cli.words.repeated import listed, repeatable
from runwatch.cli.words.settings import section_of, text_of
from runwatch.cli.words.vertex import add_vertex, vertex
from runwatch.errors import UsageError
from runwatch.pattern import compiled

if TYPE_CHECKING:
    from runwatch.target import Target

NOTES = ("CLAUDE.md", "AGENTS.md")
"""Files of the working folder in which a project tells its tools where its runs are."""

_PARTS = ("entity", "project")
_NOTED = compiled(
    r"^[\s>#|*+-]*(?:export\s+)?[`*\"']*WANDB[_ -]?(?P<part>ENTITY|PROJECT)[`*\"']*\s*"
    r"(?:\([^)\n]*\)\s*)?[:=|]\s*[`*\"'<]*(?P<value>[\w.-]+(?:/[\w.-]+)?)",
    re.IGNORECASE | re.MULTILINE,
)


def add_services(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """The options that name such runs; `several` where more than one can be named."""
    add = parser.add_argument
    more = repeatable(several=several)
    add("--wandb", metavar="RUN", help="a run of W&B: entity/project/run, or its id", **more)
    add("--wandb-project", metavar="ENTITY/PROJECT", default="",
        help="where a bare id of --wandb is (WANDB_ENTITY, WANDB_PROJECT, their settings file, "
        "CLAUDE.md)")  # fmt: skip
    add("--mlflow", metavar="RUN", help="a run of MLflow, by its id", **more)
    add("--tracking-uri", metavar="URI", default="", help="its server (MLFLOW_TRACKING_URI)")
    add_vertex(parser, several=several)


def services(options: argparse.Namespace, log: str | None = None) -> "list[Target]":
    """The runs that were named, each with the log to read while its service does not answer."""
    from runwatch.target import Kind, Target

    beside = Target.parse(log) if log else None
    if beside is not None and beside.kind is Kind.STANDARD_INPUT:
        raise UsageError("--log names no pipe", hint="a file, folder or user@host:/path")
    uri = options.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI", "")
    named = [
        *(
            Target.of_wandb(run, project=_project(options, run), beside=beside)
            for run in listed(options.wandb)
        ),
        *(Target.of_mlflow(run, uri=uri, beside=beside) for run in listed(options.mlflow)),
        *vertex(options, beside),
    ]
    if options.mlflow and not uri:
        hint = "--tracking-uri http://host:5000, or MLFLOW_TRACKING_URI"
        raise UsageError("--mlflow needs the address of its server", hint=hint)
    if options.tracking_uri and not options.mlflow:
        raise UsageError("--tracking-uri goes with --mlflow", hint="name the run: --mlflow RUN")
    return named


def all_of(options: argparse.Namespace) -> "list[str | Target]":
    """The paths of a command that reads runs at rest, and the runs of services. Raises UsageError
    where nothing is named."""
    kept = services(options)
    if not (options.paths or kept):
        raise UsageError("nothing to read", hint="name a file, a folder, a glob, or - for a pipe")
    return [*options.paths, *kept]


def _project(options: argparse.Namespace, run: str) -> str:
    """entity/project for a bare id; "" where nothing says both, or the run itself does."""
    if "/" in run:
        return ""
    found: dict[str, str] = {}
    for said in _said(options.wandb_project, os.environ, Path.cwd()):
        for part in _PARTS:
            if said.get(part):
                found.setdefault(part, said[part])
    return f"{found['entity']}/{found['project']}" if len(found) == len(_PARTS) else ""


def _said(option: str, environment: Mapping[str, str], folder: Path) -> Iterator[Mapping[str, str]]:
    """What each place says of entity and project, the one that counts most first."""
    yield _split(option)
    yield {part: environment.get(f"WANDB_{part.upper()}", "") for part in _PARTS}
    yield section_of(folder / "wandb" / "settings", "default")
    with suppress(RuntimeError):  # a user without a home
        config = environment.get("WANDB_CONFIG_DIR") or Path.home() / ".config" / "wandb"
        yield section_of(Path(config) / "settings", "default")
    for name in NOTES:
        yield _noted(text_of(folder / name))


def _noted(text: str) -> Mapping[str, str]:
    """`WANDB_PROJECT: name` and the like in a note, as a list item, code or assignment."""
    found: dict[str, str] = {}
    for match in _NOTED.finditer(text):
        part, value = match["part"].lower(), match["value"]
        if "/" in value:
            found = {**_split(value), **found}
        else:
            found.setdefault(part, value)
    return found


def _split(both: str) -> Mapping[str, str]:
    entity, _, project = both.strip("/").rpartition("/")
    return {"entity": entity, "project": project}
