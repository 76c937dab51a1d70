"""Signs of life of the GPUs that a run works on."""

from runwatch.slotted import frozen


@frozen
class Gpu:
    """All GPUs of a run together: mean utilisation in %, memory in bytes (0 where unknown)."""

    utilisation: float | None = None
    used: float = 0.0
    total: float = 0.0
    count: int = 1
