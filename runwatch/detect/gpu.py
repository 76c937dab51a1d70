"""GPUs that idle, are slowed down, run hot or fill up while the run works on them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from runwatch.detect.fold import finding
from runwatch.detect.lasting import Lasting
from runwatch.detect.leak import Growth
from runwatch.detect.looks import Look, Looks, middle
from runwatch.detect.series import Columns
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

BUSY, IDLE = 50.0, 2.0  # % of utilisation: at work, and not
HELD = 0.5  # of its peers' memory: it belongs to the same run
SLOWER = 0.8  # of its peers' clock, or of its own fastest
HOT, HOTTER = 80.0, 15.0  # °C, and °C above its peers
_SLOWDOWNS = {
    0x40: "heat (hardware)", 0x20: "heat (driver)", 0x80: "the power supply", 0x08: "the hardware",
}  # fmt: skip
"""Why a clock is held down, as NVML numbers it. A power cap (0x04) is how a busy GPU works."""
_ACTIONS = ("", "a reset of the GPU", "a reboot of the node", "its peers to leave it alone",
            "the node to be drained and the GPU reset")  # fmt: skip
_RECENT = 60  # looks that an error of memory stands for, unless the run breaks


class Detector:
    """GPUs that do not do their part, as they tell it themselves while a run is watched.

    Sees: readings of the GPUs of the run's machine, ten seconds apart, each told by ten of the last
    twelve looks. `gpu_idle`: at most 2 % busy while its peers are at work, though it holds at least
    half as much memory as they do (medium). `gpu_slow`: at work, and held down by heat, the power
    supply or the hardware, or at less than 0.8 of the clock of its working peers (medium; low where
    it still reaches 0.8 of its fastest clock). `gpu_hot`: above 80 °C and 15 °C hotter than its
    peers (low). `gpu_memory`: nine tenths of the memory are used and it goes on growing, in at
    least six steps over five minutes that do not get slower (medium): out of memory comes, and
    when. New uncorrectable memory errors, and a driver that asks for a reset, are told at once
    (medium). All are over once they are: recovered, low; memory errors, which stay, once none was
    new for ten minutes: progressed, low.

    Matters: one slow GPU holds up all others at each step, and no log says so; a leak shows hours
    before it ends the run.

    Misses: GPUs of hosts that are not watched, or where no process of the run is found; GPUs that
    tell nothing, as slices of one (MIG) do; what is shorter than two minutes; a growth that would
    take some hours yet. Who else works on a GPU is not known: an idle one that holds memory may be
    another's. What the kernel log says (Xid) is not asked for.

    Tune: BUSY, SLOWER and HOTTER here; NEAR in leak.py.
    """

    name = "gpu"
    beside = True  # where no machine tells of itself, there is no word of it either

    def __init__(self) -> None:
        self._looks = Looks()
        self._lasting: dict[str, Lasting] = {}  # by kind and GPU
        self._growth: dict[str, Growth] = {}
        self._ecc: dict[str, dict[str, Any]] = {}
        self._seen = 0

    def feed(self, batch: Batch, columns: Columns) -> None:
        """The logs of a run tell nothing of it."""

    def gauge(self, batch: Batch) -> None:
        """Take the next lines of telemetry."""
        for look in self._looks.feed(batch):
            self._seen += 1
            for gpu, told in look["gpus"].items():
                at = {"stream": look["stream"], "line": told["line"], "rank": None, "step": None,
                      "time": round(look["time"] * 1e6)}  # fmt: skip
                for kind, (words, weight) in _compared(gpu, look).items():
                    self._of(kind, gpu).see(words, at, weight=weight)
                self._grown(gpu, told, look["time"], at)
                self._broken(gpu, told, at)

    def _of(self, kind: str, gpu: str) -> Lasting:
        return self._lasting.setdefault(f"{kind} {gpu}", Lasting())

    def _grown(self, gpu: str, told: Mapping[str, float], time: float, at: dict[str, Any]) -> None:
        used, total = told.get("mem_used_gb"), told.get("mem_total_gb")
        if used is not None and total:
            words = self._growth.setdefault(gpu, Growth()).see(time, used, total)
            self._of("gpu_memory", gpu).see(words, at, begins=1, ends=0, weight=1)

    def _broken(self, gpu: str, told: Mapping[str, float], at: dict[str, Any]) -> None:
        """What the driver counts and asks for."""
        action = int(told.get("recovery_action", 0))
        asks = _ACTIONS[action] if 0 <= action < len(_ACTIONS) else "help"
        words = f"the driver asks for {asks}" if asks else ""
        self._of("gpu_hardware", gpu).see(words, at, begins=1, ends=0, weight=1)
        count = told.get("ecc_uncorrected")
        if count is None:
            return
        past = self._ecc.setdefault(gpu, {"before": count, "new": 0, "at": None, "look": 0})
        new, past["before"] = int(count - past["before"]), count
        if new > 0:  # less than before where the driver was loaded anew
            past.update(new=past["new"] + new, look=self._seen, at=past["at"] or at)

    def findings(self) -> list[Finding]:
        """What lasts, and what is over."""
        found = []
        for key, lasting in self._lasting.items():
            kind, gpu = key.split()
            found += [_told(kind, gpu, one, State.RECOVERED) for one in lasting.past]
            if lasting.now is not None:
                found.append(_told(kind, gpu, lasting.now, State.OPEN))
        return found + list(self._errors())

    def _errors(self) -> Iterator[Finding]:
        for gpu, past in self._ecc.items():
            if past["at"] is not None:
                one = {"at": past["at"], "words": f"{past['new']} new memory errors that could not "
                       "be corrected", "weight": 1}  # fmt: skip
                lately = self._seen - past["look"] < _RECENT
                yield _told("gpu_ecc", gpu, one, State.OPEN if lately else State.PROGRESSED)

    def check(self) -> Check:
        """Ran once GPUs have told of themselves."""
        return Check(self.name, self._seen > 0, "" if self._seen else "no GPU told of itself")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {
            "looks": self._looks.state(), "seen": self._seen, "ecc": self._ecc,
            "lasting": {key: one.state() for key, one in self._lasting.items()},
            "growth": {gpu: one.state() for gpu, one in self._growth.items()},
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._looks, self._seen = Looks(state["looks"]), state["seen"]
        self._ecc = state["ecc"]
        self._lasting = {key: Lasting(**one) for key, one in state["lasting"].items()}
        self._growth = {gpu: Growth(rises) for gpu, rises in state["growth"].items()}


def _compared(gpu: str, look: Look) -> dict[str, tuple[str, int]]:
    """What holds for a GPU beside the others, in words, and how much it matters."""
    told = look["gpus"][gpu]
    others = [other for number, other in look["gpus"].items() if number != gpu]
    peers = [other for other in others if other.get("gpu_util", 0.0) >= BUSY]
    at_work = told.get("gpu_util", 0.0) >= BUSY
    slow = _slow(told, peers) if at_work else ("", 0)
    hot = _hot(told, peers) if at_work and not slow[0] else ""
    return {"gpu_idle": (_idle(told, peers), 1), "gpu_slow": slow, "gpu_hot": (hot, 0)}


def _idle(told: Mapping[str, float], peers: list[dict[str, float]]) -> str:
    held = [peer["mem_used_gb"] for peer in peers if "mem_used_gb" in peer]
    if not held or told.get("gpu_util", BUSY) > IDLE:
        return ""
    used = told.get("mem_used_gb", 0.0)
    if used <= 0 or used < HELD * middle(held):
        return ""
    busy = middle([peer["gpu_util"] for peer in peers])
    return f"idle ({told['gpu_util']:.0f} %) with {used:.4g} GB held, while {len(peers)} others " \
           f"are at work ({busy:.0f} %)"  # fmt: skip


def _slow(told: Mapping[str, float], peers: list[dict[str, float]]) -> tuple[str, int]:
    clock, fastest = told.get("sm_clock_mhz"), told.get("sm_clock_max_mhz")
    reasons = int(told.get("clock_reasons", 0))
    why = [word for bit, word in _SLOWDOWNS.items() if reasons & bit]
    clocks = [peer["sm_clock_mhz"] for peer in peers if "sm_clock_mhz" in peer]
    if why:
        of = f" of {fastest:.0f}" if fastest else ""
        at = f" at {clock:.0f}{of} MHz" if clock else ""
        mild = bool(clock and fastest and clock >= SLOWER * fastest)
        return f"held down by {' and '.join(why)}{at}{_warmth(told)}", 0 if mild else 1
    if clock and len(clocks) > 1 and clock < SLOWER * middle(clocks):
        return f"at {clock:.0f} MHz while the others run at {middle(clocks):.0f}" \
               f"{_warmth(told)}", 1  # fmt: skip
    return "", 0


def _hot(told: Mapping[str, float], peers: list[dict[str, float]]) -> str:
    degrees = [peer["temperature_c"] for peer in peers if "temperature_c" in peer]
    mine = told.get("temperature_c", 0.0)
    if len(degrees) < 2 or mine < HOT or mine < middle(degrees) + HOTTER:
        return ""
    return f"{mine:.0f} °C while the others are at {middle(degrees):.0f} °C"


def _warmth(told: Mapping[str, float]) -> str:
    return f", {told['temperature_c']:.0f} °C" if "temperature_c" in told else ""


def _told(kind: str, gpu: str, one: Mapping[str, Any], state: State) -> Finding:
    severity = Severity.MEDIUM if state is State.OPEN and one["weight"] else Severity.LOW
    over = ", then no more" if state is State.RECOVERED else ""
    told = finding(
        kind, severity, one["at"], f"GPU {gpu}: {one['words']}{over}", state=state,
        role=Role.SYMPTOM, confidence="medium",
    )  # fmt: skip
    return replace(told, rank_note="undetermined: the number of a GPU is no rank")
