"""Each numeric detector fires where it should and stays silent where it must."""

from dataclasses import replace
from math import exp, log

import pytest

from runwatch.detect import Columns
from tests.detect.numbers.numeric_batches import (
    DETECTORS,
    INF,
    NAN,
    Record,
    batch,
    detector,
    feed,
    found,
    losses,
    record,
    summary,
)


def calm(count: int, level: float = 2.0, drift: float = 0.0) -> list[float]:
    """A calm loss: a level, a drift, and noise of about one per cent without any randomness."""
    return [level + drift * i + 0.02 * (((i * 7919) % 101) / 50.0 - 1.0) for i in range(count)]


def falling(count: int) -> list[float]:
    """A loss that falls from 10 to 2 in its first two hundred steps."""
    return [x + 8.0 * 0.98**i for i, x in enumerate(calm(count))]


def slope(count: int, start: int = 0, above: float = 0.0) -> list[float]:
    """A loss that falls from 10.5 to 2.6, by half in some eighty steps, and may lie above that."""
    return [
        2.6 + 7.9 * exp(-(start + i) / 120) + above + 0.03 * noise
        for i, noise in enumerate(calm(count, level=0.0))
    ]


FALLEN = [6.91, 5.80, 5.21, 4.83, 4.61, 4.42, 4.31, 4.22, 4.14]


def each(metric: str, values: list[float], **more: object) -> list[Record]:
    """A record for each value of one metric."""
    return [
        record(i + 1, step=i + 1, **{metric: value}, **more)  # type: ignore[arg-type]
        for i, value in enumerate(values)
    ]


def together(count: int, missing: int = 0, back: int = 0) -> list[Record]:
    """Records of loss and learning rate, then some without the loss, then some with it."""
    whole = [record(i + 1, step=i + 1, loss=2.0, lr=1e-4) for i in range(count)]
    gone = [record(count + i + 1, step=count + i + 1, lr=1e-4) for i in range(missing)]
    begin = count + missing
    again = [record(begin + i + 1, step=begin + i + 1, loss=2.0, lr=1e-4) for i in range(back)]
    return whole + gone + again


def ranks(slow: float, steps: int = 20) -> list[Record]:
    """The compute time of eight ranks, of which rank 5 is slower."""
    return [
        record(
            8 * s + r + 1,
            step=s,
            rank=r,
            fwd=("compute_time", 100.0 * (slow if r == 5 else 1.0) + (s * 7 + r) % 5),
        )
        for s in range(steps)
        for r in range(8)
    ]


def clocked(intervals: list[float], quiet: float = 0.0) -> list[Record]:
    """Losses at these intervals in seconds, then a line of note after some quiet."""
    records, now = [], 0.0
    for i, seconds in enumerate(intervals):
        now += seconds
        records.append(record(i + 1, step=i + 1, seconds=now, loss=2.0 + 0.01 * (i % 7)))
    last = len(records) + 1
    return [*records, record(last, "still alive", step=last - 1, seconds=now + quiet)]


def announced(intervals: list[float], quiet: float) -> list[Record]:
    """Losses at these intervals, then an evaluation begins, and a line comes after some quiet."""
    records = clocked(intervals, quiet)
    words = replace(records[-1], note="***** Running Evaluation *****", seconds=sum(intervals))
    return [*records[:-1], words, replace(records[-1], line=words.line + 1)]


def trained(line: int, after: float, quiet: float) -> list[Record]:
    """Training goes on, twenty steps a second apart, then a line comes after some quiet."""
    records = [
        record(line + i, step=line + i, seconds=after + i, loss=2.0 + 0.01 * (i % 7))
        for i in range(1, 20)
    ]
    last = records[-1].line + 1
    return [*records, record(last, "still alive", step=last, seconds=after + 20 + quiet)]


def evaluated(losses_: list[float], training: float) -> list[Record]:
    """Evaluations with ten training steps before each, whose loss changes by `training`."""
    records, line = [], 0
    for i, value in enumerate(losses_):
        for j in range(10):
            line += 1
            records.append(record(line, step=line, loss=3.0 + training * (10 * i + j)))
        line += 1
        records.append(record(line, step=line, val_loss=("eval_loss", value)))
    return records


