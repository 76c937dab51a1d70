"""Findings and the end of a run told elsewhere, through apprise (Slack, mail, ntfy and others)."""

import sys
from collections.abc import Callable
from typing import Any

from runwatch.errors import UsageError
from runwatch.event import Acting, Ended, Event, Found
from runwatch.judgement import rule


def notifier(urls: list[str]) -> Callable[[Event], None]:
    """Sends events worth a message. Raises UsageError without the extra, or for a bad URL."""
    try:
        import apprise
    except ImportError as error:
        raise UsageError(
            "--notify needs apprise, which is not installed",
            hint="pip install 'runwatch[notify]'",
        ) from error
    service: Any = apprise.Apprise()
    for url in urls:
        if not service.add(url):
            raise UsageError(
                f"--notify {url.partition(':')[0]}:…: apprise does not know it",
                hint="a URL such as slack://… or mailto://…",
            )

    def tell(event: Event) -> None:
        told = message(event)
        if told is not None and not service.notify(title=told[0], body=told[1]):
            print("a notification could not be sent", file=sys.stderr)

    return tell


def message(event: Event) -> tuple[str, str] | None:
    """Title and text, None for what nobody need be woken for."""
    if isinstance(event, Found) and event.change == "new":
        one = event.finding
        return f"{event.target}: {rule(one.kind).title}", f"[{one.severity}] {one.message}"
    if isinstance(event, Acting):
        ask = "needs your approval" if event.remedy.asks else "about to"
        return f"{event.target}: {ask} {event.remedy.kind}", event.remedy.told or event.remedy.why
    if isinstance(event, Ended):
        return f"{event.target}: {event.summary['decision']}", str(event.artifact["summary"])
    return None
