"""What a stream's name tells about its rank."""

import pytest

from runwatch import shipped
from runwatch.ingest.order import reading_order
from runwatch.ingest.ranks import rank_of, ranks, rules

TABLE = shipped.table("ingest/stream_names.toml")
SAMPLES = [
    (row["name"], name, rank) for row in TABLE["rule"] for name, rank in row["samples"].items()
]


@pytest.mark.parametrize(("rule", "name", "rank"), SAMPLES)
def test_every_rule_tells_the_ranks_of_its_samples(rule: str, name: str, rank: int) -> None:
    """Law: a sample is matched by its own rule, no earlier one takes it away."""
    assert rank == rank_of(name)
    assert next(r.name for r in rules() if r.compiled.search(name)) == rule


@pytest.mark.parametrize("name", TABLE["silent"])
def test_a_name_that_may_mean_something_else_tells_no_rank(name: str) -> None:
    """A wrong rank is worse than none: job ids, array tasks, rotated copies, LoRA's rank."""
    assert rank_of(name) is None


def test_workers_beside_a_master_are_counted_from_one() -> None:
    """Kubeflow's master is rank 0 and its worker 0 is rank 1; without a master worker 0 is 0."""
    assert ranks(["job-master-0", "job-worker-0", "job-worker-1"]) == [0, 1, 2]
    assert ranks(["job-worker-0", "job-worker-1"]) == [0, 1]


def test_streams_are_read_in_the_order_a_person_would_sort_them() -> None:
    """Numbers count as numbers, and a rotated copy comes before what was written after it."""
    names = [
        "rank_2/stderr.log",
        "rank_2/stdout.log",
        "rank_10/stderr.log",
        "train.log.10.gz",
        "train.log.2",
        "train.log.1",
        "train.log",
        "train.out-20240517",
        "train.out-20240518.xz",
        "train.out",
    ]
    assert names == sorted(set(names), key=reading_order)
