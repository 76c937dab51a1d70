"""`watch --notify`, delivered by apprise to a real HTTP server of ours."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runwatch.cli import main
from tests.endpoint import Answer, Endpoint, endpoints, gives, hangs
from tests.monitor.live import steps

pytest.importorskip("apprise")
SECRET = "hunter2hunter2"
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # apprise imports it


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], Endpoint]]:
    with endpoints() as serve:
        yield serve


def look(tmp_path: Path, *urls: str) -> int:
    """One look at a training that has lost its loss."""
    log = tmp_path / "train.log"
    lines = [*steps(1, 40), *(f"step {i}/100 | loss nan | lr 1e-4" for i in range(41, 61))]
    log.write_text("\n".join(lines) + "\n")
    words = [word for url in urls for word in ("--notify", url)]
    return main(["watch", str(log), "--once", *words, "--out-dir", str(tmp_path)])


def address(endpoint: Endpoint, **wishes: str) -> str:
    """As a person writes it, with a password."""
    more = "&".join(["format=text", *(f"{name}={value}" for name, value in wishes.items())])
    return f"json://me:{SECRET}@127.0.0.1:{endpoint.server_address[1]}/runs?{more}"


def titles(endpoint: Endpoint) -> list[Any]:
    return [asked["body"]["title"] for asked in endpoint.asked]


def test_findings_and_the_end_are_delivered(
    serve: Callable[[Answer], Endpoint], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In their order, to each service, all before the program ends."""
    one, two = serve(gives(b"ok")), serve(gives(b"ok"))
    assert look(tmp_path, address(one), address(two)) == 1
    log = tmp_path / "train.log"
    assert [f"{log}: The loss is not a number", f"{log}: NO-GO"] == titles(one)
    assert titles(one) == titles(two)
    assert "NO-GO: RUNNING at step 60 of 100" in one.asked[-1]["body"]["message"]
    told = capsys.readouterr()
    assert "" == told.err
    assert SECRET not in told.out


def test_what_was_told_is_delivered_though_the_watch_breaks(
    serve: Callable[[Answer], Endpoint], tmp_path: Path
) -> None:
    """A folder that cannot be written, and the like: nothing waits to be sent when it ends."""
    one, log = serve(gives(b"ok")), tmp_path / "train.log"
    log.write_text("\n".join(f"step {i}/100 | loss nan | lr 1e-4" for i in range(1, 61)) + "\n")
    words = ["watch", str(log), "--once", "--notify", address(one), "--out-dir", str(log)]
    assert main(words) != 0
    assert [f"{log}: The loss is not a number"] == titles(one)
    assert "notify" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize(
    ("answer", "wishes"), [(gives(b"no", 500), {}), (hangs, {"rto": "0.1"})], ids=["500", "hangs"]
)
def test_what_cannot_be_delivered_is_told_once_and_harms_nothing(
    serve: Callable[[Answer], Endpoint], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    answer: Answer, wishes: dict[str, str],
) -> None:  # fmt: skip
    """The answer and its code are the same, another service gets all, no address is shown."""
    broken, other = serve(answer), serve(gives(b"ok"))
    assert look(tmp_path, address(broken, **wishes), address(other)) == 1
    assert 2 == len(broken.asked) == len(other.asked)
    told = capsys.readouterr()
    assert "warning: a notification to json://… could not be delivered\n" == told.err
    assert "Decision:         NO-GO" in told.out
    assert SECRET not in told.out + told.err


def test_a_server_that_is_not_there_is_told_once(
    serve: Callable[[Answer], Endpoint], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As any other failure."""
    gone = serve(gives(b"ok"))
    url = address(gone)
    gone.close()
    assert look(tmp_path, url) == 1
    assert "warning: a notification to json://… could not be delivered\n" == capsys.readouterr().err


@pytest.mark.parametrize("url", [f"nonsense://me:{SECRET}@host", f"{SECRET}", f"https:{SECRET}"])
def test_a_wrong_address_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    """It is wrong usage, before anything is read."""
    assert look(tmp_path, url) == 2
    told = capsys.readouterr()
    assert "apprise does not know it" in told.err
    assert SECRET not in told.out + told.err
