"""What a person names: files here or on another host, a process, a job, or "-" for a pipe."""

import ipaddress
import os
import re
from enum import StrEnum
from typing import Self

from runwatch.errors import UsageError
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_HOST = r"(?P<host>\[[0-9a-fA-F:.%\w]+\]|[A-Za-z0-9][\w.-]*)"
_USER = r"(?:(?P<user>[^\s@:/]+)@)"
_URL = compiled(rf"ssh://{_USER}?{_HOST}(?::(?P<port>\d{{1,5}}))?(?P<path>/.*)?", re.DOTALL)
_REMOTE = compiled(rf"{_USER}{_HOST}:(?P<path>.+)", re.DOTALL)
_BARE = compiled(rf"{_HOST}:(?P<path>[/~].*)", re.DOTALL)  # a host of ~/.ssh/config
_WANDB_PAGE = compiled(r"https?://[^/]+/([^/]+/[^/]+)/(?:runs/)?(?=[^/]+$)")
_ACCOUNT = compiled(rf"(?:ssh://)?{_USER}?{_HOST}(?::(?P<port>\d{{1,5}}))?/?")


class Kind(StrEnum):
    """Where the bytes of a target come from. Each value is the name of a module in `ingest`."""

    FILE = "file"
    FOLDER = "folder"
    GLOB = "glob"
    STANDARD_INPUT = "standard_input"
    SSH = "ssh"
    PID = "pid"
    PROC = "proc"
    SLURM = "slurm"
    WANDB = "wandb"
    MLFLOW = "mlflow"
    VERTEX_PIPELINE = "vertex_pipeline"
    VERTEX_TRAINING = "vertex_training"


FILES = (Kind.FILE, Kind.FOLDER, Kind.GLOB)  # on this machine: at hand as often as wanted
VERTEX = (Kind.VERTEX_PIPELINE, Kind.VERTEX_TRAINING)
SERVICES = (Kind.WANDB, Kind.MLFLOW, *VERTEX)  # runs that a service keeps

_CLOUD_NAME = compiled(r"projects/([^/]+)/locations/([^/]+)/(pipelineJobs|customJobs)/([^/]+)")
_CLOUD_PAGE = compiled(
    r"https://console\.cloud\.google\.com/vertex-ai/(?:pipelines/)?locations/([^/]+)/"
    r"(?:pipelines/)?(?:training|runs)/([^/?]+)[^?]*\?(?:[^#]*&)?project=([^&#]+)"
)
_ADDRESS = compiled(r"(https?://)?(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?/?")


