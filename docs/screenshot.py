"""Draws docs/scan.svg: what `runwatch scan` tells of the example run, in colour.

python docs/screenshot.py [FILE]
"""

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
COLUMNS = 88
COMMAND = "runwatch scan examples/eight-ranks"


def main() -> None:
    """Write the picture to FILE, the one beside this script if none is named."""
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("scan.svg")
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "green"), (COMMAND, "bold"), "\n"))
    console.print(Text.from_ansi(answer()))
    # No font from the web, and a fixed id, so that the same answer gives the same file.
    svg = console.export_svg(title="runwatch", unique_id="runwatch")
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    place.write_text(svg, encoding="utf-8")


def answer() -> str:
    """What the command prints on a terminal."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory() as history, os.fdopen(ours, "rb", buffering=0) as terminal:
        surroundings = {"RUNWATCH_HOME": history, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
        inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        process = subprocess.Popen(
            [sys.executable, "-m", *COMMAND.split()],
            stdout=theirs,
            cwd=ROOT,
            env={**inherited, **surroundings},
        )
        os.close(theirs)
        pieces = []
        while piece := _read(terminal):
            pieces.append(piece)
        process.wait()
    return b"".join(pieces).decode().replace("\r\n", "\n")


def _read(terminal: io.RawIOBase) -> bytes:
    """The next piece, or nothing once the other side was closed."""
    try:
        return terminal.read(1 << 16) or b""
    except OSError:  # Linux reports the closed side of a terminal as an error
        return b""


if __name__ == "__main__":
    main()
