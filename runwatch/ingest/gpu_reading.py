"""One look at one GPU, the same whoever was asked."""

import json
from datetime import UTC, datetime
from typing import Any

from runwatch.slotted import frozen

_KEYS = {
    "util": "gpu_util", "used": "mem_used_gb", "total": "mem_total_gb",
    "temperature": "temperature_c", "power": "power_w", "limit": "power_limit_w",
    "clock": "sm_clock_mhz", "fastest": "sm_clock_max_mhz", "ecc": "ecc_uncorrected",
    "reasons": "clock_reasons", "action": "recovery_action",
}  # fmt: skip


@frozen
class Reading:
    """One GPU at one time; None is what it does not tell.

    `util` in %, memory in GiB, `temperature` in °C, `power` drawn and its `limit` in W, `clock` of
    the multiprocessors and the `fastest` there is in MHz. `ecc` counts the memory errors since the
    driver was loaded that could not be corrected. `reasons` why the clock is what it is, and
    `action` what the driver asks for to mend the GPU (0 for nothing), as NVML numbers them.
    """

    gpu: int
    util: float | None = None
    used: float | None = None
    total: float | None = None
    temperature: float | None = None
    power: float | None = None
    limit: float | None = None
    clock: float | None = None
    fastest: float | None = None
    ecc: float | None = None
    reasons: float | None = None
    action: float | None = None

    def line(self, when: float, of: int = 1) -> bytes:
        """The reading as a line of a log, one `of` so many; `when` in seconds since 1970."""
        time = datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = {"time": time.replace("+00:00", "Z"), "gpu": self.gpu, "gpus": of}
        told = {key: getattr(self, name) for name, key in _KEYS.items()}
        values |= {key: value for key, value in told.items() if value is not None}
        return json.dumps(values, separators=(",", ":")).encode() + b"\n"