def scaled(
    falls: list[tuple[int, int]], until: int = 0, start: int = 1, segment: int = 0
) -> list[Record]:
    """A loss on every step, its number the line's, and on some of them a scale that is halved."""
    told = dict(falls)
    return [
        record(
            step + 1, step=step, segment=segment, loss=2.0,
            note=f"Skipping step, loss scaler 0 reducing loss scale to {told[step] // 2}.0"
            if step in told else None,
        )
        for step in range(start, max(until, *told, 0) + 1 if told else until + 1)
    ]  # fmt: skip


def restarted(step: int, rate: float) -> list[Record]:
    """A rate that decays for a hundred steps, then a restart at this step with this rate."""
    before = [record(i, step=i, lr=1e-3 * 0.95 ** (i - 1)) for i in range(1, 101)]
    after = [record(101 + i, step=step + i, segment=1, lr=rate * 0.95**i) for i in range(10)]
    return [*before, *after]


def spoken(ends: list[int], every: int = 1, segment: int = 0, line: int = 0) -> list[Record]:
    """Ranks that report a loss on every so many-th step, each up to a last one."""
    records = []
    for step in range(0, max(ends), every):
        for rank in (r for r, end in enumerate(ends) if step < end):
            line += 1
            records.append(record(line, step=step, rank=rank, segment=segment, loss=2.0))
    return records


def shared(
    values: list[float], ranks: int = 4, odd: int = -1, since: int = 0, metric: str = "grad_norm"
) -> list[Record]:
    """What all ranks say alike at every step, but for the odd one since a step."""
    return [
        record(
            ranks * s + r + 1, step=s, rank=r,
            **{metric: value * (1.2 if r == odd and s >= since else 1.0)},
        )
        for s, value in enumerate(values)
        for r in range(ranks)
    ]  # fmt: skip


