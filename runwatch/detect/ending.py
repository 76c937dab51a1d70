"""How a run ended, by its words and its progress."""

from runwatch.detect.episode import Episode
from runwatch.detect.sighting import Sightings
from runwatch.judgement import GOES_ON, Ending, TerminalState, rule


def ending_of(episode: Episode, streams: list[Sightings], *, live: bool = False) -> Ending:
    """The ending and the line that says so. A log that just stops is UNKNOWN, RUNNING if live."""
    if episode.root:
        hit = episode.root.first
        state = rule(hit.kind).ends
        limit = episode.ending and episode.ending.first.kind == "slurm_time_limit"
        if limit and hit.role == "echo":
            state = TerminalState.TIMEOUT
        return Ending(state, rule(hit.kind).title, hit.stream, hit.line)
    if episode.finish:
        hit = episode.finish
        early = hit.kind == "early_stopped"
        state = TerminalState.EARLY_STOPPED if early else TerminalState.SUCCEEDED
        reason = "stopped early by its own rule" if early else "the log says that it finished"
        if hit.signature == "last-step":
            reason = "the announced last step was reached"
        elif not episode.sure_finish:
            reason = "closing words, and no failure before them"
        return Ending(state, reason, hit.stream, hit.line)
    if live:
        return GOES_ON
    stream = streams[0].stream if len(streams) == 1 else ""
    return Ending(TerminalState.UNKNOWN, "the log stops without a word on its end", stream)
