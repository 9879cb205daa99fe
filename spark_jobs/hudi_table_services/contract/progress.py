"""Progress of a running job, as a log line and as a small document next to the result document."""

import json
from dataclasses import asdict, dataclass

from hudi_table_services.contract.text import counted

PROGRESS_FIELD = "hudi_progress"
"""Name of an attribute of log records. Its value is the `JobProgress` that the log line describes."""

_RESULT_SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """Progress of one phase of a job.

    Attributes:
        phase: the current work, in words; the Spark job has the same description.
        done: number of finished tasks of the phase. In most phases, a task is a file group.
        total: number of all tasks of the phase.
        rows: number of rows in the files that this phase has written so far; 0 in phases that write no rows.
        written_bytes: size of these files in bytes.
        elapsed_s: seconds since the phase began.
        remaining_s: estimated remaining seconds at the rate so far; None if no task has finished yet.
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
        """Return the progress as a log line."""
        parts = [f"{self.done} of {self.total} done"]
        if self.rows:
            parts.append(
                f"{counted(self.rows, 'row', ',')}, {self.written_bytes / (1 << 20):,.1f} MiB written"
            )
        if self.remaining_s is not None:
            parts.append(f"about {_duration(self.remaining_s)} left")
        return f"{self.phase}: {', '.join(parts)}"


def progress_path(result_path: str) -> str:
    """Return the path of the progress document: ``…/flights.progress.json`` for the result ``…/flights.json``."""
    return f"{result_path.removesuffix(_RESULT_SUFFIX)}.progress.json"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
