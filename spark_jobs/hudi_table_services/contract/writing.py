"""Request of the write job."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from hudi_table_services.contract.request import JobRequest, refuse_text_for_columns
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError

WRITING = "writing"
"""Name of the service. It has no report, because rows and partitions are fields of every result."""

OPERATIONS = (
    "upsert",
    "insert",
    "bulk_insert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
)


class TimestampsWithoutZone(str, Enum):
    """How a write stores timestamps without time zone.

    A column that the table already stores without time zone stays as it is. For other columns, UTC reads the values as
    times in UTC, and SESSION reads the values as times in Spark's session time zone. REFUSE converts no column, so a
    write fails if the table cannot store the column as it is.
    """

    UTC = "utc"
    SESSION = "session"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """Source of the rows of a write.

    Attributes:
        path: file, folder or glob for Spark's reader. Empty for formats that need only options.
        format: Spark data source, e.g. ``parquet``, ``csv``, ``json``.
        options: options of the reader. They are never shown, because they may contain credentials.
        sql: a single query over the view ``source``. None means all rows of the source, unchanged.

    Raises:
        InvalidRequestError: both path and options are empty.
    """

    path: str = ""
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    sql: str | None = None

    def __post_init__(self) -> None:
        if not self.path and not self.options:
            raise InvalidRequestError(
                "The source has neither a path nor options.", hint="Give the input with --source-path."
            )
        if not self.format:
            raise InvalidRequestError("The format of the source is empty.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertRequest(JobRequest):
    """One write to one table.

    Attributes:
        table_name: name of the table; required to create a table.
        operation: one of `OPERATIONS`.
        source: rows to write. None if the caller passes a DataFrame, and for ``delete_partition``.
        record_key, partition_by: columns of ``hoodie.datasource.write.recordkey.field`` and ``…partitionpath.field``.
        ordering_field: comma-separated columns of ``hoodie.datasource.write.precombine.field``. Empty means no
            ordering field.
        timestamps_without_zone: value of `TimestampsWithoutZone`. If empty, the values become UTC in tables of version
            6, with a warning, and stay as they are in later versions.
        skip_unchanged: leave out updates that would store the values that are already stored; for the operation
            ``upsert`` only.
        check_source: whether to check the source before Spark starts.
        dry_run: plan, report and write nothing.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = WRITING

    operation: str = "upsert"
    source: SourceSpec | None = None
    record_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    ordering_field: str = ""
    timestamps_without_zone: str = ""
    skip_unchanged: bool = False
    check_source: bool = True
    dry_run: bool = False

    def __post_init__(self) -> None:
        # `super()` without arguments does not work in a class with slots before Python 3.14.
        JobRequest.__post_init__(self)
        if self.operation not in OPERATIONS:
            raise InvalidRequestError(
                f"Unknown operation {self.operation!r}.",
                hint=f"{did_you_mean(self.operation, OPERATIONS)} Valid operations: {', '.join(OPERATIONS)}.".strip(),
            )
        if self.operation == "delete_partition" and self.source is not None:
            raise InvalidRequestError(
                "Operation delete_partition does not accept a source.",
                hint="Name the partitions with hoodie.datasource.write.partitions.to.delete.",
            )
        zones = tuple(each.value for each in TimestampsWithoutZone)
        if self.timestamps_without_zone not in ("", *zones):
            raise InvalidRequestError(
                f"Unknown value {self.timestamps_without_zone!r} of timestamps_without_zone.",
                hint=f"{did_you_mean(self.timestamps_without_zone, zones)} Valid values: {', '.join(zones)}.".strip(),
            )
        refuse_text_for_columns(record_key=self.record_key, partition_by=self.partition_by)

    @property
    def work(self) -> str:
        return self.operation
