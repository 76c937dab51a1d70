"""Processes and jobs whose log is meant, as they are named on the command line."""

import argparse
from typing import TYPE_CHECKING

from runwatch.cli.words.repeated import listed, repeatable

if TYPE_CHECKING:
    from runwatch.target import Target


def add_processes(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """The options that name such runs; `several` where more than one can be named."""
    add = parser.add_argument
    more = repeatable(several=several)
    add("--pid", metavar="N", type=int, help="the log of a process", **more)
    add("--proc", metavar="NAME", help="the same, by its command", **more)
    add("--slurm", metavar="ID", help="the output of a Slurm job", **more)
    add("--host", metavar="USER@HOST", default="", help="where --pid, --proc and --slurm are")


def processes(options: argparse.Namespace) -> "list[Target]":
    """The processes and jobs that were named. Raises UsageError where a name names none."""
    from runwatch.target import Target

    return [
        *(Target.of_pid(pid, options.host) for pid in listed(options.pid)),
        *(Target.of_proc(name, options.host) for name in listed(options.proc)),
        *(Target.of_slurm(job, options.host) for job in listed(options.slurm)),
    ]
