"""Tells the story of a run's faults: which ended it, which it overcame, which are echoes."""

from runwatch.detect.episode import Episode
from runwatch.detect.finish import find_finish, split_at_finish, weigh_success
from runwatch.detect.gather import gathered
from runwatch.detect.root import choose_root
from runwatch.detect.sighting import Sightings


def told(streams: list[Sightings]) -> Episode:
    """The episode that the streams of one run tell together."""
    episode = gathered(streams)
    find_finish(episode, streams)
    split_at_finish(episode, streams)
    if not (episode.finish and episode.sure_finish):
        choose_root(episode)
        weigh_success(episode)
    return episode
