"""Metadata tables in memory that grow by delta commits with the files that this project writes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from uuid import uuid4

from hudi_table_services.commits.metadata_table_services.run import ServiceReport, run_services
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import GroupChange, MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.options.metadata_settings import DEFAULT_SERVICE_SETTINGS
from hudi_table_services.options.metadata_settings_values import ServiceSettings
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.file_format import read_file_format
from hudi_table_services.storage.metadata_table.group_files import (
    encoded_log,
    write_first_log_file,
    write_log_file,
)
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import FIRST, SmallMetadataTable

GROUPS = {file_groups.FILES: 1, file_groups.COLUMN_STATS: 2, file_groups.RECORD_INDEX: 2}
"""Number of file groups by partition of the metadata table."""

START = datetime(2026, 1, 2, tzinfo=timezone.utc)
Records = dict[str, dict[str, MetadataRecord]]
Changes = Mapping[str, tuple[Iterable[MetadataRecord], Iterable[str]]]
"""Partition of the metadata table → new records, and keys that are deleted after them."""


def eager(*, every: int = 1, kept: int = 2, most: int = 3) -> ServiceSettings:
    """Settings with which the services run often.

    Args:
        every: number of delta commits after which a compaction begins.
        kept, most: number of instants that stay after an archival; number of instants above which an archival begins.
    """
    archival = replace(DEFAULT_SERVICE_SETTINGS.archival, min_commits=kept, max_commits=most)
    return ServiceSettings(max_delta_commits=every, archival=archival)


def ticking(moment: datetime = START) -> FixedClock:
    """A clock that moves by one second at each call."""
    return FixedClock(moment, timedelta(seconds=1))


@dataclass
class GrowingMetadataTable:
    """A table and its metadata table, without the data files of the table."""

    storage: Storage
    clock: FixedClock = field(default_factory=ticking)

    @classmethod
    def new(cls, version: TableVersion) -> "GrowingMetadataTable":
        small = SmallMetadataTable(version, ",".join(sorted(GROUPS)))
        table = cls(small.storage)
        metadata = table.open()
        for group in _groups():
            write_first_log_file(metadata.storage, group, FIRST)
        small.own(FIRST)
        return table

    def copy(self) -> "GrowingMetadataTable":
        storage = MemoryStorage(uuid4().hex)
        for stored in self.storage.list_files():
            storage.write(stored.path, self.storage.read(stored.path))
        return GrowingMetadataTable(storage, ticking(self.clock.moment))

    def on(self, storage: Storage) -> "GrowingMetadataTable":
        """The same table through another storage."""
        return GrowingMetadataTable(storage, ticking(self.clock.moment))

    @property
    def access(self) -> TableAccess:
        return TableAccess(storage=self.storage, clock=self.clock, config=read_table_config(self.storage))

    def open(self) -> MetadataTable:
        return open_metadata_table(self.storage, read_table_config(self.storage), self.clock)

    def read(self) -> Records:
        return read_records(self.open())

    def commit(self, changes: Changes, *, leaves_pending: bool = False) -> str:
        """Complete a write in the metadata table, then in the table. Returns its instant time.

        Args:
            leaves_pending: die before the completion in the table.
        """
        table, metadata = self.access, self.open()
        data = table.timeline_store.request(Action.COMMIT)
        table.timeline_store.start(data)
        time, store = data.requested_time, metadata.timeline_store
        own = store.request(Action.DELTA_COMMIT, b"", time)
        store.start(own)
        store.complete(own, self._content(metadata, list(_written(metadata, changes, time))))
        if not leaves_pending:
            table.timeline_store.complete(data, b"{}")
        return time

    def complete(self, time: str) -> None:
        """Complete a write that died before its completion in the table."""
        store = self.access.timeline_store
        [pending] = [i for i in store.load().pending if i.requested_time == time]
        store.complete(pending, b"{}")

    def services(
        self, settings: ServiceSettings | None = None, lock: TableLock | None = None
    ) -> ServiceReport:
        return run_services(self.access, lock, settings=settings or eager())

    def _content(self, metadata: MetadataTable, stats: list[WriteStat]) -> bytes:
        by_partition: dict[str, tuple[WriteStat, ...]] = {}
        for stat in stats:
            by_partition[stat.partition_path] = (*by_partition.get(stat.partition_path, ()), stat)
        content = CommitMetadata(
            operation_type=WriteOperation.UPSERT_PREPPED, partition_to_write_stats=by_partition
        )
        return encode_commit_metadata(content, metadata.config.table_version)


def read_records(metadata: MetadataTable) -> Records:
    """All records by partition and key, without the names of their files."""
    return {
        partition: {
            record.key: replace(record, base_file_name=None)
            for record in MetadataPartition(metadata, partition).records()
        }
        for partition in metadata.partitions
    }


def _groups() -> list[FileGroupId]:
    return [
        FileGroupId(partition, file_groups.file_group_id(partition, number))
        for partition, count in GROUPS.items()
        for number in range(count)
    ]


def _written(metadata: MetadataTable, changes: Changes, time: str) -> Iterable[WriteStat]:
    form = read_file_format(metadata)
    for partition, (records, keys) in changes.items():
        slices = MetadataPartition(metadata, partition).slices
        grouped: dict[int, tuple[list[MetadataRecord], list[str]]] = {}
        for record in sorted(records, key=lambda each: each.key.encode()):
            grouped.setdefault(file_group_of(record.key, len(slices)), ([], []))[0].append(record)
        for key in sorted(keys, key=str.encode):
            grouped.setdefault(file_group_of(key, len(slices)), ([], []))[1].append(key)
        for number, (new, deleted) in grouped.items():
            change = GroupChange(
                file_group_id=slices[number].file_group_id, records=tuple(new), deleted_keys=tuple(deleted)
            )
            yield write_log_file(metadata.storage, slices[number], encoded_log(change, form), time, form)
