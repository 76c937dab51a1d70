"""Jobs that a platform runs: their states, their tasks, their machines."""

from collections.abc import Iterator

from runwatch.slotted import frozen


@frozen
class CloudTask:
    """A task of a pipeline. `state` is the platform's word without what all its words begin with;
    `began` and `ended` are seconds since 1970, None where it has not."""

    name: str
    state: str
    began: float | None = None
    ended: float | None = None


@frozen
class CloudJob:
    """A job that a platform runs: `noun` says what it is, `path` its full name, `machine` what it
    runs on. Times as those of a task."""

    noun: str
    name: str
    path: str
    state: str
    over: bool = False
    began: float | None = None
    ended: float | None = None
    machine: str = ""
    tasks: tuple[CloudTask, ...] = ()

    def turns(self, before: "CloudJob") -> Iterator[tuple[str, str]]:
        """The states that are others now, its own and those of its tasks, with what they were."""
        if self.state != before.state:
            yield self.state, before.state
        was = {task.name: task.state for task in before.tasks}
        for task in self.tasks:
            if task.state != was.get(task.name, "PENDING"):
                yield f"{task.name} {task.state}", f"{task.name} {was.get(task.name, 'PENDING')}"

    @property
    def words(self) -> tuple[str, ...]:
        """Its state and those of its tasks: other words are news."""
        return (self.state, *(f"{task.name} {task.state}" for task in self.tasks))
