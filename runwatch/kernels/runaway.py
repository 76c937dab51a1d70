"""The first records of a loss: whether none of them may be one that runs away."""

from typing import Any

from runwatch.kernels.arranging import kernel
from runwatch.kernels.field import NOTHING
from runwatch.kernels.rolling import LEAST

KEPT = 60  # records of a segment that are looked at; `spike` knows a slope from then on
ABSURD = 1e5  # and at least this much, since a loss may begin near zero
SURE = 2  # records that must stand so far up
FELL = 5  # records that must have fallen before it is known what a run had learned
NEARLY = 0.8  # of all that it had learned, that a loss must lose at once
NEARLY_LOST = 1.0 - NEARLY
SEEN = 3  # records up, after which a jump is told as one that is not over


@kernel("ifii")
def calm(step: Any, value: Any, begins: Any, at: Any) -> int:
    """For series that begin here, the row of the first record that is no longer looked at, where
    nothing is to be told of those before; else -1.

    Nothing is where not SURE losses in a row are above ABSURD, nor SEEN in a row above all before
    them, the first of which is the highest, nor, after LEAST, above what is left to a loss that has
    lost NEARLY all that it can have learned.
    """
    for g in range(len(at)):
        at[g] = -1
        n = absurd = above = begin = back = 0
        last, first, top, below = NOTHING, 0.0, 0.0, 0.0
        low, second, began = 0.0, 0.0, 0.0
        for i in range(begins[g], begins[g + 1]):
            loss = value[i]
            if loss - loss != 0.0 or (step[i] != NOTHING and step[i] == last):
                continue
            last = step[i]
            if n == KEPT:
                at[g] = i
                break
            if n == 0:
                first = top = low = loss
            elif n == 1:
                second = loss
            elif n == 2:
                began = max(min(first, second), min(max(first, second), loss))
            back = back + 1 if n > LEAST and loss > began - NEARLY_LOST * (began - low) else 0
            low = min(low, loss)
            absurd = absurd + 1 if loss > ABSURD else 0
            if not loss > first:
                above = 0
            else:
                if above == 0:
                    begin, below = n, top
                above += 1
            top = max(top, loss)
            n += 1
            jumps = above >= SEEN and begin >= FELL and begin <= LEAST and below <= first
            if absurd >= SURE or jumps or back >= SEEN:
                break
    return len(at)
