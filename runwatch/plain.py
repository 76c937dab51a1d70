"""Texts fit for a line of ours: what others wrote, how many there are, and for how long."""


def one_line(text: str) -> str:
    """One line without control characters, its words one blank apart."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def counted(number: int, noun: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def lasting(seconds: float) -> str:
    """`45 s`, `12 minutes`, `1.5 hours`: minutes from two on, hours from one and a half."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return (
        f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{round(seconds / 3600, 1):g} hours"
    )
