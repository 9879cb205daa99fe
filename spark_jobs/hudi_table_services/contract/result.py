"""The result of a job: the document that determines whether a task succeeded."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any, TypeVar

from hudi_table_services.contract.json_document import CONTRACT_VERSION, parse_document
from hudi_table_services.contract.report import Figures, Report, Section
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result_versions import in_version_2
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError

_ReportT = TypeVar("_ReportT", bound=Report)


_LOCK_WAIT = "lock_wait"
SPARK_START = "spark_start"
"""Names of durations in `JobResult.timings_s` that are not phases of the work."""


class Outcome(str, Enum):
    """How a job ended. PLANNED is the outcome of a dry run or a preview; NOTHING_TO_DO is a success."""

    COMPLETED = "completed"
    PLANNED = "planned"
    NOTHING_TO_DO = "nothing_to_do"
    FAILED = "failed"


HISTOGRAM_EDGES_MIB = (0, 1, 4, 16, 32, 64, 96, 120, 256, 1024)
"""Lower bounds of the size classes of the histogram, in MiB; the last class has no upper bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStats:
    """Numbers about the live base files of the affected partitions.

    Attributes:
        histogram: maps each size class, such as ``"16-32 MiB"``, to its number of files. Empty classes are left out.
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
    raise AssertionError("the last size class has no upper bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows of the batch by their effect on the table.

    Attributes:
        read: number of rows of the input.
        superseded: number of rows that were replaced by another row of the batch with the same key.
        older_than_stored: number of rows that were not written, because the stored row has a larger ordering value.
        unmatched_deletes: number of deletes whose record key is not in the table.
        unchanged: number of rows that were not written, because the stored row has the same values.
        dropped_existing: number of inserts that were dropped, because their record key is already in the table.
        replaced: number of stored rows that an overwrite or `delete_partition` removed, or would remove in a dry run.
            `inserted`, `updated` and `deleted` do not count these rows. None if the number is not known, and for other
            operations.
    """

    read: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    superseded: int = 0
    older_than_stored: int = 0
    unmatched_deletes: int = 0
    dropped_existing: int = 0
    unchanged: int = 0
    replaced: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroupChange:
    """Planned change of one file group. After a commit, `size_after_bytes` is the actual size."""

    partition_path: str
    file_id: str | None
    update_count: int
    insert_count: int
    size_before_bytes: int
    expected_size_bytes: int
    size_after_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """Result of a write in one partition.

    Attributes:
        padded: existing small file groups that received inserts.
        opened: new file groups.
        rewritten: file groups that received only updates or deletes.
        skipped: file groups that were not padded, each with the reason.
        record_size: record size that the plan assumed, and how it was determined, in words.
        record_size_bytes: record size that the plan assumed, in bytes per row.
        measured_record_size_bytes: bytes per row of the written files; None before the commit.
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
        kind: class name of the error, or ``unexpected``.
        retryable: whether the same request may succeed when it runs again.
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
        service: name of the service.
        reused: whether an earlier attempt of the same request completed the work. If so, this attempt wrote nothing.
        reason: why the job wrote nothing, or why a clean deleted no file, in words.
        instant_time, completion_time: requested time of the commit and, from table version 8 on, its completion time.
        files_before, files_after: live base files of the affected partitions.
        report: part of the result that is specific to the service. None means that the job was a write, or that the
            job ended before its report existed.
        timings_s: maps each phase to its duration in seconds. `lock_wait` is the time spent waiting for the table lock.
            The time of a phase that waited for the lock includes this waiting time. `spark_start` is the time from the
            start of Spark's driver to its session.
    """

    request_id: str
    outcome: Outcome
    service: str = ""
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
    report: Report | None = None
    timings_s: Mapping[str, float] = field(default_factory=dict)
    spark_application_id: str | None = None
    warnings: tuple[str, ...] = ()
    error: JobError | None = None

    @classmethod
    def of(cls, request: JobRequest, outcome: Outcome) -> "JobResult":
        """Build a result with the fields of the request and the outcome. The job sets the other fields."""
        return cls(
            request_id=request.request_id,
            outcome=outcome,
            service=request.service,
            operation=request.work,
            table_name=request.table_name,
            base_path=request.base_path,
        )

    @classmethod
    def failed(cls, request: JobRequest, error: BaseException) -> "JobResult":
        """Build the result of a failed request. If the error contains a report of partial work, add this report."""
        report = _evidence(error)
        files = (report.live_files if report is not None else None) or FileStats()
        return replace(
            cls.of(request, Outcome.FAILED),
            files_before=files,
            files_after=files,
            report=report,
            error=JobError.of(error),
        )

    @property
    def is_completed(self) -> bool:
        return self.outcome is Outcome.COMPLETED

    @property
    def is_preview(self) -> bool:
        """Whether the job was a preview or a dry run, which only plans."""
        return self.outcome is Outcome.PLANNED

    @property
    def is_nothing_to_do(self) -> bool:
        return self.outcome is Outcome.NOTHING_TO_DO

    @property
    def failure(self) -> str:
        """Return the reason for the failure in one line."""
        return f"Failed: {self.error.message if self.error else 'no reason was given'}"

    def durations(self) -> str:
        """Return how long Spark needed to start, and how long the job worked, in one line; empty if not measured."""
        work_s = sum(each for name, each in self.timings_s.items() if name not in (SPARK_START, _LOCK_WAIT))
        start_s = self.timings_s.get(SPARK_START)
        start = [f"Spark started in {start_s:.1f} s"] if start_s is not None else []
        return "; ".join([*start, f"the work took {work_s:.1f} s"]) + "." if self.timings_s else ""

    def report_as(self, kind: type[_ReportT]) -> _ReportT | None:
        """Return the report if it has this type, else None."""
        return self.report if isinstance(self.report, kind) else None

    def summary(self) -> str:
        """Return the result in one line."""
        from hudi_table_services.contract.writing_text import write_summary

        return write_summary(self) if self.report is None else self.report.summary(self)

    def sections(self) -> list[Section]:
        """Return the result as groups of log lines."""
        from hudi_table_services.contract.writing_text import write_sections

        return write_sections(self) if self.report is None else self.report.sections(self)

    def figures(self) -> Figures:
        """Return the work of this attempt: zeros for previews, failures and results of an earlier attempt."""
        from hudi_table_services.contract.writing_text import write_figures

        if not self.is_completed or self.reused:
            return Figures()
        return write_figures(self) if self.report is None else self.report.figures()

    def to_json(self, *, is_compact: bool = False) -> str:
        """Return the document, in one line if it `is_compact`."""
        document = {"contract_version": CONTRACT_VERSION, **asdict(self)}
        return json.dumps(document, indent=None if is_compact else 2)

    @classmethod
    def from_json(cls, text: str, reports: Mapping[str, type[Report]]) -> "JobResult":
        """Parse a result document; `registry.read_result` calls this function with the reports of all services.

        Args:
            reports: maps the name of each service to the class of its reports.

        Raises:
            InvalidRequestError: the text is not a result document, or has an unknown version.
        """
        version, fields = parse_document(text, "result")
        try:
            return _result(in_version_2(fields) if version == 1 else dict(fields), reports)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidRequestError(f"The result document cannot be read: {error}.") from error


