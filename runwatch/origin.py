"""Where a process of another host came from, and how it is started again there: by a script, in its
folder, with its environment and outputs, so that it outlives the connection.

What others may not read, such as the keys in an environment, stands in what a shell reads, never in
the words of a command, which everybody on that host sees.
"""

import re
import shlex
from dataclasses import field

from runwatch.ingest.process import Process
from runwatch.ingest.process_remote import SAY_CUT, cut
from runwatch.ingest.ssh import Host
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_NAME = compiled(r"[A-Za-z_][A-Za-z_0-9]*")
# A shell sets the first itself where nobody else did; some shells let nobody set the others.
_SET_BY_SHELLS = ("PWD", "OLDPWD", "SHLVL")
_KEPT_BY_SHELLS = frozenset(("UID", "EUID", "PPID", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO", "_"))


@frozen
class Origin:
    """What it takes to start a process again, beside its command and folder: the environment, and
    the files behind its standard output and error. `barred` is why that must not be done."""

    environment: tuple[str, ...] = field(default=(), repr=False)
    outputs: tuple[str, str] = ("", "")
    barred: str = ""


async def origin_of(host: Host, process: Process) -> Origin:
    """What is known of a process that lives. Raises UnreachableError."""
    at = f"/proc/{process.pid}"
    asked = ["id -u", f"stat -c %u {at}", f"readlink {at}/ns/mnt", "readlink /proc/self/ns/mnt",
             f"readlink {at}/fd/1", f"readlink {at}/fd/2", f"cat {at}/environ"]  # fmt: skip
    answer = await host.run(f"; {SAY_CUT}; ".join(asked))
    parts = [part.decode("utf-8", "surrogateescape") for part in cut(host, answer, len(asked))]
    us, user, there, ours, out, error = (part.removesuffix("\n") for part in parts[:6])
    environment = tuple(word for word in parts[6].split("\0") if "=" in word)
    job = next((w for w in environment if w.startswith("SLURM_JOB_ID=")), "").partition("=")[2]
    barred = ""
    if user and us != user:
        barred = "its process belongs to another user"
    elif there and there != ours:
        barred = "it runs in a container there"
    elif job:
        barred = f"Slurm job {job} runs it"
    return Origin(environment, (out, error), barred)


def starting(command: str, before: Process | None, origin: Origin, log: str) -> str:
    """A script that starts it, with the outputs it had, or else appending to the log; it says
    `started N`, and what it cannot do as before."""
    same = before is not None and before.command and command == shlex.join(before.command)
    words = list(before.command) if same and before else ["/bin/sh", "-c", command]
    out, error = (shlex.join([path, log]) for path in origin.outputs)
    folder = before.folder if before else ""
    clean = "env -i" if origin.environment else "env"
    begin = 'printf "%s\\n" "$it" |'
    become = '/bin/sh -s "$out" "$err"'
    return (
        f"cd {shlex.quote(folder)} || {{ echo its folder is gone; exit; }}\n" if folder else ""
    ) + (
        'place() { for f; do [ -f "$f" ] && { printf %s "$f"; return; }; done; echo /dev/null; }\n'
        f"out=$(place {out}) err=$(place {error})\n"
        f"it={shlex.quote(_becoming(words, origin))}\n"
        # Whose output this is tells that it began, so that is waited for, whoever comes first.
        f"if setsid -f true; then said=$({begin} {clean} $(command -v setsid) -f {become})\n"
        f"else said=$({begin} nohup {clean} {become} & )\nfi\n"
        'echo "$said"\n'
        f'[ "$out" != /dev/null ] || [ {shlex.quote(origin.outputs[0])} = /dev/null ] || '
        "echo its output goes nowhere"
    )


def _becoming(words: list[str], origin: Origin) -> str:
    """What the shell reads that becomes the training; it says its number before: what runs behind
    `&` would be deaf to Ctrl-C. Its words are the files of the outputs."""
    told, functions, left = ['echo started "$$"'], [], []
    if origin.environment:
        names = [word.partition("=")[0] for word in origin.environment]
        unset = [name for name in _SET_BY_SHELLS if name not in names]
        told += [f"unset {' '.join(unset)}"] if unset else []
        for name, word in zip(names, origin.environment, strict=True):
            export = f"export {shlex.quote(word)}"
            if name in _KEPT_BY_SHELLS:
                told.append(f"({export}) && {export}")
            elif _NAME.fullmatch(name):
                told.append(export)
            elif name.startswith("BASH_FUNC_"):  # code, which no shell but its own can export
                functions.append(word)
            else:
                left.append(name)
    if left:
        told.insert(0, f"echo {shlex.quote('without ' + ', '.join(left[:4]))}")
    env = ["env", *functions] if functions else []
    told.append(f'exec {shlex.join([*env, *words])} >>"$1" 2>>"$2" </dev/null')
    return "{\n" + "\n".join(told) + "\n}"


def begun(answer: bytes) -> tuple[int, str]:
    """The number of what was started, and what came of it in words. Raises OSError where nothing
    was started."""
    lines = answer.decode("utf-8", "replace").splitlines()
    found = next((line for line in lines if re.fullmatch(r"started \d{1,18}", line)), "")
    if not found:
        raise OSError(f"it could not be started there: {' '.join(lines)[:200] or 'no answer'}")
    pid = int(found.split()[1])
    others = [line for line in lines if line.startswith(("without ", "its output "))]
    return pid, ", ".join([f"started as process {pid}", *others])
