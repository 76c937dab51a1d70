"""What an exit code says: minus the signal, or 128 plus it."""

from runwatch.detect.signatures import context_table

# The order in which deaths of one instant are believed to be the first: a process that failed by
# itself, a crash, a kill with proof, an abort (normally a watchdog's), a kill, a polite ending.
_BELIEF = ("1", "-11", "-7", "-4", "-8", "-6", "-9", "-2", "-15")


def kind_of_exit(told: dict[str, str]) -> str:
    """The kind for what a launcher's line told: `code`, `signo` or the name of a `signal`."""
    code = told.get("code", "")
    if told.get("signo"):
        code = f"-{told['signo']}"
    kinds: dict[str, str] = context_table()["exit"]
    signal = told.get("signal", "")
    return kinds.get(signal, "") or kinds.get(code, "process_crash")


def belief(code: str) -> int:
    """0 for the code that most likely came first among deaths of the same second; "" is unknown."""
    if code in _BELIEF:
        return _BELIEF.index(code)
    return len(_BELIEF) if code.startswith("-") else 0
