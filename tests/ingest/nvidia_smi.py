"""An `nvidia-smi` of ours: a program that answers queries as the real one does."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runwatch.ingest.gpu_smi import COLUMNS

_PROGRAM = """\
#!{python}
import json, sys

gpus, knows = json.loads({gpus!r}), json.loads({knows!r})
words = dict(word.split("=", 1) for word in sys.argv[1:])
names = words["--query-gpu"].split(",")
assert words == {{"--query-gpu": ",".join(names), "--format": "csv,noheader,nounits"}}
for name in names:
    if name not in knows:
        print(f'Field "{{name}}" is not a valid field to query.\\n')
        sys.exit(2)
for gpu in gpus:
    print(", ".join(str(gpu.get(name, "[N/A]")) for name in names))
"""


def installed(folder: Path, gpus: Sequence[Mapping[str, Any]], *, knows: int = 0) -> Path:
    """Put the program into a folder that is on the path. Each GPU tells of what it is given, by the
    names of its driver; it knows those of our queries from number `knows` on."""
    folder.mkdir(exist_ok=True)
    names = sorted({name for columns in COLUMNS[knows:] for name in columns})
    program = folder / "nvidia-smi"
    made = folder / "nvidia-smi.new"  # one that is being run cannot be written
    made.write_text(
        _PROGRAM.format(python=sys.executable, gpus=json.dumps(gpus), knows=json.dumps(names))
    )
    made.chmod(0o755)
    made.rename(program)
    return program
