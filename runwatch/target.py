"""What a person names: files here or on another host, a process, a job, or "-" for a pipe."""

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from runwatch.errors import UsageError

_HOST = r"(?P<host>\[[0-9a-fA-F:.%\w]+\]|[A-Za-z0-9][\w.-]*)"
_USER = r"(?:(?P<user>[^\s@:/]+)@)"
_URL = re.compile(rf"ssh://{_USER}?{_HOST}(?::(?P<port>\d{{1,5}}))?(?P<path>/.*)?", re.DOTALL)
_REMOTE = re.compile(rf"{_USER}{_HOST}:(?P<path>.+)", re.DOTALL)
_BARE = re.compile(rf"{_HOST}:(?P<path>[/~].*)", re.DOTALL)  # a host of ~/.ssh/config
_WANDB_PAGE = re.compile(r"https?://[^/]+/([^/]+/[^/]+)/(?:runs/)?(?=[^/]+$)")
_ACCOUNT = re.compile(rf"(?:ssh://)?{_USER}?{_HOST}(?::(?P<port>\d{{1,5}}))?/?")


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


FILES = (Kind.FILE, Kind.FOLDER, Kind.GLOB)  # on this machine: at hand as often as wanted


@dataclass(frozen=True, slots=True)
class Target:
    """One run, as named: `text` is what was typed, `path` the same with `~` expanded.

    For a process or a job, `path` is its id or name. `host` is empty for this machine; `user` and
    `port` are empty and 0 where the settings of ssh say them. A `~` on another host stays. For a
    run that a service keeps, `service` is the service's address, empty where its own settings
    say it, and `beside` the log that is read while it does not answer.
    """

    kind: Kind
    text: str
    path: str = ""
    host: str = ""
    user: str = ""
    port: int = 0
    service: str = ""
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
                f"{run} names no run of W&B",
                hint="write --wandb ENTITY/PROJECT/RUN, or set WANDB_ENTITY and WANDB_PROJECT",
            )
        return cls(Kind.WANDB, f"--wandb {path}", path, beside=beside)

    @classmethod
    def of_mlflow(cls, run: str, *, uri: str = "", beside: "Target | None" = None) -> Self:
        """A run of MLflow by its id, at the tracking server of this address."""
        if not re.fullmatch(r"[\w-]{1,256}", run):
            raise UsageError(f"{run} is no id of a run of MLflow", hint="write --mlflow 0123abcd…")
        return cls(Kind.MLFLOW, f"--mlflow {run}", run, service=uri, beside=beside)

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


def _kind_of(path: str) -> Kind:
    if os.path.isdir(path):
        return Kind.FOLDER
    if any(sign in path for sign in "*?[") and not os.path.lexists(path):
        return Kind.GLOB
    return Kind.FILE
