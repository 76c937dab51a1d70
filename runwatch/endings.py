"""How a run ended, where its log and whoever ran it both have a word."""

from dataclasses import replace

from runwatch.judgement import GOES_ON, GOOD, OPEN, Ending, TerminalState


def agreed(told: Ending, said: Ending) -> Ending:
    """The ending that a log tells, put right by whoever ran it. Where both say that it ended
    badly, the log's line stays: it says why."""
    if said.settled:
        bad = said.state not in GOOD and told.state not in (*GOOD, *OPEN)
        return replace(told, state=said.state) if bad else said
    return said if told.state in OPEN else told


def followed(told: Ending, said: Ending | None) -> Ending:
    """A run that is followed may go on, unless its log or its service says how it ended."""
    if said is not None:
        return agreed(told, said)
    return GOES_ON if told.state is TerminalState.UNKNOWN else told
