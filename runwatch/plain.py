"""Texts that others wrote, made fit for a line of ours."""


def one_line(text: str) -> str:
    """One line without control characters, its words one blank apart."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
