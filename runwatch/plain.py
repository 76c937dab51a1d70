"""Texts fit for a line of ours: what others wrote, and how many there are of something."""


def one_line(text: str) -> str:
    """One line without control characters, its words one blank apart."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def counted(number: int, noun: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
