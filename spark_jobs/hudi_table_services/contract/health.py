"""Request and report of the health job."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hudi_table_services.contract.metadata_table import MetadataTableHealth
from hudi_table_services.contract.report import Report, Section
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import FileStats, JobResult
from hudi_table_services.contract.text import MEASURE_TITLES, did_you_mean
from hudi_table_services.errors import InvalidRequestError

HEALTH = "health"
"""Name of the service."""

DEFAULT_WARNINGS = {
    "dead_instants": 0.0,
    "foreign_files": 0.0,
    "leftover_files": 0.0,
    "hours_ahead": 1.0,
    "log_ratio": 1.0,
    "metadata_commits_ahead": 0.0,
    "metadata_commits_behind": 0.0,
    "metadata_commits_since_compaction": 100.0,
    "metadata_missing_files": 0.0,
    "metadata_unlisted_files": 0.0,
    "metadata_unusable": 0.0,
    "metadata_wrong_statistics": 0.0,
    "oldest_compaction_hours": 24.0,
    "oldest_pending_hours": 24.0,
    "small_partitions": 100.0,
    "small_file_ratio": 0.5,
}
"""Maps each measure to its default limit for a warning."""

SMALL_PARTITION_BYTES = 1 << 20
"""A partition with fewer bytes in its live files counts as small."""

FEW_SMALL_FILES = 20
"""Up to this number of small files, the default limit of ``small_file_ratio`` does not apply.

