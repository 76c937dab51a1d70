"""What is known of a run from before, and whether one can go on from it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runwatch.detect import detectors
from runwatch.detect.named import Named, Rules
from runwatch.errors import StoreError

if TYPE_CHECKING:
    from runwatch.store import Past, Store

STATE_VERSION = 15  # of what parser and detectors keep; an older past is read again from the start


def asked(rules: Sequence[Named]) -> list[Rules]:
    """What applies the rules that were asked for, if any were."""
    return [Rules(rules)] if rules else []


def resumable(past: "Past | None", rules: Sequence[Named] = ()) -> "Past | None":
    """What is known of a run, if one can go on from it: the same detectors kept it, as now, and
    the same rules were asked for."""
    if past is None or not is_current(past):
        return None
    names = {d.name for d in (*detectors(), *asked(rules))}
    return past if past.state["detectors"].keys() == names else None


def is_current(past: "Past") -> bool:
    """Whether what is known of a run was kept by this version."""
    return bool(past.state.get("version") == STATE_VERSION)


def remembered(
    store: "Store | None", run: str, lost: Callable[[StoreError], None] | None,
    rules: Sequence[Named] = (),
) -> "tuple[Store | None, Past | None]":  # fmt: skip
    """The history, if it can be used, and what one can go on from; else `lost` is told, and where
    nobody is to be told the StoreError is raised."""
    try:
        return store, None if store is None else resumable(store.past(run), rules)
    except StoreError as error:
        if lost is None:
            raise
        lost(error)
        return None, None