FIRES = {
    "agreement": [
        (shared(calm(80), odd=2, since=60), [("rank_disagrees", "high", "open", 243)]),
        (
            shared([1e-3] * 80, odd=0, since=60, metric="lr"),
            [("rank_disagrees", "high", "open", 241)],
        ),
        (
            [
                replace(r, values=(("loss", "loss", NAN),)) if r.rank == 1 and r.line > 200 else r
                for r in shared(calm(60), metric="loss")
            ],
            [("rank_disagrees", "high", "open", 202)],
        ),
    ],
    "ranks": [
        (spoken([200, 200, 50, 200]), [("rank_silent", "medium", "open", 199)]),
        (spoken([2000, 2000, 600, 2000], every=10), [("rank_silent", "medium", "open", 239)]),
        (
            [replace(one, step=(one.step or 0) - 300) for one in spoken([200, 200, 50, 200])],
            [("rank_silent", "medium", "open", 199)],
        ),
    ],
    "nonfinite": [
        (losses([2.0, 1.9, NAN, NAN]), [("nan_loss", "critical", "open", 3)]),
        (losses([2.0, INF, 1.9, 1.8, 1.7]), [("nan_loss", "low", "recovered", 2)]),
        (
            [
                *losses([2.0, 1.9, NAN]),
                *losses([2.0, 1.9, 1.8], start=4, segment=1),
            ],
            [("nan_loss", "medium", "progressed", 3)],
        ),
        (
            [
                record(1, loss=0.2, grad_norm=NAN),
                record(2, loss=0.0, grad_norm=NAN),
            ],
            [("nan_grad", "critical", "open", 1)],
        ),
        (
            [record(i, step=i, loss=2.0, grad_norm=NAN if i > 30 else 1.0) for i in range(1, 35)],
            [("nan_grad", "high", "open", 31)],
        ),
        (
            [record(i, step=i, ppl=("perplexity", NAN if i > 2 else 9.0)) for i in range(1, 5)],
            [("nan_loss", "critical", "open", 3)],
        ),
        (
            [record(1, step=1, loss_cls=("loss.part", NAN))],
            [("nan_loss", "critical", "open", 1)],
        ),
    ],
    "vanished": [
        (together(25, missing=3), [("loss_vanished", "high", "open", 26)]),
        (together(25, missing=6), [("loss_vanished", "critical", "open", 26)]),
        (together(25, missing=4, back=3), [("loss_vanished", "low", "recovered", 26)]),
        (losses([0.4] * 9 + [0.0] * 6), [("loss_vanished", "critical", "open", 10)]),
    ],
    "spike": [
        (losses([*calm(300), *calm(70, level=6.0)]), [("diverged", "high", "open", 301)]),
        (
            losses([*calm(300), *calm(40, level=6.0)]),
            [("loss_spike_unresolved", "medium", "open", 301)],
        ),
        (losses([*calm(300), 6.0, *calm(20)]), [("loss_spike_recovered", "low", "recovered", 301)]),
        (losses([*falling(400), *[11.0] * 40]), [("diverged", "critical", "open", 401)]),
        (
            losses([*falling(400), *calm(60, level=3.0)]),
            [("loss_spike_unresolved", "medium", "open", 401)],
        ),
        (
            losses([*calm(300, level=-5.0), *calm(60, level=-4.0)]),
            [("loss_spike_unresolved", "medium", "open", 301)],
        ),
        # Where the loss still falls steeply, its slope is not noise.
        (
            losses([*slope(300), *slope(100, start=300, above=3.0)]),
            [("diverged", "high", "open", 301)],
        ),
        (
            losses([*slope(200), *slope(20, start=200, above=0.8)]),
            [("loss_spike_unresolved", "low", "open", 201)],
        ),
        (
            losses([*slope(80), *[4.6 * 1.25**i for i in range(40)]]),
            [("diverged", "critical", "open", 84)],
        ),
        # A new task: far above the first one, and learned as that was.
        (
            losses([*falling(400), *(2.0 + 10.0 * 0.96**i for i in range(25))]),
            [("loss_spike_unresolved", "medium", "open", 401)],
        ),
    ],
    "runaway": [
        (losses([2.2, 2.1, 2.05, 19.0, 2200.0, 8e6, 9e10]), [("diverged", "high", "open", 4)]),
        (losses([11.0, 9.8, 9.1, 1.5e4, 8.8e7, 3.3e8]), [("diverged", "high", "open", 4)]),
        (losses([*FALLEN, 7.5, 7.6, 7.6, 7.6, 7.6]), [("diverged", "high", "open", 10)]),
        (
            losses([10.9, 9.8, 8.1, 7.0, 6.4, 6.0, 8.9, 11.9, 12.3, 12.1, 12.2, 12.3]),
            [("loss_spike_unresolved", "medium", "open", 8)],
        ),
        (
            losses([*FALLEN, 7.5, 7.6, 7.6]),
            [("loss_spike_unresolved", "medium", "open", 10)],
        ),
        (
            losses([*slope(40), *(10.3 + 0.1 * (i % 2) for i in range(6))]),
            [("diverged", "high", "open", 41)],
        ),
        (
            losses([*slope(40), *(11.0 * 0.97**i for i in range(6))]),
            [("loss_spike_unresolved", "medium", "open", 41)],
        ),
        # A new task: far above the first one, and learned as that was.
        (
            losses([*FALLEN, 11.5, 10.5, 9.7, 9.0, 8.4, 7.9]),
            [("loss_spike_unresolved", "medium", "open", 10)],
        ),
        (
            losses([*FALLEN, 7.5, 7.6, 7.6, 7.6, 7.6, 4.2]),
            [("loss_spike_recovered", "low", "recovered", 10)],
        ),
        (
            [*losses([*FALLEN, 7.5, 7.6, 7.6, 7.6, 7.6]), *losses(FALLEN, start=20, segment=1)],
            [("diverged", "medium", "progressed", 10)],
        ),
    ],
    "divergence": [
        (
            losses([*falling(1000), *calm(4000, level=2.0, drift=0.0015)]),
            [("diverged", "high", "open", 1881)],
        ),
        (
            [record(i, step=5000 + i, loss=4e8, grad_norm=7e5) for i in range(1, 8)],
            [("diverged", "high", "open", 1)],
        ),
    ],
    "gradient": [
        (
            each("grad_norm", [1.0 + 0.01 * (i % 9) for i in range(200)] + [50.0] * 12),
            [("grad_explosion", "high", "open", 201)],
        ),
        (
            each("grad_norm", [1.0 + 0.01 * (i % 9) for i in range(50)] + [0.0] * 4),
            [("grad_zero", "high", "open", 51)],
        ),
    ],
    "loss_scale": [
        (
            each("loss_scale", [65536.0] * 100 + [65536.0 / 2**i for i in range(1, 8)]),
            [("loss_scale_collapse", "high", "open", 105)],
        ),
        (
            [
                record(i + 1, f"OVERFLOW! Attempted loss scale: {s}, reducing to {s // 2}")
                for i, s in enumerate([64, 32, 16, 8])
            ],
            [("loss_scale_collapse", "high", "open", 3)],
        ),
        (
            scaled([(400 + i, 64 // 2**i) for i in range(6)]),
            [("loss_scale_collapse", "critical", "open", 403)],
        ),
        (
            scaled([(5 + i, 256 // 2**i) for i in range(8)]),
            [("loss_scale_collapse", "critical", "open", 13)],
        ),
        (
            scaled([(400 + i, 64 // 2**i) for i in range(4)], until=440),
            [("loss_scale_collapse", "low", "recovered", 403)],
        ),
        (
            each("loss_scale", [512.0] * 100 + [512.0 / 2**i for i in range(1, 7)] + [8.0] * 30),
            [("loss_scale_collapse", "low", "recovered", 105)],
        ),
        (
            each("loss_scale", [512.0] * 100 + [512.0 / 2**i for i in range(1, 10)] + [1.0] * 30),
            [("loss_scale_collapse", "critical", "open", 105)],
        ),
    ],
    "throughput": [
        (
            each("throughput", [94.2, 90.4, 89.9, 97.9, 46.6, 23.6]),
            [("throughput_drop", "medium", "open", 6)],
        ),
        (
            each("step_time", [100.0 + i % 5 for i in range(300)] + [250.0] * 30),
            [("throughput_drop", "medium", "open", 301)],
        ),
        (
            each("throughput", [149.0 + 0.2 * (i % 5) for i in range(400)] + [141.0] * 200),
            [("throughput_drop_small", "low", "open", 406)],
        ),
    ],
    "stall": [
        (clocked([1.0] * 50, quiet=3600.0), [("stalled", "medium", "open", 50)]),
        (announced([1.0] * 50, quiet=3600.0), [("stalled_eval", "medium", "open", 50)]),
        (
            [*announced([1.0] * 50, quiet=60.0), *trained(52, after=200.0, quiet=3600.0)],
            [("stalled", "medium", "open", 71)],
        ),
        (clocked([1.0] * 50 + [3600.0, 1.0]), [("stalled", "low", "recovered", 50)]),
    ],
    "plateau": [
        (losses([log(2.0)] * 12), [("plateau", "medium", "open", 1)]),
        (losses([*falling(500), *calm(3000)]), [("plateau", "low", "open", 2376)]),
        (losses(calm(3000, level=2.303)), [("plateau", "low", "open", 1)]),
    ],
    "overfit": [
        (
            evaluated([2.0, 1.5, 1.2, 1.1, 1.3, 1.4, 1.5, 1.6, 1.8], training=-0.01),
            [("overfit", "medium", "open", 55)],
        ),
        (
            evaluated([2.0, 1.5, 1.2, 1.1, 1.3, 1.4, 1.5, 1.6, 1.8], training=0.0),
            [("eval_worse", "medium", "open", 55)],
        ),
    ],
    "learning_rate": [
        (each("lr", [1e-3] * 30 + [0.0] * 12), [("lr_schedule", "medium", "open", 31)]),
        (each("lr", [1e-3] * 5 + [-1e-3]), [("lr_schedule", "medium", "open", 6)]),
        (
            each("lr", [1e-3 * 0.9**i for i in range(40)] + [1e-3] * 3),
            [("lr_schedule", "low", "open", 41)],
        ),
        (restarted(95, 1e-3), [("lr_schedule", "low", "open", 101)]),
        (
            each("lr", [1e-3 * 0.99**i for i in range(40)] + [1e-2 * 0.99**i for i in range(9)]),
            [("lr_schedule", "medium", "open", 41)],
        ),
        (
            each("lr", [1e-3 * 0.99**i for i in range(40)] + [7e-4 * 1.02**i for i in range(30)]),
            [("lr_schedule", "low", "open", 41)],
        ),
    ],
    "straggler": [(ranks(1.5), [("straggler", "medium", "open", 6)])],
}

SILENT = {
    "agreement": {
        "losses of each rank's own": [
            record(4 * s + r + 1, step=s, rank=r, loss=2.0 + ((4 * s + r) * 7919 % 101) / 500)
            for s in range(200)
            for r in range(4)
        ],
        "losses that are their own after some steps": shared(calm(20))
        + [
            record(4 * s + r + 1, step=s, rank=r, grad_norm=2.0 + ((4 * s + r) * 7919 % 101) / 500)
            for s in range(20, 200)
            for r in range(4)
        ],
        "what is 0 on all ranks and then their own": [
            record(4 * s + r + 1, step=s, rank=r, loss=0.0 if s < 100 else 0.1 * (r + 1) + s)
            for s in range(200)
            for r in range(4)
        ],
        "all leave each other at once": [
            record(4 * s + r + 1, step=s, rank=r, loss=2.0 - s / 200 + (0.1 * r if s > 100 else 0))
            for s in range(140)
            for r in range(4)
        ],
        "four steps apart": [
            *shared(calm(80), odd=2, since=60)[: 4 * 64],
            *shared(calm(80))[4 * 64 :],
        ],
        "the last digit": [
            replace(r, values=(("lr", "lr", 1e-3 * (1 + 5e-4 * (r.rank == 1))),))
            for r in shared(calm(80))
        ],
        "a restart with a rate of its own": [
            *shared([1e-3] * 80, metric="lr"),
            *(
                replace(r, line=r.line + 400, segment=1)
                for r in shared([1e-3] * 20, odd=1, metric="lr")
            ),
        ],
        "one rank alone": shared(calm(80), ranks=1),
        "ranks that do not tell their steps": [
            replace(r, step=None) for r in shared(calm(80), odd=2, since=60)
        ],
        "a rank that is behind": [
            r for r in shared(calm(80)) if not (r.rank == 2 and (r.step or 0) > 70)
        ],
    },
    "ranks": {
        "ranks that are a little apart": spoken([200, 190, 195, 200]),
        "only rank 0 speaks on": spoken([200, 10, 10, 10]),
        "two ranks": spoken([200, 50]),
        "a restart with fewer ranks": [
            *spoken([50, 50, 50, 50]),
            *spoken([200, 200, 200], segment=1, line=200),
        ],
        "ranks of other files that are read later": spoken([200, 200, 180, 200]),
    },
    "nonfinite": {
        "running averages": [
            record(1, step=1, loss=3.4, **{"grad_norm.avg": ("grad_norm", INF)}),
            record(2, step=2, loss=3.5, **{"grad_norm.avg": ("grad_norm", INF)}),
        ],
        "auxiliary metrics": [record(i, step=i, loss=2.0, mfu=NAN) for i in range(1, 9)],
        "a part beside a finite total": [
            record(i, step=i, loss=2.0, loss_mask=("loss.part", NAN)) for i in range(1, 9)
        ],
        "fp16 scale search": [
            record(i, step=i, loss=9.0, grad_norm=INF if i < 8 else 1.0, loss_scale=2.0**16)
            for i in range(1, 30)
        ],
        "one overflow": [
            record(i, step=i, loss=2.0, grad_norm=INF if i == 300 else 1.0) for i in range(1, 400)
        ],
    },
    "vanished": {
        "a loss on every tenth step": [
            record(i, step=i, lr=1e-4, **({"loss": 2.0} if i % 10 == 0 else {}))
            for i in range(1, 400)
        ],
        "skipped steps at the start": [
            record(i, step=i, lr=1e-4, **({"loss": 2.0} if i > 8 else {})) for i in range(1, 60)
        ],
        "one skipped step": together(40, missing=1, back=30),
        "a policy loss of zero": losses([0.1, -0.1, 0.2, -0.3, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    },
    "spike": {
        "a calm run": losses(falling(3000)),
        "warm-up noise": losses([10.0, 9.5, 9.9, 9.2, 9.6, 8.8, 9.3, 8.4, 8.9, 8.0]),
        "a resumed run that starts higher": [
            *losses(calm(300, level=15.0)),
            *losses(calm(300, level=61.0), start=301, segment=1),
        ],
        "duplicates by several loggers": [
            record(3 * i + j, step=i, loss=value)
            for i, value in enumerate(calm(300))
            for j in (1, 2, 3)
        ],
        "several losses": [
            record(i + 1, step=i + 1, loss=value, aux_loss=("loss", 40.0 + value))
            for i, value in enumerate(calm(300))
        ],
    },
    "runaway": {
        "a calm run": losses(falling(300)),
        "a critic's loss that grows from nothing": losses([1e-4 * 3.0**i for i in range(12)]),
        "noise": losses([2.0, 2.1, 1.9, 2.2, 2.0, 2.3, 2.4, 2.5, 2.6]),
        "one spike": losses([*FALLEN, 7.5, 4.1, 4.0, 4.0]),
        "a rise below where the run began": losses([*FALLEN, 6.0, 6.1, 6.0, 6.1, 6.0]),
        "one bad epoch": losses([*slope(40), 10.4, 10.3, *slope(10, start=42)]),
        "a stage that is learned at once": losses([*slope(40), *(11.0 * 0.8**i for i in range(9))]),
        "a huge loss from the start": losses([4e8, 3e8, 5e8, 4e8]),
        "a resumed run": [*losses([1.0] * 8), *losses([4e6] * 8, start=9, segment=1)],
    },
    "divergence": {
        "a calm run": losses(falling(3000)),
        "a huge loss that falls": [
            record(i, step=5000 + i, loss=4e8 / 2**i, grad_norm=7e5) for i in range(1, 12)
        ],
    },
    "gradient": {
        "a healthy norm of 98,258": each("grad_norm", [98258.0 + i % 50 for i in range(300)]),
        "a dead field": each("grad_norm", [0.0] * 300),
        "one clipped spike": each("grad_norm", [1.0] * 150 + [400.0] + [1.0] * 50),
        "frozen rate": [
            record(i, step=i, lr=0.0 if i > 40 else 1e-3, grad_norm=0.0 if i > 40 else 1.0)
            for i in range(1, 60)
        ],
    },
    "loss_scale": {
        "the search in the first steps": each("loss_scale", [2.0**i for i in range(16, 5, -1)]),
        "growth and falls": each("loss_scale", [2.0**14, 2.0**15, 2.0**14] * 50),
        "no scaling": each("loss_scale", [1.0] * 50),
        "a search far down that finds a scale": scaled(
            [(1 + 3 * i, 512 // 2**i) for i in range(8)], until=200
        ),
        "overflows far apart whose growth nobody tells": scaled(
            [(100 + 40 * i, 256 // 2**i) for i in range(7)], until=500
        ),
        "a search after a restart": [
            *scaled([], until=300),
            *scaled([(5001 + i, 512 // 2**i) for i in range(6)], start=5000, segment=1),
        ],
    },
    "throughput": {
        "evaluation pauses": each(
            "throughput", [20.0 if i % 50 == 49 else 100.0 + i % 3 for i in range(500)]
        ),
        "a fast first record": each("throughput", [9000.0, *[100.0 + i % 3 for i in range(300)]]),
        "a growing sequence length": each("throughput", [9.2 * 0.999**i for i in range(900)]),
        "a slow second run": [
            *each("throughput", [100.0] * 200),
            *[record(200 + i, step=i, segment=1, throughput=30.0) for i in range(1, 200)],
        ],
    },
    "stall": {
        "pauses that it knows": clocked(([1.0] * 15 + [900.0]) * 8),
        "slow steps": clocked([75.0] * 60, quiet=140.0),
    },
    "plateau": {
        "a falling loss": losses([10.0 - 0.001 * i for i in range(3000)]),
        "a rounded loss": losses([0.01] * 40),
        "a short run at one level": losses(calm(600, level=2.303)),
    },
    "overfit": {
        "noisy evaluations that improve": evaluated([2.0, 2.2, 1.8, 2.0, 1.6, 1.8, 1.4], 0.0),
        "too few": evaluated([1.0, 1.2, 1.4], 0.0),
    },
    "learning_rate": {
        "warm-up and decay to zero": each(
            "lr", [1e-5 * i for i in range(1, 101)] + [1e-3 * (1 - i / 900) for i in range(900)]
        ),
        "cosine restarts": each("lr", [1e-3 * 0.9**i for i in range(40)] * 5),
        "a restart whose schedule went on": restarted(95, 1e-3 * 0.95**94),
        "a restart that warms up again": restarted(95, 1e-6),
        "a restart from the first step": restarted(1, 1e-3),
        "cycles that rise as they fall": each(
            "lr", [1e-3 * (1.1 - abs((i % 80) - 40) / 40) for i in range(400)]
        ),
        "a stage that begins at ten times the rate": each("lr", [1e-4] * 40 + [2e-4] * 40),
        "rounded to zero": each("lr", [round(1e-3 * 0.9**i, 6) for i in range(150)]),
    },
    "straggler": {
        "even ranks": ranks(1.0),
        "wall time alone": [
            record(4 * s + r + 1, step=s, rank=r, step_ms=("step_time", 362.0 + r))
            for s in range(30)
            for r in range(4)
        ],
    },
}


@pytest.mark.parametrize("name", DETECTORS)
def test_fires(name: str) -> None:
    """Each detector finds what it is for: kind, severity, state and line."""
    for records, expected in FIRES[name]:
        assert expected == summary(name, records)


@pytest.mark.parametrize(
    ("name", "innocent"), [(name, case) for name in DETECTORS for case in SILENT[name]]
)
def test_stays_silent(name: str, innocent: str) -> None:
    """Each detector stays silent on known innocents."""
    assert summary(name, SILENT[name][innocent]) == []


def test_a_rise_is_told_at_once_and_named_later() -> None:
    """A rise is open at its first step, and recovered a few calm steps later, under one id."""
    watching = detector("spike")
    records = losses([*calm(300), 6.0, *calm(20)])
    feed(watching, records[:301])
    [risen] = watching.findings()
    feed(watching, records[301:])
    [over] = watching.findings()
    assert (risen.kind, risen.state) == ("loss_spike_unresolved", "open")
    assert (over.kind, over.state) == ("loss_spike_recovered", "recovered")
    assert risen.line == over.line
    assert (301.0, 6.0) in over.series


def test_ranks_that_agree_are_one_finding() -> None:
    """A NaN on eight ranks is one finding, of the rank that had it first."""
    records = [
        record(8 * s + r + 1, step=s, rank=r, loss=NAN if s >= (4 if r == 3 else 5) else 2.0)
        for s in range(8)
        for r in range(8)
    ]
    [item] = found("nonfinite", batch(records))
    assert (item.kind, item.rank, item.step, item.line) == ("nan_loss", 3, 4, 8 * 4 + 3 + 1)
    assert "8 ranks in all" in item.message


def test_wall_time_is_not_attributable() -> None:
    """Where only wall time per step is logged by rank, the straggler check says why it did not
    run."""
    watching = detector("straggler")
    feed(watching, SILENT["straggler"]["wall time alone"])
    check = watching.check()
    assert not check.ran
    assert check.why.startswith("not attributable")


def test_a_rank_counts_once() -> None:
    """Two ranks that speak in three streams each are not six ranks to compare."""
    watching = detector("straggler")
    for stream in ("a", "b", "c"):
        slow = [r for r in ranks(1.5) if r.rank in (4, 5)]
        part = batch(slow, stream)
        watching.feed(part, Columns(part))
    assert (watching.findings(), watching.check().ran) == ([], False)


def test_a_dead_gradient_field_is_told() -> None:
    """A norm that never changes is called dead in the list of checks."""
    watching = detector("gradient")
    feed(watching, each("grad_norm", [0.0] * 300))
    assert (
        watching.check().ran,
        watching.check().why,
    ) == (False, "the gradient norm never changes: the field is dead")
