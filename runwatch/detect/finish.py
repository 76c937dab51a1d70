"""Whether a run came to its end: by its own words, or by its announced last step."""

from runwatch.detect.episode import CRASHES, Episode, key
from runwatch.detect.hit import Hit, Incident
from runwatch.detect.progress import ENOUGH
from runwatch.detect.sighting import Sightings

_LOST = ("disk_full", "checkpoint_failure", "stale_nfs")  # after the end they cost the result
_KILLED = ("sigkill_unknown", "host_oom", "worker_died_unknown")  # no program's way to end


def find_finish(episode: Episode, streams: list[Sightings]) -> None:
    """The last words of the trainer, else its last announced step, else anyone's closing words."""
    sure = [s.finish for s in streams if s.finish and _still(s.finish, s)]
    weak = [s.closing for s in streams if s.closing and _still(s.closing, s)]
    reached = [hit for s in streams if (hit := _reached(s))]
    if sure:
        episode.finish, episode.sure_finish = max(sure, key=key), True
    elif reached:
        episode.finish, episode.sure_finish = max(reached, key=key), True
    elif weak:
        episode.finish = max(weak, key=key)


def _still(hit: Hit, stream: Sightings) -> bool:
    """No further training after these words (an evaluation or a last line may follow)."""
    return stream.progress.segment == hit.segment and stream.progress.advances - hit.at <= ENOUGH


def _reached(stream: Sightings) -> Hit | None:
    """The announced end was reached: the last step, or all of the last epoch."""
    course = stream.progress
    if not (_last_epoch(stream) if _by_epochs(stream) else _last_step(stream)):
        return None
    hit = Hit(stream.stream, course.line, "last-step", "finished", "finish", "", course.advances)
    hit.clock = stream.clock
    return hit


def _by_epochs(stream: Sightings) -> bool:
    """Whether the run counts epochs; a high one that never changes is a number misread."""
    course = stream.progress
    told = course.epochs or stream.epochs
    return bool(told and course.epoch is not None and (course.widest >= 0 or course.epoch <= 1))


def _last_epoch(stream: Sightings) -> bool:
    course = stream.progress
    epochs, epoch = course.epochs or stream.epochs or 0, course.epoch or 0
    widest = course.widest if course.widest >= 0 else course.total
    if widest is None:  # nobody knows how many steps an epoch has
        return epoch >= epochs
    return epoch >= epochs or (epoch >= epochs - 1 and course.top >= widest - 1)


def _last_step(stream: Sightings) -> bool:
    """A total that starts over every epoch does not count."""
    course = stream.progress
    if course.total is None or course.total < 2 or course.widest >= 0:
        return False
    return course.top >= course.total - 1


def split_at_finish(episode: Episode, streams: list[Sightings]) -> None:
    """What came after the end is teardown and what came before is overcome, if the end holds."""
    finish = episode.finish
    if not (finish and episode.sure_finish):
        return
    before = [i for i in episode.pending if key(i.first) < key(finish)]
    after = [i for i in episode.pending if key(i.first) >= key(finish)]  # glued to a bar, too
    if not _trained(finish, streams) or any(_refutes(i, finish) for i in before):
        episode.sure_finish = not episode.pending
        return
    if any(_spoils(i, finish) or _began_anew(i, finish, streams) for i in after):
        episode.finish, episode.sure_finish = None, False
        return
    episode.teardown = after
    episode.recovered += before
    episode.pending = []


def _trained(finish: Hit, streams: list[Sightings]) -> bool:
    """A run that measured nothing before has not finished."""
    return any(
        s.progress.points and (s.stream != finish.stream or s.progress.first_line <= finish.line)
        for s in streams
    )


def _refutes(incident: Incident, finish: Hit) -> bool:
    """A failure right before words of success, which a script may have added unasked."""
    hit = incident.first
    if hit.role == "launcher":
        return True
    framed = hit.role in ("root", "generic") and hit.told.get("framed") == "yes"
    return framed and incident.last_at == finish.at and finish.signature == "finished"


def _spoils(incident: Incident, finish: Hit) -> bool:
    """A failure after the end that takes the result away; after mere last steps, any failure, and
    being killed."""
    hit = incident.first
    if hit.role in ("unconfirmed", "launcher"):
        return finish.signature == "last-step" and hit.kind in _KILLED
    if hit.role not in ("root", "generic"):
        return False
    taken_down = hit.kind in CRASHES and "worker" not in hit.told
    return hit.kind in _LOST or (finish.signature == "last-step" and not taken_down)


def _began_anew(incident: Incident, finish: Hit, streams: list[Sightings]) -> bool:
    """A failure of another run that was appended: its steps began anew after the last words."""
    hit = incident.first
    if hit.role not in ("root", "generic"):
        return False
    return any(
        s.stream == hit.stream == finish.stream and finish.line < s.progress.fell < hit.line
        for s in streams
    )


def weigh_success(episode: Episode) -> None:
    """Words of success after a failure are a wrapper's; a failure after them is not theirs."""
    finish, root = episode.finish, episode.root
    if not finish or not root:
        return
    if key(root.first) > key(finish):
        if not episode.sure_finish:
            episode.finish = None
        return
    episode.false_success = finish
    episode.finish = None
    if root.first.role in ("launcher", "wrapper") and root.first.kind not in ("interrupted",):
        root.first.kind = "false_success"
