"""What may take its time, asked for without holding up who reads."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")


def in_thread(ask: Callable[[], _T]) -> "asyncio.Future[_T]":
    """Run a question in a thread that nobody waits for at the end of the program."""
    loop = asyncio.get_running_loop()
    asking: asyncio.Future[_T] = loop.create_future()

    def settle(setter: Callable[[Any], None], told: Any) -> None:
        if not asking.done():
            setter(told)

    def run() -> None:
        try:
            setter, told = asking.set_result, ask()
        except BaseException as error:
            setter, told = asking.set_exception, error  # type: ignore[assignment]
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, setter, told)

    threading.Thread(target=run, daemon=True, name="ask").start()
    return asking
