"""The result of a job: the document that decides whether a task succeeded."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from hudi_table_services.contract.archival import ArchiveReport, archive_report_from_document
from hudi_table_services.contract.cleaning import CleanReport, clean_report_from_document
from hudi_table_services.contract.clustering import ClusteringReport, report_from_document
from hudi_table_services.contract.config_check import ConfigReport, config_report_from_document
from hudi_table_services.contract.health import HealthReport, health_report_from_document
from hudi_table_services.contract.json_document import CONTRACT_VERSION, parse_document
from hudi_table_services.contract.recovery import (
    OrphanReport,
    RecoveryReport,
    orphan_report_from_document,
    recovery_report_from_document,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import (
    HudiTableServiceError,
    InvalidRequestError,
)


class Outcome(str, Enum):
    """How a job ended. PLANNED: dry run. NOTHING_TO_DO is success."""

    COMPLETED = "completed"
    PLANNED = "planned"
    NOTHING_TO_DO = "nothing_to_do"
    FAILED = "failed"


HISTOGRAM_EDGES_MIB = (0, 1, 4, 16, 32, 64, 96, 120, 256, 1024)
"""Lower edges of the size histogram, MiB; the last class is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStats:
    """Live base files of the partitions concerned.

    Attributes:
        histogram: class such as ``"16-32 MiB"`` → files; empty classes left out.
    """

    file_count: int = 0
    size_bytes: int = 0
    histogram: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, sizes_bytes: list[int]) -> "FileStats":
        counts: dict[str, int] = {}
        for name in map(_size_class, sorted(sizes_bytes)):
            counts[name] = counts.get(name, 0) + 1
        return cls(file_count=len(sizes_bytes), size_bytes=sum(sizes_bytes), histogram=counts)