@frozen
class Target:
    """One run, as named: `text` is what was typed, `path` the same with `~` expanded.

    For a process or a job, `path` is its id or name. `host` is empty for this machine; `user` and
    `port` are empty and 0 where the settings of ssh say them. A `~` on another host stays. For a
    run that a service keeps, `service` is the service's address, empty where its own settings
    say it, and `beside` the log that is read while it does not answer; `log_service` is where the
    log of a job of Vertex AI is, empty for Cloud Logging's own address.
    """

    kind: Kind
    text: str
    path: str = ""
    host: str = ""
    user: str = ""
    port: int = 0
    service: str = ""
    log_service: str = ""
    beside: "Target | None" = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Tell the kind of a target from its words and one look at the disk.

        A file that exists wins over a glob, so `run[1].log` can be named as it is, and over a
        host, so `a@b:c` can. What does not exist is a file: opening it tells what is there
        instead. Raises UsageError for words that can name nothing.
        """
        if not text:
            raise UsageError("an empty target names nothing", hint='use "-" for standard input')
        if "\0" in text:
            raise UsageError(f"no path holds a NUL byte: {text!r}")
        if text == "-":
            return cls(Kind.STANDARD_INPUT, text)
        path = os.path.expanduser(text)
        if not os.path.lexists(path) and (remote := cls._remote(text)):
            return remote
        return cls(_kind_of(path), text, path)

    @classmethod
    def _remote(cls, text: str) -> Self | None:
        if text.startswith("ssh://"):
            found = _URL.fullmatch(text)
            if found is None or not found["path"]:
                raise UsageError(
                    f"{text} names no log", hint="write ssh://user@host:port/path/to/train.log"
                )
            port = int(found["port"] or 0)
            if port > 65535:
                raise UsageError(f"{text}: there is no port {port}")
            path = found["path"]
            path = path[1:] if path.startswith("/~") else path
        else:
            found = _REMOTE.fullmatch(text) or _BARE.fullmatch(text)
            if found is None:
                return None
            port, path = 0, found["path"]
        said = found.groupdict()
        return cls(Kind.SSH, text, path, said["host"].strip("[]"), said.get("user") or "", port)

    @classmethod
    def of_pid(cls, pid: int, account: str = "") -> Self:
        """A process by its id, on this machine or at an `account` like `user@host:port`."""
        if pid <= 0:
            raise UsageError(f"no process has the id {pid}")
        return cls._beside(Kind.PID, str(pid), account)

    @classmethod
    def of_proc(cls, name: str, account: str = "") -> Self:
        """The process whose command line has this name in it."""
        if not name.strip():
            raise UsageError("an empty name names no process", hint="write --proc train.py")
        return cls._beside(Kind.PROC, name, account)

    @classmethod
    def of_slurm(cls, job: str, account: str = "") -> Self:
        """A Slurm job, `123` or `123_4` for a task of an array."""
        if not re.fullmatch(r"\d+(_\d+)?(\+\d+)?", job):
            raise UsageError(f"{job} is no id of a Slurm job", hint="write --slurm 123 or 123_4")
        return cls._beside(Kind.SLURM, job, account)

    @classmethod
    def of_wandb(cls, run: str, *, project: str = "", beside: "Target | None" = None) -> Self:
        """A run of Weights & Biases: entity/project/run, or its id within `project`.

        `project` is entity/project. The address of a run's page will do as well.
        """
        path = _WANDB_PAGE.sub(r"\1/", run.partition("?")[0]).strip("/")
        if "/" not in path and project:
            path = f"{project.strip('/')}/{path}"
        if len(path.split("/")) != 3 or not all(path.split("/")):
            raise UsageError(
                f"{run or 'an empty name'} names no run of W&B",
                hint="write --wandb ENTITY/PROJECT/RUN, or set WANDB_ENTITY and WANDB_PROJECT",
            )
        return cls(Kind.WANDB, f"--wandb {path}", path, beside=beside)

    @classmethod
    def of_mlflow(cls, run: str, *, uri: str = "", beside: "Target | None" = None) -> Self:
        """A run of MLflow by its id, at the tracking server of this address."""
        if not re.fullmatch(r"[\w-]{1,256}", run):
            raise UsageError(
                f"{run or 'an empty name'} is no id of a run of MLflow",
                hint="write --mlflow 0123abcd…",
            )
        return cls(Kind.MLFLOW, f"--mlflow {run}", run, service=uri, beside=beside)

    @classmethod
    def of_vertex(
        cls, kind: Kind, job: str, *, project: str, region: str, vertex: str = "",
        logging: str = "", beside: "Target | None" = None,
    ) -> Self:  # fmt: skip
        """A job of Vertex AI: its id, the name that people gave it, its full name or its page.

        `vertex` and `logging` are addresses for whoever reaches the services by others than
        their own; only one on this machine may be spoken to in plain text.
        """
        what = "pipelineJobs" if kind is Kind.VERTEX_PIPELINE else "customJobs"
        option = f"--{kind.replace('_', '-')}"
        if page := _CLOUD_PAGE.match(job):
            region, job, project = page[1], page[2], page[3]
        elif named := _CLOUD_NAME.fullmatch(job):
            project, region, job = named[1], named[2], named[4]
            if named[3] != what:
                raise UsageError(f"{named[0]} is nothing for {option}", hint=f"it has no {what}")
        if not job.strip() or "/" in job or not job.isprintable():
            raise UsageError(f"{job!r} names no job of Vertex AI", hint=f"write {option} 1234567")
        if not re.fullmatch(r"[\w:.-]+", project) or not re.fullmatch(r"[\w-]+", region):
            raise UsageError(
                f"{option} {job}: no project says where it is" if not project else
                f"{project}, {region}: no project and region", hint="write --project PROJECT",
            )  # fmt: skip
        path = f"projects/{project}/locations/{region}/{what}/{job}"
        return cls(kind, f"{option} {path}", path, service=_address(vertex),
                   log_service=_address(logging), beside=beside)  # fmt: skip

    @classmethod
    def _beside(cls, kind: Kind, what: str, account: str) -> Self:
        text = f"--{kind} {what}"
        if not account:
            return cls(kind, text, what)
        found = _ACCOUNT.fullmatch(account)
        if found is None:
            raise UsageError(f"{account} is no host", hint="write user@host or user@host:port")
        host, user, port = found["host"].strip("[]"), found["user"] or "", int(found["port"] or 0)
        return cls(kind, f"{account} {text}", what, host, user, port)

    @property
    def account(self) -> str:
        """`user@host` as it is shown in front of reports, "" for this machine."""
        return f"{self.user}@{self.host}" if self.user else self.host

    def __str__(self) -> str:
        return self.text


def vertex_page(path: str) -> str:
    """The address of the page of a job of Vertex AI, by its full name."""
    _, project, _, region, kind, job = path.split("/", 5)
    what = "training" if kind == "customJobs" else "pipelines/runs"
    where = f"https://console.cloud.google.com/vertex-ai/locations/{region}/{what}"
    return f"{where}/{job}?project={project}"


def _address(text: str) -> str:
    """`host` or `host:port`, `http://` in front of one on this machine that speaks plain text."""
    if not text:
        return ""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise UsageError(f"{text} is no address", hint="write host or host:port")
    host, port = found[2], found[3] or ""
    if found[1] != "http://":
        return host + port
    if not _is_here(host.strip("[]")):
        raise UsageError(
            f"{text}: a token must not cross the network in plain text",
            hint="only an address of this machine, such as http://127.0.0.1:8443, may begin so",
        )
    return f"http://{host}{port}"


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _kind_of(path: str) -> Kind:
    if os.path.isdir(path):
        return Kind.FOLDER
    if any(sign in path for sign in "*?[") and not os.path.lexists(path):
        return Kind.GLOB
    return Kind.FILE
