"""Whether training goes well: one signal a file, each with an opinion and the words for it.

`signals.toml` names the signals in order; a module of the same name here looks at each.
"""

from runwatch.judge.picture import Picture
from runwatch.judge.signal import Opinion, Signal, signals

__all__ = ["Opinion", "Picture", "Signal", "signals"]
