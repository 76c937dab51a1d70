"""`python -m runwatch` is `runwatch`."""

import atexit
import contextlib
import os
import sys
import threading

from runwatch.cli import main


def run() -> None:
    """Run one command line and end the process with its exit code. Whatever is open is closed by
    then, and to take the interpreter apart takes a tenth of the time of a short command."""
    code = main()
    if sum(not thread.daemon for thread in threading.enumerate()) > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or never there
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
