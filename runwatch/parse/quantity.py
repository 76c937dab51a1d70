"""What a metric's name says: its quantity in our words, or the axis it counts on.

The knowledge is `metrics.toml`; here it is only looked up.
"""

from dataclasses import field
from functools import lru_cache
from typing import Any

from runwatch.parse.language import ours
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_CAMEL = compiled(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_MAX_FOUND = 1 << 16  # names whose rule is remembered
_PUNCTUATION = compiled(r"[^a-z0-9]+")
_COMPOUND = compiled(r"(loss|acc|err|error|norm|bleu|ppl|auc|crossentropy)$")

# What is measured, never set, behind these words: "max reward", "min loss", "target tok/s".
_EXTREMES = {
    "target": frozenset(("throughput",)),  # of the target language
    "max": frozenset(("accuracy", "eval_accuracy", "reward")),
    "min": frozenset(("loss", "eval_loss", "reward")),  # "min accuracy" is a target
}


@frozen
class Rule:
    """One entry of `metrics.toml`; `clue` says that such a name is a measurement by itself,
    `sure` that it is one even alone on a line that names no step."""

    name: str
    clue: bool
    sure: bool = False
    exact: frozenset[str] = frozenset()
    any: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()

    def fits(self, joined: str, words: frozenset[str]) -> bool:
        """Whether a name, as joined words and as a set of them, is of this quantity."""
        if joined in self.exact:
            return True
        if not (self.any & words) or (self.never & words):
            return False
        return not self.also or bool(self.also & words)


@frozen
class Names:
    """All that is known of metric names."""

    rules: tuple[Rule, ...]
    axes: dict[str, frozenset[str]]
    setting: frozenset[str]
    leads: frozenset[str] = frozenset()
    trails: frozenset[str] = frozenset()
    _found: dict[str, Rule | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, *documents: dict[str, Any]) -> "Names":
        """The knowledge of several TOML documents; the first one's rules are asked first."""
        rules = [
            Rule(
                entry["name"],
                bool(entry.get("clue")),
                bool(entry.get("sure")),
                *(frozenset(entry.get(key, ())) for key in ("exact", "any", "also", "never")),
            )
            for document in documents
            for entry in document.get("quantity", ())
        ]
        axes: dict[str, frozenset[str]] = {}
        setting = leads = trails = frozenset[str]()
        for document in documents:
            for axis, names in document.get("axis", {}).items():
                axes[axis] = axes.get(axis, frozenset()) | frozenset(names)
            said = document.get("setting", {})
            setting |= frozenset(said.get("words", ()))
            leads |= frozenset(said.get("leads", ()))
            trails |= frozenset(said.get("trails", ()))
        return cls(tuple(rules), axes, setting, leads, trails)

    @property
    def texts(self) -> frozenset[str]:
        """All words that are known."""
        ours = [
            each for rule in self.rules for each in (rule.exact, rule.any, rule.also, rule.never)
        ]
        return frozenset().union(*ours, *self.axes.values(), self.setting, self.leads, self.trails)

    def axis(self, name: str) -> str | None:
        """`step`, `epoch`, `rank`, `total_steps` or `total_epochs` where the name counts on one."""
        joined = words_of(name)[0]
        for axis in ("step", "epoch", "rank", "total_steps", "total_epochs"):
            if joined in self.axes.get(axis, ()):
                return axis
        return None

    def is_global(self, name: str) -> bool:
        """Whether a step of this name counts over the whole run."""
        return words_of(name)[0] in self.axes.get("global", ())

    def quantity(self, name: str) -> Rule | None:
        """The first rule that the name fits."""
        if name not in self._found:
            if len(self._found) >= _MAX_FOUND:
                self._found.clear()
            self._found[name] = self._quantity(name)
        return self._found[name]

    def _quantity(self, name: str) -> Rule | None:
        joined, words = words_of(name)
        for rule in self.rules:
            if rule.fits(joined, words):
                return None if self._sets(joined, rule) else rule
        return None

    def _sets(self, joined: str, rule: Rule) -> bool:
        """Whether the first or the last word turns a measurement into a setting: `target_loss`."""
        words = joined.split()
        if len(words) < 2 or rule.name == "memory":
            return False
        extreme = rule.name in _EXTREMES.get(words[0], ())
        return (words[0] in self.leads and not extreme) or words[-1] in self.trails

    def is_setting(self, name: str) -> bool:
        """Whether the name speaks of how a run is set up rather than of how it goes."""
        return bool(words_of(name)[1] & self.setting)


@lru_cache(maxsize=65536)
def words_of(name: str) -> tuple[str, frozenset[str]]:
    """A name as its lower-case words joined with blanks, and as the set of them."""
    words = [part for part in _PUNCTUATION.split(ours(_CAMEL.sub(" ", name).lower())) if part]
    whole = [part for part in _PUNCTUATION.split(ours(name.lower())) if part]
    heads = [m.group(1) for word in whole if (m := _COMPOUND.search(word))]
    return " ".join(words), frozenset((*words, *whole, *heads))