def _size_class(size_bytes: int) -> str:
    upper = (*HISTOGRAM_EDGES_MIB[1:], None)
    for low, high in zip(HISTOGRAM_EDGES_MIB, upper, strict=True):
        if high is None:
            return f"{low} MiB and more"
        if size_bytes < high << 20:
            return f"{low}-{high} MiB"
    raise AssertionError("the last class is open")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows of the batch and what became of them.

    Attributes:
        read: rows of the input.
        superseded: rows replaced by another row of the batch with the same key.
        older_than_stored: rows that lost to a stored row with a larger ordering value.
        unmatched_deletes: deletes of keys that the table does not hold.
        dropped_existing: inserts dropped because their key existed.
    """

    read: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    superseded: int = 0
    older_than_stored: int = 0
    unmatched_deletes: int = 0
    dropped_existing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroupChange:
    """One file group of the plan and, after a commit, its true size."""

    partition_path: str
    file_id: str | None
    update_count: int
    insert_count: int
    size_before_bytes: int
    expected_size_bytes: int
    size_after_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """What a write did in one partition path.

    Attributes:
        padded: existing small file groups that took inserts.
        opened: new file groups.
        rewritten: file groups that took updates or deletes only.
        skipped: file groups passed over for padding, each with the reason.
        record_size: bytes per row the plan reckoned with, and where the figure comes from.
        measured_record_size_bytes: bytes per row of the files written; None before a commit.
    """

    partition_path: str
    padded: tuple[FileGroupChange, ...] = ()
    opened: tuple[FileGroupChange, ...] = ()
    rewritten: tuple[FileGroupChange, ...] = ()
    skipped: tuple[str, ...] = ()
    record_size: str = ""
    record_size_bytes: float = 0.0
    measured_record_size_bytes: float | None = None
    files_before: FileStats = field(default_factory=FileStats)
    files_after: FileStats = field(default_factory=FileStats)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Why a job failed.

    Attributes:
        kind: name of the error's class, or ``unexpected``.
        retryable: the same request may succeed when it is run again.
        hint: what to do next; may be empty.
    """

    kind: str
    message: str
    retryable: bool
    hint: str = ""

    @classmethod
    def of(cls, error: BaseException) -> "JobError":
        if isinstance(error, HudiTableServiceError):
            return cls(kind=error.kind, message=error.message, retryable=error.retryable, hint=error.hint)
        return cls(kind="unexpected", message=f"{type(error).__name__}: {error}", retryable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """Outcome of one request.

    Attributes:
        reused: an earlier attempt of the same request had completed; nothing was written now.
        reason: why nothing was done, in words.
        instant_time, completion_time: requested and (table version 8 on) completion time of the commit.
        files_before, files_after: live base files of the partitions concerned.
        clustering: plans of a clustering job; None for other jobs.
        clean: what a clean job deleted and kept; None for other jobs.
        health: how the table is; None for other jobs than that which tells.
        recovery: what a rollback or restore undid; None for other jobs.
        orphans: what a search for orphans found; None for other jobs.
        archive: what an archive job moved and kept; None for other jobs.
        config: findings of a check of settings; None for other jobs.
        timings_s: seconds by phase; `lock_wait`, waiting for the table's lock, is part of the phases in which it was.
    """

    request_id: str
    outcome: Outcome
    operation: str = ""
    table_name: str = ""
    base_path: str = ""
    reused: bool = False
    reason: str = ""
    action: str | None = None
    instant_time: str | None = None
    completion_time: str | None = None
    rows: RowCounts = field(default_factory=RowCounts)
    files_before: FileStats = field(default_factory=FileStats)
    files_after: FileStats = field(default_factory=FileStats)
    partitions: tuple[PartitionReport, ...] = ()
    replaced_file_groups: int = 0
    clustering: ClusteringReport | None = None
    clean: CleanReport | None = None
    health: HealthReport | None = None
    recovery: RecoveryReport | None = None
    orphans: OrphanReport | None = None
    archive: ArchiveReport | None = None
    config: ConfigReport | None = None
    timings_s: Mapping[str, float] = field(default_factory=dict)
    spark_application_id: str | None = None
    warnings: tuple[str, ...] = ()
    error: JobError | None = None

    @classmethod
    def failed(cls, request: JobRequest, error: BaseException) -> "JobResult":
        """Result of a failed request, with the report that the error carries."""
        evidence = error.evidence if isinstance(error, HudiTableServiceError) else None
        return cls(
            request_id=request.request_id,
            outcome=Outcome.FAILED,
            operation=request.work,
            table_name=request.table_name,
            base_path=request.base_path,
            clustering=evidence if isinstance(evidence, ClusteringReport) else None,
            health=evidence if isinstance(evidence, HealthReport) else None,
            config=evidence if isinstance(evidence, ConfigReport) else None,
            error=JobError.of(error),
        )

    def to_json(self) -> str:
        return json.dumps({"contract_version": CONTRACT_VERSION, **asdict(self)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "JobResult":
        """Raises InvalidRequestError when the text is not a result document of this version."""
        fields = dict(parse_document(text, "result"))
        try:
            return _result(fields)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidRequestError(f"The result document cannot be read: {error}.") from error


def _result(values: dict[str, Any]) -> JobResult:
    values["outcome"] = Outcome(values["outcome"])
    values["rows"] = RowCounts(**values["rows"])
    values["files_before"] = FileStats(**values["files_before"])
    values["files_after"] = FileStats(**values["files_after"])
    values["partitions"] = tuple(_partition(p) for p in values["partitions"])
    clustering = values["clustering"]
    values["clustering"] = None if clustering is None else report_from_document(clustering)
    cleaned = values["clean"]
    values["clean"] = None if cleaned is None else clean_report_from_document(cleaned)
    health = values["health"]
    values["health"] = None if health is None else health_report_from_document(health)
    recovered, orphans = values["recovery"], values["orphans"]
    values["recovery"] = None if recovered is None else recovery_report_from_document(recovered)
    values["orphans"] = None if orphans is None else orphan_report_from_document(orphans)
    archived = values["archive"]
    values["archive"] = None if archived is None else archive_report_from_document(archived)
    checked = values["config"]
    values["config"] = None if checked is None else config_report_from_document(checked)
    values["warnings"] = tuple(values["warnings"])
    values["error"] = None if values["error"] is None else JobError(**values["error"])
    return JobResult(**values)


def _partition(values: dict[str, Any]) -> PartitionReport:
    for name in ("padded", "opened", "rewritten"):
        values[name] = tuple(FileGroupChange(**change) for change in values[name])
    values["skipped"] = tuple(values["skipped"])
    values["files_before"] = FileStats(**values["files_before"])
    values["files_after"] = FileStats(**values["files_after"])
    return PartitionReport(**values)
