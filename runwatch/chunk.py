"""Bytes as they arrived, from which stream, and the cursor to go on from."""

from dataclasses import field

from runwatch.slotted import frozen

TELEMETRY = "telemetry"  # the kind of a stream of what machines tell of themselves


@frozen
class Stream:
    """One sequence of lines of a run: a file, a rank's stdout, a container.

    `name` is unique within the run (a path relative to what its files share); `rank` is what the
    name itself tells (`rank_3/stderr.log`), None where it tells nothing. `kind` is empty for a log;
    else it says what else keeps the numbers of the run: tensorboard, table, wandb… or `TELEMETRY`.
    """

    name: str
    rank: int | None = None
    kind: str = ""


@frozen
class Cursor:
    """Where to go on in a stream: everything before `offset` was read and is stored.

    `offset` counts bytes of text (after decompression), `lines` the `\\n` before it, so the next
    line is number `lines + 1`. `identity` recognises the same file later; a source whose stream
    no longer has it starts over at 0. `at` is when the stream stood there, in seconds since 1970, 0
    where nobody knows: what was written since has not been read.
    """

    identity: str
    offset: int = 0
    lines: int = 0
    at: float = field(default=0.0, compare=False)


@frozen
class Chunk:
    """Bytes of one stream, in order, cut anywhere. Empty data says that time has passed.

    `offset` is the position of `data[0]` in the stream's text; `size` and `position` are the
    stored bytes of the whole stream and how many of them have been read, for a progress bar
    (compressed bytes where it is compressed; `size` 0 where unknown). `last` marks the true end
    of the input: an unfinished line may then be given up.
    """

    stream: Stream
    data: bytes
    offset: int
    identity: str = ""
    size: int = 0
    position: int = 0
    last: bool = False

    def part(self, start: int, end: int) -> "Chunk":
        """Some of its bytes; who puts all of them side by side has the same as before."""
        if (start, end) == (0, len(self.data)):
            return self
        left = len(self.data) - end
        return Chunk(
            self.stream, self.data[start:end], self.offset + start, self.identity, self.size,
            max(0, self.position - left), self.last and not left,
        )  # fmt: skip
