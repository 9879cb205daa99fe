"""Request and report of the health job."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Report, Section
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

HEALTH = "health"
"""Name of the service."""

DEFAULT_WARNINGS = {
    "dead_instants": 0.0,
    "foreign_files": 0.0,
    "leftover_files": 0.0,
    "hours_ahead": 1.0,
    "oldest_pending_hours": 24.0,
    "small_file_ratio": 0.5,
}
"""What is worth a warning unless the request says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRequest(JobRequest):
    """Measure a table, and change nothing.

    Attributes:
        warn_above, fail_above: measure (see `MEASURES`) → number, as text, that it should not exceed. A measure
            named in one of them is not warned of by default.
        small_file_limit_bytes: files below count as small; 0: the default of
            ``hoodie.parquet.small.file.limit``.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

    service: ClassVar[str] = HEALTH

    warn_above: Mapping[str, str] = field(default_factory=dict)
    fail_above: Mapping[str, str] = field(default_factory=dict)
    small_file_limit_bytes: int = 0

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.small_file_limit_bytes < 0:
            raise InvalidRequestError(f"small_file_limit_bytes is {self.small_file_limit_bytes}, below 0.")
        _numbers("warn_above", self.warn_above)
        _numbers("fail_above", self.fail_above)

    @property
    def work(self) -> str:
        return "table_health"

    @property
    def warning_limits(self) -> dict[str, float]:
        """Measure → limit, the defaults included."""
        own = _numbers("warn_above", self.warn_above)
        return {name: limit for name, limit in DEFAULT_WARNINGS.items() if name not in self.fail_above} | own

    @property
    def failure_limits(self) -> dict[str, float]:
        """Measure → limit. A timeline that cannot be trusted fails always, and so do lost files."""
        return {"damaged": 0.0, "missing_files": 0.0} | _numbers("fail_above", self.fail_above)


def _numbers(name: str, limits: Mapping[str, str]) -> dict[str, float]:
    return {measure: _number(name, measure, text) for measure, text in limits.items()}


def _number(name: str, measure: str, text: str) -> float:
    if measure not in MEASURES:
        close = difflib.get_close_matches(measure, MEASURES, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(MEASURES)}."
        raise InvalidRequestError(f"{name} names {measure!r}, which is not measured.", hint=hint)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number >= 0 or math.isinf(number):
        raise InvalidRequestError(f"{name}: {measure}={text} is not a number of 0 or more.")
    return number


MEASURES = {
    "active_commits": "completed writes on the active timeline; archival keeps it short",
    "commits_since_clean": "completed writes since the last completed clean",
    "commits_since_clustering": "completed writes since the last clustering, completed or pending",
    "commits_to_archive": "completed writes that an archival by Hudi's defaults would move now",
    "commits_to_clean": "completed writes that the retention would let a clean look at now",
    "damaged": "1 if the timeline cannot be trusted, such as by a completed instant of zero bytes",
    "dead_instants": "pending instants whose writer has stopped and which the next run has to finish or undo",
    "foreign_files": "files in partitions that are no files of Hudi's, hidden ones aside",
    "hours_ahead": "hours by which the newest instant is ahead of the clock; 0: it is not",
    "hours_since_commit": "hours since the newest completed write was requested",
    "leftover_bytes": "bytes of the leftover files",
    "leftover_files": "data files of writes neither completed nor pending, and copies where no write put them",
    "missing_files": "files that the latest state needs and that are lost, empty, or of another size than written",
    "oldest_pending_hours": "hours since the oldest pending instant was requested",
    "outdated_bytes": "bytes of the outdated files",
    "outdated_files": "data files that the latest state does not need; retention may still want them",
    "pending_instants": "instants requested and not completed",
    "small_file_ratio": "small files that share their partition with another one, of all live files; 0 to 1",
    "small_files": "live files below the small-file limit that share their partition with another one",
}
"""Name of each measure → meaning. Every one is better the smaller it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInstant:
    """An instant that is requested or inflight, and what to do about it.

    Attributes:
        operation: what it does, in Hudi's words; empty: it does not say.
        age_s: seconds since it was requested.
        heartbeat: ``alive``, ``expired``, ``ahead`` (of the clock), or ``none``.
        is_dead: its writer has stopped, and it cannot be completed without help.
        file_groups: file groups under its plan; 0 for writes.
        meaning: what it is, in a sentence.
        next_step: what is safe to do.
        avoid: what is not; may be empty.
        blocks: what waits for it.
    """

    instant_time: str
    action: str
    state: str
    operation: str = ""
    age_s: float = 0.0
    heartbeat: str = "none"
    is_dead: bool = False
    file_groups: int = 0
    meaning: str = ""
    next_step: str = ""
    avoid: str = ""
    blocks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionHealth:
    """Live files of one partition path."""

    partition_path: str
    file_count: int
    small_file_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFinding:
    """A measure beyond its limit.

    Attributes:
        level: ``warn`` or ``fail``.
        measure: one of `MEASURES`.
        value, limit: what is, and what should not be exceeded.
        advice: what to do.
    """

    level: str
    measure: str
    value: float
    limit: float
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport(Report):
    """State of a table at one time.

    Attributes:
        status: ``healthy``, ``warning`` or ``failing``.
        damage: why the timeline cannot be trusted; empty: it can.
        table_version, table_type: as in ``hoodie.properties``.
        partition_count: partition paths with live files.
        last_commit: requested time of the newest completed write; empty: none.
        last_clean, last_clustering: likewise.
        retention: what holds for cleaning now, in words.
        archival: what holds for archival now, in words.
        small_file_limit_bytes: files below count as small.
        measures: see `MEASURES`; one that could not be taken is left out.
        partitions: those with the most small files first, at most ten.
        savepoints: requested times of their commits.
        leftover_examples: paths of some leftover files.
        foreign_examples: paths of some foreign files.
        missing_examples: paths of some missing files, each with what is wrong.
        metadata_table: its active partitions.
    """

    service: ClassVar[str] = HEALTH

    status: str = "healthy"
    damage: str = ""
    table_version: int = 0
    table_type: str = ""
    partition_count: int = 0
    last_commit: str = ""
    last_clean: str = ""
    last_clustering: str = ""
    retention: str = ""
    archival: str = ""
    small_file_limit_bytes: int = 0
    measures: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[HealthFinding, ...] = ()
    pending: tuple[PendingInstant, ...] = ()
    partitions: tuple[PartitionHealth, ...] = ()
    savepoints: tuple[str, ...] = ()
    leftover_examples: tuple[str, ...] = ()
    missing_examples: tuple[str, ...] = ()
    foreign_examples: tuple[str, ...] = ()
    metadata_table: tuple[str, ...] = ()

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "HealthReport":
        fields = dict(values)
        fields["findings"] = tuple(HealthFinding(**each) for each in fields["findings"])
        fields["partitions"] = tuple(PartitionHealth(**each) for each in fields["partitions"])
        fields["pending"] = tuple(
            PendingInstant(**{**each, "blocks": tuple(each["blocks"])}) for each in fields["pending"]
        )
        for name in ("savepoints", "leftover_examples", "metadata_table"):
            fields[name] = tuple(fields[name])
        for name in ("missing_examples", "foreign_examples"):
            fields[name] = tuple(fields.get(name, ()))  # documents of earlier releases have none
        return cls(**fields)

    def summary(self, result: "JobResult") -> str:
        above = "; ".join(f"{each.measure} is {each.value:g}, above {each.limit:g}" for each in self.findings)
        return f"The table is {self.status}" + (f": {above}" if above else "")

    def sections(self, result: "JobResult") -> list[Section]:
        from hudi_table_services.contract.health_text import health_lines

        return [("Health", health_lines(self, result.files_after))]
