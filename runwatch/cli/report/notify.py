"""Findings and the end of a run told elsewhere, through apprise (Slack, mail, ntfy and others)."""

import logging
import queue
import threading
import time
from typing import Any

from runwatch.errors import UsageError
from runwatch.event import Acting, Ended, Event, Found
from runwatch.judgement import rule
from runwatch.redact import redact

PATIENCE = 15.0  # seconds that messages on their way are waited for at the end
_MOST = 1000  # messages that wait while a service is slow; what comes then is lost, and told


class Notifier:
    """Sends what is worth a message, one after the other, from a thread of its own: a service that
    hangs holds up nothing. Raises UsageError without the extra, or for a bad URL.

    An address may hold a secret, so services are named by their kind only. One that cannot be
    reached is told once, in `troubles`.
    """

    def __init__(self, urls: list[str]) -> None:
        self._services = [(_kind(url), _service(url)) for url in urls]
        self._troubles: queue.Queue[str] = queue.Queue()
        self._told: set[str] = set()
        self._waiting: queue.Queue[tuple[str, str] | None] = queue.Queue(_MOST)
        self._thread = threading.Thread(target=self._send_all, daemon=True, name="notify")
        self._thread.start()

    def tell(self, event: Event) -> None:
        """Send a message if the event is worth one. Waits for nothing."""
        told = message(event)
        if told is not None:
            try:
                self._waiting.put_nowait(told)
            except queue.Full:
                self._tell("too many notifications wait: some are lost")

    def troubles(self) -> list[str]:
        """What could not be done since it was asked last, in words."""
        return [self._troubles.get_nowait() for _ in range(self._troubles.qsize())]

    def close(self, patience: float = PATIENCE) -> None:
        """Wait until all is sent, but not for ever."""
        until = time.monotonic() + patience
        try:
            self._waiting.put(None, timeout=patience)
        except queue.Full:
            pass
        else:
            self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive():
            self._tell(f"notifications were not delivered within {patience:.0f} s")

    def _send_all(self) -> None:
        while (told := self._waiting.get()) is not None:
            title, body = told
            for kind, service in self._services:
                try:
                    sent = service.notify(title=title, body=body)
                except Exception:  # whatever a service's own code raises; it may name its URL
                    sent = False
                if not sent:
                    self._tell(f"a notification to {kind} could not be delivered")

    def _tell(self, trouble: str) -> None:
        if trouble not in self._told:
            self._told.add(trouble)
            self._troubles.put(trouble)


def _kind(url: str) -> str:
    """`slack://…`: what may be shown of an address."""
    scheme, colon, _ = url.partition("://")
    return f"{scheme}://…" if colon and scheme.isalnum() else "…"


def _service(url: str) -> Any:
    try:
        import apprise
    except ImportError as error:
        raise UsageError(
            "--notify needs apprise, which is not installed",
            hint="pip install 'runwatch[notify]'",
        ) from error
    log = logging.getLogger("apprise")  # it would tell addresses
    log.addHandler(logging.NullHandler())
    log.propagate = False
    service = apprise.Apprise()
    if not service.add(url):
        raise UsageError(
            f"--notify {_kind(url)}: apprise does not know it",
            hint="a URL such as slack://… or mailto://…",
        )
    return service


def message(event: Event) -> tuple[str, str] | None:
    """Title and text, None for what nobody need be woken for."""
    told = None
    if isinstance(event, Found) and event.change == "new":
        one = event.finding
        told = f"{event.target}: {rule(one.kind).title}", f"[{one.severity}] {one.message}"
    elif isinstance(event, Acting):
        ask = "needs your approval" if event.remedy.asks else "about to"
        words = event.remedy.told or event.remedy.why
        told = f"{event.target}: {ask} {event.remedy.kind}", words
    elif isinstance(event, Ended):
        told = f"{event.target}: {event.summary['decision']}", str(event.artifact["summary"])
    return None if told is None else (redact(told[0]), redact(told[1]))
