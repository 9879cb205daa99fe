"""Results of a write, as stored in completed instants (HoodieWriteStat, HoodieCommitMetadata; Hudi 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

NEW_FILE_GROUP = "null"
"""The literal string that Hudi stores as the previous commit of a new file group."""

SCHEMA_KEY = "schema"
"""Key of the Avro schema of the table, without meta columns, in the extra metadata of a write."""

REQUEST_ID_KEY = "airflow.request_id"
"""Key of the request id in the extra metadata of an instant."""

LOAD_REQUEST_KEY = "airflow.load_request_id"
"""End of a key in the extra metadata of a commit that loaded changes. The value is a second request id.

The second id is the id that the caller chose. The id under `REQUEST_ID_KEY` of the same commit is equal for all loads
that start from the same position in the source.
"""

FILE_SIZES_KEY = "airflow.file_sizes"
"""Key in the extra metadata of a write. The value is a JSON object with the writer's limits of file sizes."""

FILE_GROUPS_KEY = "airflow.file_groups"
"""Key of the number of file groups, in the extra metadata of the instant that creates a metadata table partition.

Hudi does not record this number, but counts the file groups. If the last file group has no record yet and its file is
lost, the count is too small, and the hashes of keys select wrong file groups.
"""


def request_ids_in(extra_metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Return the request ids of a commit: first the id that the caller of a load of changes chose, if there is one."""
    chosen = load_id_in(extra_metadata)
    own = tuple(value for key, value in extra_metadata.items() if key == REQUEST_ID_KEY)
    return (chosen, *own) if chosen else own


def load_id_in(extra_metadata: Mapping[str, str]) -> str:
    """Return the id that the caller of a load of changes chose; empty if there is none."""
    return next((value for key, value in extra_metadata.items() if key.endswith(LOAD_REQUEST_KEY)), "")


class WriteOperation(str, Enum):
    """Values of ``operationType`` (WriteOperationType)."""

    INSERT = "INSERT"
    INSERT_PREPPED = "INSERT_PREPPED"
    UPSERT = "UPSERT"
    UPSERT_PREPPED = "UPSERT_PREPPED"
    BULK_INSERT = "BULK_INSERT"
    BULK_INSERT_PREPPED = "BULK_INSERT_PREPPED"
    DELETE = "DELETE"
    DELETE_PREPPED = "DELETE_PREPPED"
    BOOTSTRAP = "BOOTSTRAP"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    CLUSTER = "CLUSTER"
    DELETE_PARTITION = "DELETE_PARTITION"
    COMPACT = "COMPACT"
    LOG_COMPACT = "LOG_COMPACT"
    INDEX = "INDEX"
    ALTER_SCHEMA = "ALTER_SCHEMA"
    BUCKET_RESCALE = "BUCKET_RESCALE"
    UNKNOWN = "UNKNOWN"


OVERWRITE = (WriteOperation.INSERT_OVERWRITE, WriteOperation.INSERT_OVERWRITE_TABLE)
"""Operations that replace all earlier rows of their partitions, or of the whole table, by their own rows."""

MOVE_ROWS = (
    WriteOperation.CLUSTER,
    WriteOperation.COMPACT,
    WriteOperation.LOG_COMPACT,
    WriteOperation.BUCKET_RESCALE,
)
"""Operations of table services, which rewrite existing rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStat:
    """Result of writing one base file or log file. Counts are rows, sizes are bytes.

    Attributes:
        path: path of the new file, relative to the base path.
        prev_commit: base instant of the previous slice, or `NEW_FILE_GROUP`; for a log file see `LogTarget`.
        num_writes: number of all rows of the new file, not only of changed rows. Deletes in a log file do not count.
        file_size_bytes: exact length on storage. Without this value, incremental reads of table versions 8 and 9 lose
            rows.
        prev_base_file: name of the previous base file; None for a new file group.
    """

    file_id: str
    partition_path: str
    path: str
    prev_commit: str = NEW_FILE_GROUP
    num_writes: int = 0
    num_inserts: int = 0
    num_update_writes: int = 0
    num_deletes: int = 0
    file_size_bytes: int = 0
    prev_base_file: str | None = None
    total_write_errors: int = 0
    min_event_time: int | None = None
    max_event_time: int | None = None
    total_create_time_ms: int = 0
    total_upsert_time_ms: int = 0
    total_scan_time_ms: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)
    """Fields of log-file stats and of other Hudi releases, under Hudi's names. All of these fields are kept."""

    @property
    def is_log_file(self) -> bool:
        """Whether the stat belongs to a log file: names of log files begin with a dot."""
        return self.path.rpartition("/")[2].startswith(".")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMetadata:
    """Content of a completed commit. An inflight commit contains its workload profile in the same form.

    Attributes:
        partition_to_write_stats: maps each partition path to its write stats, in stored order.
        extra_metadata: strings by their keys; ``schema`` contains the Avro JSON schema without meta columns.
        partition_to_replace_file_ids: maps each partition path to the ids of the file groups that a replace commit
            replaced; None for other commits.
    """

    operation_type: WriteOperation
    partition_to_write_stats: Mapping[str, tuple[WriteStat, ...]]
    extra_metadata: Mapping[str, str] = field(default_factory=dict)
    compacted: bool = False
    partition_to_replace_file_ids: Mapping[str, tuple[str, ...]] | None = None

    @property
    def write_stats(self) -> tuple[WriteStat, ...]:
        return tuple(stat for stats in self.partition_to_write_stats.values() for stat in stats)
