"""One library being compiled, by a process of its own: Ctrl-C ends the wait for it at once, and who
must not wait goes on meanwhile.

Of several processes that find nothing kept one compiles, and the others wait for what it leaves.
The compiling process ends with the one that wanted it, however that one ends: it looks at a pipe of
which the other end is open as long as that one lives. Nothing is kept before it is whole.
"""

import os
import subprocess
import sys
from threading import Thread

from runwatch.kernels import keeping

_ASIDE = 10  # how much less urgent it is than what goes on meanwhile
_START = """\
import sys
name, pipe, urgency, *sys.path[:] = sys.argv[1:]
from runwatch.kernels.building import serve
serve(name, int(pipe), int(urgency))
"""


class Work:
    """Begins at once; `aside` where nobody waits for it."""

    def __init__(self, name: str, *, aside: bool) -> None:
        self._name, self._aside = name, aside
        self._code = b""
        self._kept = False
        self._error: Exception | None = None
        self._thread = Thread(target=self._run, name=f"compiling {name}", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether there is a result to be had at once."""
        return not self._thread.is_alive()

    def result(self) -> tuple[bytes, bool]:
        """The code, waited for, and whether it is kept for others. Raises what kept it from being
        made: RuntimeError, OSError."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._code, self._kept

    def _run(self) -> None:
        try:
            with keeping.turn(self._name):
                code = keeping.kept(self._name)
                if code is not None:
                    self._code, self._kept = code, True
                    return
                self._code = self._compiled()
                self._kept = keeping.keep(self._name, self._code)
        except Exception as e:
            self._error = e

    def _compiled(self) -> bytes:
        ours, held = os.pipe()
        words = [self._name, str(ours), str(_ASIDE if self._aside else 0), *sys.path]
        try:
            done = subprocess.run(  # noqa: S603  our own program
                [sys.executable, "-P", "-c", _START, *words],
                stdin=subprocess.DEVNULL, capture_output=True, pass_fds=(ours,),
                start_new_session=True, check=False,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(held)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise RuntimeError(said[-1] if said else f"the compiler ended with {done.returncode}")
        return done.stdout
