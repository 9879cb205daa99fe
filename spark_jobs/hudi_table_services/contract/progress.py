"""Progress of a running job: a line of its log, and a small document beside the result document."""

import json
from dataclasses import asdict, dataclass

PROGRESS_FIELD = "hudi_progress"
"""Attribute of a log record that holds the `JobProgress` of its text."""

_RESULT_SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """How far a phase of a job is.

    Attributes:
        phase: what the job does now, in words; also the description of the Spark job.
        done: tasks of the phase, mostly file groups, that have ended.
        total: all of them.
        rows: rows in files that were written in this phase; 0 in phases that write none.
        written_bytes: bytes of these files.
        elapsed_s: seconds since the phase began.
        remaining_s: seconds left at the rate so far; None: no task has ended yet.
    """

    phase: str
    done: int
    total: int
    rows: int = 0
    written_bytes: int = 0
    elapsed_s: float = 0.0
    remaining_s: float | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def text(self) -> str:
        """For a log."""
        parts = [f"{self.done} of {self.total} done"]
        if self.rows:
            parts.append(f"{self.rows:,} rows, {self.written_bytes / (1 << 20):,.1f} MiB written")
        if self.remaining_s is not None:
            parts.append(f"about {_duration(self.remaining_s)} left")
        return f"{self.phase}: {', '.join(parts)}"


def progress_path(result_path: str) -> str:
    """Where a job with this result path notes its progress: ``…/flights.progress.json`` beside ``…/flights.json``."""
    return f"{result_path.removesuffix(_RESULT_SUFFIX)}.progress.json"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
