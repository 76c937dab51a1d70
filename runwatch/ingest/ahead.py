"""The next chunks are read while the last ones are worked on."""

import queue
import threading
from collections.abc import Iterable, Iterator

from runwatch.chunk import Chunk

_AHEAD = 2  # chunks that wait, so that memory stays flat


def ahead(chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Chunk | None]]:
    """The same chunks in the same order, read by a thread, each with the next one where that is
    there already. What reading raises is raised here; where the caller stops early, the thread
    stops too."""
    waiting: queue.Queue[Chunk | BaseException | None] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    def read() -> None:
        try:
            for chunk in chunks:
                waiting.put(chunk)
                if stopped.is_set():
                    return
            waiting.put(None)
        except BaseException as error:  # it is raised by the one who waits
            waiting.put(error)

    threading.Thread(target=read, name="runwatch-read", daemon=True).start()
    try:
        found = waiting.get()
        while found is not None:
            if isinstance(found, BaseException):
                raise found
            came = not waiting.empty()
            following = waiting.get() if came else None
            yield found, following if isinstance(following, Chunk) else None
            found = following if came else waiting.get()
    finally:
        stopped.set()
        while not waiting.empty():  # it may wait for room; what blocks in reading is left behind
            waiting.get_nowait()
