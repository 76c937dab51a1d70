"""Reads log text as the pipeline does, cut where a test likes, and hands it to the detector."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from runwatch.chunk import Chunk, Stream
from runwatch.detect.faults import Detector
from runwatch.detect.signatures import watchwords
from runwatch.judgement import Verdict, fold
from runwatch.parse.parser import Parser
from runwatch.records import Batch

RUN = Stream("run.log")


def batches(text: str | bytes, cuts: Iterable[int] = (), stream: Stream = RUN) -> Iterator[Batch]:
    """The batches of one stream, its bytes cut at the given offsets."""
    data = text.encode() if isinstance(text, str) else text
    parser = Parser(watchwords=watchwords(), year=2024)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    for start, end in pairwise(edges):
        yield parser.feed(Chunk(stream, data[start:end], start))
    yield parser.finish(stream)


def seen(text: str | bytes, cuts: Iterable[int] = ()) -> Detector:
    """A detector that has read the whole text."""
    detector = Detector()
    for batch in batches(text, cuts):
        detector.feed(batch)
    return detector


def verdict(text: str | bytes) -> Verdict:
    """The answer for one log."""
    detector = seen(text)
    return fold(detector.findings(), detector.ending())
