"""What was learned of lines in one run is taken up by the next, and changes only the time."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.chunk import Chunk
from runwatch.kernels import native
from runwatch.parse import Parser, remembered
from runwatch.parse.knowledge import Knowledge
from tests.parse.fuzz import log, seeds
from tests.parse.reading import MIXED, RUN
from tests.parse.test_replay import told

WORDS = (b"secret-of-this-log", b"warming", b"throughput")
LOG = b"".join(
    b"2024-05-01 12:00:%02d - step %d loss %.4f lr %.6f throughput %d tok/s\n"
    b"[rank%d] warming up expert %d with %d tokens of secret-of-this-log\n"
    % (i % 60, i, 9 / i, 1e-3 / i, 1200 + i, i % 8, i, i * 7)
    for i in range(1, 40)
)
LOG += b"".join(b"  %s_expert_%s: not measured\n" % (b"x" * i, b"y" * i) for i in range(60))


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own to keep what is learned in, nothing known yet."""
    native.parsing.works()  # its code is kept where it was
    monkeypatch.setenv("RUNWATCH_CACHE", str(tmp_path))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """As in a process that just began."""
    remembered._stores.clear()


def read_by_code(data: bytes, **said: object) -> int:
    """How many lines of a log the readable path reads in a process that just began."""
    forget()
    parser = Parser(replay=True, remember=True, **said)  # type: ignore[arg-type]
    read: list[int] = []
    slow = parser.read_line
    parser.read_line = lambda *line: (read.append(line[1]), slow(*line))[1]  # type: ignore[method-assign,misc]
    parser.feed(Chunk(RUN, data, 0))
    remembered.save()
    return len(read)


def test_a_log_like_one_before_is_replayed_from_its_first_line() -> None:
    """Its numbers are others; and a line that was silent comes again as it was."""
    first = read_by_code(LOG)
    assert first > 60
    assert read_by_code(LOG.replace(b"loss 4", b"loss 5").replace(b"2024-05", b"2025-11")) < 5


@pytest.mark.parametrize("data", [LOG, MIXED, LOG + MIXED])
def test_what_was_learned_changes_nothing(data: bytes) -> None:
    """Whatever was read before, in this process or in an earlier one."""
    expected = told(data, replay=False)
    for before in (b"", data, LOG, MIXED, data[::-1].replace(b"\r", b"")):
        told(before, replay=True, remember=True)
        assert told(data, replay=True, remember=True) == expected
        remembered.save()
        forget()
        assert told(data, replay=True, remember=True) == expected


@settings(max_examples=30)
@given(first=st.integers(0, 1 << 30), second=st.integers(0, 1 << 30))
def test_nor_does_what_was_learned_of_other_logs(first: int, second: int) -> None:
    """Of lines that are like each other, but for bytes that were changed."""
    one, other = (log(seed, SEEDS) for seed in (first, second))
    told(one, replay=True, remember=True)
    assert told(other, replay=True, remember=True) == told(other, replay=False)


SEEDS = seeds()


def test_no_word_of_a_log_is_kept(kept: Path) -> None:
    """Digests and where numbers go, in a file that is nobody else's."""
    read_by_code(LOG)
    (file,) = kept.glob("forms-*")
    content = file.read_bytes()
    assert len(content) > 1000
    assert not any(word in content for word in WORDS)
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("said", [{"year": 2020}, {"notes": False}, {"watchwords": ["warming"]}])
def test_who_looks_for_other_things_learns_anew(said: dict[str, object]) -> None:
    """As it may make something else of a line."""
    first = read_by_code(LOG)
    assert read_by_code(LOG, **said) >= first
    assert read_by_code(LOG) < 5


def test_who_knows_formats_of_their_own_learns_anew(tmp_path: Path) -> None:
    """What is kept is of what ships with runwatch."""
    path = tmp_path / "own.toml"
    path.write_text('fragments = ["never to be seen"]\n')
    first = read_by_code(LOG)
    assert read_by_code(LOG, knowledge=Knowledge.with_own([path])) >= first


def test_a_file_that_was_torn_is_none(kept: Path) -> None:
    """All is learned again."""
    first = read_by_code(LOG)
    (file,) = kept.glob("forms-*")
    file.write_bytes(file.read_bytes()[:-7])
    assert read_by_code(LOG) == first


def test_what_cannot_be_made_again_is_kept_once(kept: Path) -> None:
    """However often it is learned anew."""
    read_by_code(LOG)
    (store,) = remembered._stores.values()
    before = {form: list(records) for form, records in store.forms.items()}
    for form, records in before.items():
        for record in records:
            store.use_form(form, record)
    assert store.forms == before
    for k in range(100):
        store.use_form(7, (k,))
    assert len(store.forms[7]) == remembered._MAX_OF_FORM


def test_what_was_not_used_for_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file does not grow without end."""
    monkeypatch.setattr(remembered, "_MAX_LINES", 30)
    monkeypatch.setattr(remembered, "_MAX_FORMS", 2)
    read_by_code(LOG)
    (store,) = remembered._stores.values()
    assert len(store.lines) == 30
    assert len(store.forms) <= 2