Readers need almost no time to open so few files, so the report gives no advice about them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRequest(JobRequest):
    """Request for a report on the health of a whole table. The job changes nothing.

    Attributes:
        warn_above, fail_above: map a measure (see `MEASURES`) to its limit, a number as a string. The default limit of
            a measure does not apply if one of the two fields contains the measure.
        small_file_limit_bytes: files below this size count as small. 0 means the limit that the table's writers
            recorded, or else the default of ``hoodie.parquet.small.file.limit``.
        deep: also read all records of all indexes of the metadata table, and compare the statistics of columns with
            the footers of the data files. The comparison opens every data file.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = HEALTH

    warn_above: Mapping[str, str] = field(default_factory=dict)
    fail_above: Mapping[str, str] = field(default_factory=dict)
    small_file_limit_bytes: int = 0
    deep: bool = False

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
        """Map each measure to its limit for a warning, including the default limits."""
        defaults = {name: limit for name, limit in DEFAULT_WARNINGS.items() if name not in self.fail_above}
        return defaults | self.own_warning_limits

    @property
    def own_warning_limits(self) -> dict[str, float]:
        """Map each measure in ``warn_above`` to its limit."""
        return _numbers("warn_above", self.warn_above)

    @property
    def failure_limits(self) -> dict[str, float]:
        """Map each measure to its limit for a failure. By default, a damaged timeline or missing files fail the job."""
        return {"damaged": 0.0, "missing_files": 0.0} | _numbers("fail_above", self.fail_above)


def _numbers(name: str, limits: Mapping[str, str]) -> dict[str, float]:
    return {measure: _number(name, measure, text) for measure, text in limits.items()}


def _number(name: str, measure: str, text: str) -> float:
    if measure not in MEASURES:
        hint = did_you_mean(measure, MEASURES, otherwise=f"Valid measures: {', '.join(MEASURES)}.")
        raise InvalidRequestError(f"{name}: there is no measure {measure!r}.", hint=hint)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number >= 0 or math.isinf(number):
        raise InvalidRequestError(f"{name}: {measure}={text} is not a number of 0 or more.")
    return number


MEASURES = {
    "active_commits": "completed writes on the active timeline; archival limits their number",
    "commits_since_clean": "completed writes since the last completed clean",
    "commits_since_clustering": "completed writes that were requested after the newest clustering, whether this "
    "clustering is completed or pending",
    "commits_to_archive": "completed writes that an archival with Hudi's defaults would archive now",
    "commits_to_clean": "completed writes that the retention policy no longer keeps and that no clean has "
    "processed yet",
    "damaged": "1 if the timeline cannot be trusted, for example because a completed instant has zero bytes; else 0",
    "dead_instants": "pending instants whose writer has stopped; the next job has to finish or undo them",
    "file_groups_in_compactions": "file groups that pending compactions will rewrite",
    "foreign_files": "files that are in partition folders but were not written by Hudi; hidden files do not count",
    "hours_ahead": "hours by which the newest instant is ahead of the clock; 0 if it is not ahead",
    "hours_since_commit": "hours since the newest completed write was requested",
    "leftover_bytes": "bytes of the leftover files",
    "leftover_files": "data files of writes that are neither completed nor pending, and data files that were copied "
    "into another folder of the table under the same name",
    "log_bytes": "bytes of the log files that no compaction has merged; snapshot queries read them in addition to the "
    "base files",
    "log_files": "log files that no compaction has merged",
    "log_ratio": "`log_bytes` divided by the bytes of the base files; missing if the table has only log files",
    "metadata_bytes": "bytes of all files of the metadata table",
    "metadata_commits_ahead": "delta commits of the metadata table whose instants the table does not have",
    "metadata_commits_behind": "completed instants of the table that the metadata table lacks",
    "metadata_commits_since_compaction": "delta commits of the metadata table since its last compaction",
    "metadata_log_bytes": "bytes of the log files that the next compaction of the metadata table merges",
    "metadata_log_files": "log files that the next compaction of the metadata table merges",
    "metadata_missing_files": "files that the metadata table lists and that do not exist or have another size",
    "metadata_pending_instants": "pending instants of the metadata table",
    "metadata_unlisted_files": "data files of completed writes that the metadata table does not list",
    "metadata_unusable": "1 if the metadata table cannot be read, lost a file of any index, or contradicts "
    "the table; else 0",
    "metadata_wrong_statistics": "wrong records of `column_stats` and `partition_stats` that make readers skip rows; "
    "only a deep check counts them",
    "missing_files": "files of the latest file slices: base files that are missing or empty, or whose size differs "
    "from the size in their commit, and log files that are missing",
    "oldest_compaction_hours": "hours since the oldest pending compaction was requested; 0 if none is pending",
    "oldest_log_hours": "age in hours of the oldest log file that no compaction has merged; 0 if there is none",
    "oldest_pending_hours": "hours since the oldest pending instant was requested",
    "outdated_bytes": "bytes of the outdated files",
    "outdated_files": "data files that are not in the latest file slices; the retention policy may still "
    "keep these files",
    "pending_compactions": "compactions and log compactions that are requested or inflight",
    "pending_instants": "instants that are requested or inflight",
    "small_file_ratio": "`small_files` divided by the number of live files, from 0 to 1",
    "small_files": "live files below the small-file limit whose partition contains another such file",
    "small_partitions": "partitions whose live files have less than 1 MiB in total",
}
"""Maps the name of each measure to its meaning. For every measure, a smaller value is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInstant:
    """An instant that is requested or inflight, with advice for the user.

    Attributes:
        operation: Hudi's name of the write operation; empty if the instant does not contain a write operation.
        age_s: seconds since the instant was requested.
        heartbeat: ``alive``, ``expired``, ``ahead`` (its time is in the future) or ``none``.
        is_dead: whether no job works on the instant any more. If so, another job has to finish or undo the instant.
        file_groups: number of file groups in the plan of the instant; 0 for writes.
        meaning: explanation of the instant in one sentence.
        next_step: an action that is safe.
        avoid: an action that is not safe; may be empty.
        blocks: actions that wait until the instant is completed or undone.
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
    """A measure above its limit.

    Attributes:
        level: ``warn`` or ``fail``.
        measure: one of `MEASURES`.
        value, limit: the measured value, and the limit that the value exceeds.
        advice: what to do.
    """

    level: str
    measure: str
    value: float
    limit: float
    advice: str

    @property
    def title(self) -> str:
        """Return the title of the measure, see `MEASURE_TITLES`; the name for a measure of another release."""
        return MEASURE_TITLES.get(self.measure, self.measure)

    @property
    def statement(self) -> str:
        """Return title, measure, value and limit, such as ``Small files (small_files): 4, above 1``."""
        return f"{self.title} ({self.measure}): {self.value:g}, above {self.limit:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport(Report):
    """State of a table at one point in time.

    Attributes:
        status: ``healthy``, ``warning`` or ``failing``.
        damage: why the timeline cannot be trusted; empty if the timeline is intact.
        table_version, table_type: the values in ``hoodie.properties``.
        live_files: the live base files of the table; no files if the timeline is damaged.
        partition_count: number of partition paths with live files.
        last_commit: requested time of the newest completed write; empty if there is none.
        last_clean, last_clustering: requested time of the newest completed clean and clustering; empty if there is
            none.
        retention: sentence that names the commits that cleaning retains now, and the reason.
        archival: sentence that names the commits that archival keeps active now, and the reason.
        small_file_limit_bytes: files below this size count as small.
        small_file_limit_source: where the limit comes from: ``request``, ``writers`` (the newest write with limits
            recorded it), or ``default`` (Hudi's default).
        measures: maps each measure (see `MEASURES`) to its value. Measures that could not be determined are missing.
        partitions: at most ten partitions, ordered by number of small files, largest first.
        savepoints: requested times of the commits that have a savepoint.
        leftover_examples: paths of some leftover files.
        foreign_examples: paths of some foreign files.
        missing_examples: paths of some missing files, each with a description of the problem.
        metadata_table: active partitions of the metadata table; empty if the table has no metadata table.
        metadata_table_state: state of the metadata table.
    """

    service: ClassVar[str] = HEALTH

    status: str = "healthy"
    damage: str = ""
    table_version: int = 0
    table_type: str = ""
    live_files: FileStats = field(default_factory=FileStats)
    partition_count: int = 0
    last_commit: str = ""
    last_clean: str = ""
    last_clustering: str = ""
    retention: str = ""
    archival: str = ""
    small_file_limit_bytes: int = 0
    small_file_limit_source: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[HealthFinding, ...] = ()
    pending: tuple[PendingInstant, ...] = ()
    partitions: tuple[PartitionHealth, ...] = ()
    savepoints: tuple[str, ...] = ()
    leftover_examples: tuple[str, ...] = ()
    missing_examples: tuple[str, ...] = ()
    foreign_examples: tuple[str, ...] = ()
    metadata_table: tuple[str, ...] = ()
    metadata_table_state: MetadataTableHealth = field(default_factory=MetadataTableHealth)

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
        # Documents of earlier releases lack the following fields.
        fields["live_files"] = FileStats(**fields.get("live_files", {}))
        for name in ("missing_examples", "foreign_examples"):
            fields[name] = tuple(fields.get(name, ()))
        state = fields.get("metadata_table_state", {})
        fields["metadata_table_state"] = MetadataTableHealth.from_document(state)
        return cls(**fields)

    def summary(self, result: JobResult) -> str:
        above = "; ".join(each.statement for each in self.findings)
        return f"Health of the table: {self.status}" + (f" ({above})" if above else "")

    def sections(self, result: JobResult) -> list[Section]:
        from hudi_table_services.contract.health_text import health_lines

        return [("Health", health_lines(self, result.files_after))]
