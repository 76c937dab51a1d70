"""What a script of a POSIX shell prints, on this machine; a host has the same as `Host.run`."""

import asyncio
from collections.abc import Awaitable, Callable

Run = Callable[[str], Awaitable[bytes]]
"""Gives what a script prints; its errors and its exit code do not matter."""


async def here(script: str) -> bytes:
    """What a script prints on this machine."""
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", script, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    said, _ = await process.communicate()
    return said
