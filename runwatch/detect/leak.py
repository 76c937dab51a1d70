"""Memory that grows until there is none left."""

from runwatch.plain import lasting

NEAR = 0.9  # of all memory: below that nobody has to care yet
RISE = 0.002  # of all memory that counts as one
FALL = 0.05  # of all memory: so much less, and it was given back
FEW = 6  # rises before they are called growth
SHORTEST = 300.0  # seconds that growth takes at least: a start fills memory faster
HORIZON = 1800.0  # seconds that are looked at
LATE = 3.0  # times the pause between rises, after which the next one is not coming
SLACKENS = 0.5  # of its speed before: growth that has slowed down to less comes to rest


class Growth:
    """Follows the memory of one GPU; `rises` are (seconds, GiB), as `state` gave them."""

    def __init__(self, rises: list[list[float]] | None = None) -> None:
        self._rises = rises or []

    def see(self, time: float, used: float, total: float) -> str:
        """The next look: what can be said of its growth, "" where it does not fill up."""
        rises = self._rises
        if rises and (used < rises[-1][1] - FALL * total or time < rises[-1][0]):
            rises = []
        if not rises or used >= rises[-1][1] + RISE * total:
            rises = [*rises, [time, used]]
        self._rises = rises = [rise for rise in rises if time - rise[0] <= HORIZON] or rises[-1:]
        if used < NEAR * total or not _grows(rises, time):
            return ""
        (begin, low), (end, high) = rises[0], rises[-1]
        left = max(0.0, total - used) * (end - begin) / (high - low)
        return (
            f"{used:.4g} of {total:.4g} GB are used, {high - low:.2g} GB more in {len(rises) - 1} "
            f"steps over {lasting(end - begin)}: full in about {lasting(left)}"
        )

    def state(self) -> list[list[float]]:
        """Plain values to go on from."""
        return self._rises


def _grows(rises: list[list[float]], now: float) -> bool:
    """Whether these rises go on, and as fast as they began."""
    if len(rises) < FEW:
        return False
    (begin, low), (end, high) = rises[0], rises[-1]
    if end - begin < SHORTEST or now - end > LATE * (end - begin) / (len(rises) - 1):
        return False
    half = max(used for time, used in rises if time - begin <= (end - begin) / 2)
    return high - half >= SLACKENS * (half - low)
