"""The GPUs of this machine, as NVIDIA's library tells them. The one home of nvidia-ml-py."""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from os.path import exists
from shutil import which
from typing import Any

from runwatch.ingest.gpu_reading import Reading
from runwatch.ingest.gpu_smi import Asked
from runwatch.ingest.process_shell import here
from runwatch.ingest.thread import in_thread

_DRIVER = ("/dev/nvidiactl", "/dev/dxg")  # the second where Linux runs within Windows
_GIB = 1 << 30
_MILLI = 1000


class Local:
    """Asks the library, or nvidia-smi where it is not installed or finds no driver."""

    def __init__(self) -> None:
        self._library: Any = None
        self._asked: Asked | None = None

    async def __call__(self) -> list[Reading]:
        """How they are now, none where there are none."""
        if not any(map(exists, _DRIVER)) and which("nvidia-smi") is None:
            return []  # nothing need be loaded to know that
        if self._asked is None:
            found = await in_thread(self._now)  # a GPU that is broken may take long to say so
            if self._library is not None:
                return found
            self._asked = Asked(here)
        return await self._asked()

    def _now(self) -> list[Reading]:
        if self._library is None:
            with suppress(ImportError):
                library = import_module("pynvml")
                with suppress(library.NVMLError):
                    library.nvmlInit()
                    self._library = library
        nvml, found = self._library, []
        if nvml is None:
            return []
        with suppress(nvml.NVMLError):
            for at in range(nvml.nvmlDeviceGetCount()):
                with suppress(nvml.NVMLError):
                    device = nvml.nvmlDeviceGetHandleByIndex(at)
                    found.append(Reading(at, **self._told(device)))
        return found

    def _told(self, device: Any) -> dict[str, float | None]:
        """Each value, None where this GPU, a slice of it or its driver does not tell."""
        nvml = self._library
        told: dict[str, float | None] = {}
        memory = self._memory(device)
        asked: dict[str, Callable[[], float]] = {
            "util": lambda: nvml.nvmlDeviceGetUtilizationRates(device).gpu,
            "used": lambda: round(memory.used / _GIB, 2),
            "total": lambda: round(memory.total / _GIB, 2),
            "temperature": lambda: self._temperature(device),
            "power": lambda: nvml.nvmlDeviceGetPowerUsage(device) / _MILLI,
            "limit": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(device) / _MILLI,
            "clock": lambda: nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM),
            "fastest": lambda: nvml.nvmlDeviceGetMaxClockInfo(device, nvml.NVML_CLOCK_SM),
            "ecc": lambda: nvml.nvmlDeviceGetTotalEccErrors(
                device, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
            ),
            "reasons": lambda: self._reasons(device),
            "action": lambda: self._action(device),
        }
        for name, ask in asked.items():
            told[name] = None
            with suppress(nvml.NVMLError, AttributeError):  # also where this library is too old
                told[name] = float(ask())
        return told

    def _memory(self, device: Any) -> Any:
        """Without what the driver keeps for itself, as nvidia-smi tells it."""
        nvml = self._library
        with suppress(nvml.NVMLError, AttributeError):
            return nvml.nvmlDeviceGetMemoryInfo(device, version=nvml.nvmlMemory_v2)
        with suppress(nvml.NVMLError):
            return nvml.nvmlDeviceGetMemoryInfo(device)
        return None

    def _temperature(self, device: Any) -> float:
        nvml = self._library
        with suppress(nvml.NVMLError, AttributeError):
            return float(nvml.nvmlDeviceGetTemperatureV(device, nvml.NVML_TEMPERATURE_GPU))
        return float(nvml.nvmlDeviceGetTemperature(device, nvml.NVML_TEMPERATURE_GPU))

    def _reasons(self, device: Any) -> float:
        nvml = self._library
        with suppress(nvml.NVMLError, AttributeError):
            return float(nvml.nvmlDeviceGetCurrentClocksEventReasons(device))
        return float(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device))

    def _action(self, device: Any) -> float:
        nvml = self._library
        field = nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
        (found,) = nvml.nvmlDeviceGetFieldValues(device, [field])
        if found.nvmlReturn != nvml.NVML_SUCCESS:
            raise nvml.NVMLError(found.nvmlReturn)
        return float(found.value.uiVal)