def _evidence(error: BaseException) -> Report | None:
    """Return the report that the error contains, if any."""
    evidence = error.evidence if isinstance(error, HudiTableServiceError) else None
    return evidence if isinstance(evidence, Report) else None


def _result(values: dict[str, Any], reports: Mapping[str, type[Report]]) -> JobResult:
    return JobResult(
        **{
            **values,
            "outcome": Outcome(values["outcome"]),
            "rows": RowCounts(**values["rows"]),
            "files_before": FileStats(**values["files_before"]),
            "files_after": FileStats(**values["files_after"]),
            "partitions": tuple(_partition(each) for each in values["partitions"]),
            "report": _report(values, reports),
            "warnings": tuple(values["warnings"]),
            "error": None if values["error"] is None else JobError(**values["error"]),
        }
    )


def _report(values: Mapping[str, Any], reports: Mapping[str, type[Report]]) -> Report | None:
    report = values["report"]
    return None if report is None else reports[values["service"]].from_document(report)


def _partition(values: dict[str, Any]) -> PartitionReport:
    for name in ("padded", "opened", "rewritten"):
        values[name] = tuple(FileGroupChange(**change) for change in values[name])
    values["skipped"] = tuple(values["skipped"])
    values["files_before"] = FileStats(**values["files_before"])
    values["files_after"] = FileStats(**values["files_after"])
    return PartitionReport(**values)
