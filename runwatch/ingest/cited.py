"""The text of single lines, read again for those who cite them."""

from collections.abc import Mapping

from runwatch.ingest.source import Source

_SHOWN = 4096  # bytes of a line that are given


def cited(source: Source, wanted: Mapping[str, set[int]]) -> dict[tuple[str, int], str]:
    """The wanted lines of a source at rest, by (stream, line number); what is gone is missing.

    Reads each stream from its start to its last wanted line, in memory that does not grow.
    """
    found: dict[tuple[str, int], str] = {}
    number: dict[str, int] = {}
    tails: dict[str, bytes] = {}
    for chunk in source.chunks({}):
        name = chunk.stream.name
        numbers = wanted.get(name, set())
        line = number.get(name, 1)
        if line > max(numbers, default=0):
            continue
        ends = chunk.data.count(b"\n")
        if not any(line <= n <= line + ends for n in numbers):
            number[name] = line + ends
            tails[name] = chunk.data[chunk.data.rfind(b"\n") + 1 :][:_SHOWN]
            continue
        *whole, tail = (tails.pop(name, b"") + chunk.data).split(b"\n")
        for text in whole:
            if line in numbers:
                found[name, line] = text[:_SHOWN].decode("utf-8", "replace")
            line += 1
        number[name], tails[name] = line, tail[:_SHOWN]
        if chunk.last and line in numbers and tail:
            found[name, line] = tail[:_SHOWN].decode("utf-8", "replace")
    return found
