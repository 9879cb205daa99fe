"""Request of the write job."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from hudi_table_services.contract.request import JobRequest, refuse_text_for_lists
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.reading.query import EARLIEST

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


class SourceMode(str, Enum):
    """What a write takes from a Hudi table.

    INCREMENTAL takes the changed and the deleted rows since the last load. CHANGED_GROUPS takes all rows of the groups
    in which a row has changed; the record key of the target identifies a group.
    """

    INCREMENTAL = "incremental"
    CHANGED_GROUPS = "changed_groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """Source of the rows of a write: files that Spark reads, or the changes of a Hudi table.

    Attributes:
        path: file, folder or glob for Spark's reader. Empty for formats that need only options.
        format: Spark data source, e.g. ``parquet``, ``csv``, ``json``.
        options: options of the reader, or Hudi's read options of `table`. They are never shown, because they may
            contain credentials.
        sql: a single query over the view ``source``. None means all rows of the source, unchanged.
        table: base path of the Hudi table whose changes the write loads.
        mode: value of `SourceMode`; with a table, the default is ``incremental``.
        chain: name under which the target stores its position in the table; by default, the location of the table.
        begin: read the table again from this point in time, exclusive, or from ``earliest``. Empty to continue from
            the position of the target.
        first_begin: point in time, exclusive, from which the first load reads. Empty to begin with the whole table.
        storage_options: credentials and endpoints of the object store of `table`; None for those of the target. They
            are never logged or shown.

    Raises:
        InvalidRequestError: the source has neither path, options nor table; a field belongs to another kind of source;
            or a value is invalid.
    """

    path: str = ""
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    sql: str | None = None
    table: str = ""
    mode: str = ""
    chain: str = ""
    begin: str = ""
    first_begin: str = ""
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.table:
            self._complete_table_source()
            return
        if given := [name for name in _OF_TABLES if getattr(self, name) not in ("", None)]:
            raise InvalidRequestError(
                f"The field {given[0]!r} of the source belongs to a Hudi table, but the source names no table.",
                hint="Give the base path of the table with --source-table.",
            )
        if not self.path and not self.options:
            raise InvalidRequestError(
                "The source has neither a path nor options.", hint="Give the input with --source-path."
            )
        if not self.format:
            raise InvalidRequestError("The format of the source is empty.")

    def _complete_table_source(self) -> None:
        if self.path or self.format != "parquet":
            raise InvalidRequestError(
                f"The source names the Hudi table {self.table} and also a path or a format of files.",
                hint="Give --source-table, or --source-path and --source-format, but not both.",
            )
        modes = tuple(each.value for each in SourceMode)
        if self.mode not in ("", *modes):
            raise InvalidRequestError(
                f"The source has the unknown mode {self.mode!r}.",
                hint=f"{did_you_mean(self.mode, modes)} Valid values: {', '.join(modes)}.".strip(),
            )
        object.__setattr__(self, "mode", self.mode or SourceMode.INCREMENTAL.value)
        object.__setattr__(self, "chain", self.chain.strip() or _location(self.table))


NO_SOURCE_ROWS = "the source has no rows"
"""Reason in the result of a write that read no rows."""
_OF_TABLES = ("mode", "chain", "begin", "first_begin", "storage_options")
"""Fields of `SourceSpec` that have a meaning only for a Hudi table."""


def _location(base_path: str) -> str:
    """Return a base path without its scheme, so that ``s3`` and ``s3a`` mean the same chain."""
    return base_path.partition("://")[2].strip("/") if "://" in base_path else base_path.strip("/")


def is_same_location(one: str, other: str) -> bool:
    """Whether two base paths are equal except for slashes at the end and for ``s3``, ``s3a`` and ``s3n``."""
    return _store_and_location(one) == _store_and_location(other)


def is_local(path: str) -> bool:
    """Whether a path is the path of a local file or folder."""
    return _store_and_location(path)[0] == ""


def is_same_store(one: str, other: str) -> bool:
    """Whether two paths are both local, or in the same bucket, container or file system."""
    stores = [
        (store, location.partition("/")[0]) for store, location in map(_store_and_location, (one, other))
    ]
    return stores[0] == stores[1] or (is_local(one) and is_local(other))


def _store_and_location(base_path: str) -> tuple[str, str]:
    path = base_path.strip().rstrip("/")
    if path.startswith("file:"):
        return "", unquote(urlsplit(path).path)
    scheme, separator, location = path.partition("://")
    if not separator:
        return "", path
    return ("s3" if scheme in ("s3a", "s3n") else scheme), location


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
        refuse_text_for_lists(record_key=self.record_key, partition_by=self.partition_by)
        if self.source is not None and self.source.table:
            if _location(self.source.table) == _location(self.base_path):
                raise InvalidRequestError(
                    f"The source table {self.source.table} is the target itself.",
                    hint="Load its changes into another table.",
                )
            refuse_as_load(self, self.source.begin)

    @property
    def work(self) -> str:
        return self.operation

    @property
    def has_credentials(self) -> bool:
        return bool(self.storage_options or (self.source is not None and self.source.storage_options))

    def without_credentials(self) -> "UpsertRequest":
        """Return the request without settings of object stores."""
        source = self.source and replace(self.source, storage_options=None)
        return replace(self, storage_options={}, source=source)


def refuse_as_load(request: UpsertRequest, begin: str, operation: str = "") -> None:
    """Refuse a request that does not fit a load of the changes of a table.

    Args:
        begin: see `SourceSpec.begin`.
        operation: the operation that the options name, in small letters; empty for the operation of the request.

    Raises:
        InvalidRequestError: the message names the field.
    """
    operation = operation or request.operation
    replaces = operation == "insert_overwrite_table" and begin.strip().lower() == EARLIEST
    if operation != "upsert" and not replaces:
        raise InvalidRequestError(
            f"The request has the operation {operation}, but a load of changes can only upsert and delete rows.",
            hint="Leave the operation out. To replace the target by the whole source, give the operation "
            f"insert_overwrite_table with the begin {EARLIEST} (--source-begin {EARLIEST}).",
        )
    if request.dry_run:
        raise InvalidRequestError(
            "The request is a dry run, but a load of changes has no dry run.",
            hint="Leave the field out.",
        )
