"""Compaction jobs on small tables that all other functions of a test see as copy-on-write tables.

Only the compaction jobs read the type MERGE_ON_READ from the properties of the table.
"""

from dataclasses import dataclass
from typing import cast

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.stores.conditional import ConditionalStorage, ObjectVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import BACKUP, PROPERTIES
from support.faulty_storage import FaultyStorage
from support.small_tables import SCHEMA, SmallTable


@dataclass
class MergeOnReadView(FaultyStorage):
    """A storage whose table has the type MERGE_ON_READ."""

    def read(self, path: str) -> bytes:
        content = self.inner.read(path)
        return (
            content.replace(b"COPY_ON_WRITE", b"MERGE_ON_READ") if path in (PROPERTIES, BACKUP) else content
        )


@dataclass
class ConditionalMergeOnReadView(MergeOnReadView):
    """As `MergeOnReadView`, for a storage with conditional puts, which the table lock needs on an object store."""

    def read_versioned(self, path: str) -> tuple[bytes, ObjectVersion]:
        return cast(ConditionalStorage, self.inner).read_versioned(path)

    def put_if(self, path: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        return cast(ConditionalStorage, self.inner).put_if(path, data, expected)


def as_merge_on_read(storage: Storage) -> Storage:
    view = ConditionalMergeOnReadView if isinstance(storage, ConditionalStorage) else MergeOnReadView
    return view(storage)


def add_log(table: SmallTable, base: Instant, group: FileGroupId) -> str:
    """Commit a log file of a file group; return its path."""
    pending = table.begin(Action.DELTA_COMMIT)
    own = table.version.layout.has_completion_time_in_names
    log = LogFile(
        file_id=group.file_id,
        instant_time=pending.requested_time if own else base.requested_time,
        version=1,
        write_token="0-1-0",
    )
    path = table.add_file(group.partition_path, log.file_name, b"#HUDI#")
    stat = WriteStat(file_id=group.file_id, partition_path=group.partition_path, path=path, file_size_bytes=6)
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats={group.partition_path: (stat,)},
        extra_metadata={"schema": SCHEMA},
    )
    table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))
    return path
