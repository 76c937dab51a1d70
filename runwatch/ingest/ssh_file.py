"""One followed name on another host: what to ask for it, and what the answers mean.

The same rules as for a file here: the name is followed, a replaced file is read to its end first,
the head is compared before and after each read. Nothing holds the old file open over there, so
after a rotation it is found by its inode beside the log.
"""

from dataclasses import field
from os.path import basename, dirname, join
from shlex import quote

from runwatch.chunk import Cursor, Stream
from runwatch.ingest.follow_rotated import copies_among
from runwatch.slotted import frozen, mutable

HEAD = 4096
PIECE = 1 << 20
FORMATS = {
    "gnu": "stat -L -c '%d %i %s %Y|%y|%n'",  # busybox too
    "bsd": "stat -L -f '%d %i %z %m|%Fm|%N'",
}


@frozen
class Look:
    """What stat said of a name: `at` is when it was written last, in seconds since 1970, `time` the
    same finer, which is only compared."""

    device: int
    inode: int
    size: int
    at: int
    time: str


def looks(answer: bytes) -> dict[str, Look]:
    """The answer of stat by path; what is missing has no line."""
    found = {}
    for line in answer.split(b"\n"):
        numbers, _, rest = line.partition(b"|")
        time, _, path = rest.partition(b"|")
        parts = numbers.split(b" ")
        if len(parts) == 4 and all(part.isdigit() for part in parts):
            name = path.decode("utf-8", "surrogateescape")
            device, inode, size, at = map(int, parts)
            found[name] = Look(device, inode, size, at, time.decode("ascii", "replace"))
    return found


@frozen
class Head:
    """How a file begins: the POSIX checksum of its first bytes and how many they were."""

    length: int = 0
    checksum: int = 4294967295  # of nothing

    @classmethod
    def parse(cls, answer: bytes) -> "Head":
        """From what cksum printed."""
        checksum, _, length = answer.strip().partition(b" ")
        return cls(int(length), int(checksum)) if checksum.isdigit() and length.isdigit() else cls()

    @property
    def words(self) -> str:
        """As cksum prints it."""
        return f"{self.checksum} {self.length}"


@mutable
class Part:
    """A file that a stream is read from, and how far. `settled`: nobody writes to it any more."""

    path: str
    device: int
    inode: int
    head: Head
    offset: int = 0
    settled: bool = False
    seen: Look | None = None

    @property
    def identity(self) -> str:
        """As it is kept in cursors."""
        return f"{self.device:x}.{self.inode:x}.{self.head.length}.{self.head.checksum:08x}"

    def is_at(self, look: Look) -> bool:
        """Whether a name leads to this file."""
        return (look.device, look.inode) == (self.device, self.inode)


def part_of(path: str, cursor: Cursor) -> Part | None:
    """The file that a cursor stands in, None where it is of another kind of source."""
    try:
        device, inode, length, checksum = cursor.identity.split(".")
        head = Head(int(length), int(checksum, 16))
        return Part(path, int(device, 16), int(inode, 16), head, cursor.offset)
    except ValueError:
        return None


@mutable
class RemoteTail:
    """A followed name and where its stream stands."""

    stream: Stream
    path: str
    cursor: Cursor | None = None
    part: Part | None = None
    left: float = 0.0
    grown: float = 0.0
    gone: bool = False
    more: bool = False
    former: dict[tuple[int, int], tuple[Head, int]] = field(default_factory=dict)

    def wants(self, look: Look | None) -> bool:
        """Whether there may be something to read after this look."""
        part = self.part
        if look is None:
            return self.more or (part is not None and not self.gone)
        if part is None or self.left or self.more or not part.is_at(look):
            return True
        return part.seen != look

    def folder_copies(self, names: list[str]) -> list[str]:
        """The rotated copies beside the log, the oldest first."""
        return copies_among(self.path, [basename(name) for name in names])


def reading(part: Part, mark: str, stat: str) -> str:
    """A script that prints the bytes behind a part's offset between checks of its head."""
    path = quote(part.path)
    return (
        f"{stat} {path}\nprintf '%s' {mark}\n"
        f"head -c {part.head.length} {path} | cksum\nprintf '%s' {mark}\n"
        f"tail -c +{part.offset + 1} {path} | head -c {PIECE}\nprintf '%s' {mark}\n"
        f"head -c {part.head.length} {path} | cksum\nprintf '%s' {mark}\n"
        f"head -c {HEAD} {path} | cksum\nprintf '%s' {mark}\n"
        f"{stat} {path}"
    )


def head_of(path: str, length: int = HEAD) -> str:
    """A script that prints the checksum of a head."""
    return f"head -c {length} {quote(path)} | cksum"


def first_text(path: str) -> str:
    """A script that prints the place of the first byte that is no NUL, and that byte."""
    return f"cmp -l {quote(path)} /dev/zero | head -n 1"


def beside(path: str, stat: str) -> str:
    """A script that looks at everything in the folder of a log."""
    return f"{stat} {quote(dirname(path) or '/')}/*"


def joined(path: str, name: str) -> str:
    """A name beside a path."""
    return join(dirname(path), name)
