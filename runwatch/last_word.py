"""The final word on a watched run: its summary, and the artifact that other programs read."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from runwatch.artifact import artifact
from runwatch.cloud import CloudJob
from runwatch.event import Ended
from runwatch.finding import Finding
from runwatch.summary import Summary


def last_word(
    target: str, summary: Summary, seen: Sequence[Finding], *, target_type: str, began: datetime,
    at: datetime, why: str, commands: Sequence[str], unreachable: bool, cloud: CloudJob | None,
) -> Ended:  # fmt: skip
    """Told `at` a time, of what was watched since it `began`. `seen` is everything that was found
    while watching, `commands` are what a person may run next, `cloud` is the job of a platform."""
    told = summary.as_dict() | ({"job": asdict(cloud)} if cloud else {})
    document = artifact(
        told, seen, target_type=target_type, began=began, ended=at, why=why, commands=commands
    )
    return Ended(target, at, told, document, why, unreachable)
