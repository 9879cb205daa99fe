"""Metadata tables with chosen records, instants and files, in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.hfile.trailer import flavour_of
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, file_group_id
from hudi_table_services.hudi_format.metadata_table.keys import ALL_PARTITIONS, files_key
from hudi_table_services.hudi_format.metadata_table.log_file import (
    encode_deleted_keys_block,
    encode_records_block,
    encode_rollback_block,
)
from hudi_table_services.hudi_format.metadata_table.properties import encode_metadata_table_properties
from hudi_table_services.hudi_format.metadata_table.record_schema import record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.hudi_format.table_properties import encode_properties
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    ListedFile,
    Listing,
    MetadataRecord,
    RecordLocation,
    RecordType,
    StatKind,
    StatValue,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, PROPERTIES, read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from support.fixed_clock import FixedClock
from support.small_tables import table_properties


def moment(number: int) -> str:
    """An instant time; a greater number is a later time."""
    return f"202601010000{number:05d}"


FIRST = "00000000000000010"
"""The instant that created the metadata table."""


@dataclass
class SmallMetadataTable:
    """A table whose properties list a metadata table, without instants.

    From version 8 on, an instant completes one millisecond after its requested time, unless a time is given. `FIRST`
    completes before all other instants.
    """

    version: TableVersion
    partitions: str = FILES
    storage: Storage = field(default_factory=lambda: MemoryStorage(uuid4().hex))

    def __post_init__(self) -> None:
        saved_at = FixedClock().now()
        properties = {**table_properties(self.version), "hoodie.table.metadata.partitions": self.partitions}
        self.storage.write(PROPERTIES, encode_properties(properties, saved_at=saved_at))
        own = encode_metadata_table_properties("trips", self.version, saved_at=saved_at)
        self.storage.write(f"{METADATA_TABLE}/{PROPERTIES}", own)

    @property
    def config(self) -> TableConfig:
        return read_table_config(self.storage)

    @property
    def timeline(self) -> Timeline:
        return TimelineStore(self.storage, self.config, FixedClock()).load()

    def open(self) -> MetadataTable:
        return open_metadata_table(self.storage, self.config, FixedClock())

    def reader(self, partition: str = FILES) -> MetadataPartition:
        return MetadataPartition(self.open(), partition)

    def read(self, partition: str = FILES) -> dict[str, MetadataRecord]:
        return {record.key: record for record in self.reader(partition).records()}

    # ------------------------------------------------------------------ instants

    def data(
        self, time: str, action: Action = Action.COMMIT, *, pending: bool = False, content: bytes = b"{}"
    ) -> None:
        """Add an instant to the timeline of the table."""
        self._instant("", time, action, b"" if pending else content, pending=pending)

    def own(
        self,
        time: str,
        action: Action = Action.DELTA_COMMIT,
        *,
        pending: bool = False,
        files: Sequence[str] = (),
        completed_at: str | None = None,
    ) -> None:
        """Add an instant to the timeline of the metadata table. The instant names files of the partition `files`."""
        stats = tuple(self._stat(name) for name in files)
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT_PREPPED,
            partition_to_write_stats={FILES: stats} if stats else {},
        )
        content = encode_commit_metadata(metadata, self.version)
        self._instant(METADATA_TABLE, time, action, content, pending=pending, completed_at=completed_at)

    def write(self, time: str, name: str) -> None:
        """In both timelines, complete a write that wrote one file of `files`."""
        self.own(time, files=[name])
        self.data(time)

    def _stat(self, name: str) -> WriteStat:
        path = f"{FILES}/{name}"
        size = self.storage.size(f"{METADATA_TABLE}/{path}")
        return WriteStat(file_id=name, partition_path=FILES, path=path, file_size_bytes=size)

    def _instant(
        self,
        folder: str,
        time: str,
        action: Action,
        content: bytes,
        *,
        pending: bool,
        completed_at: str | None = None,
    ) -> None:
        layout = self.version.layout
        by_default = moment(0) if time == FIRST else f"{int(time) + 1:0{len(time)}d}"
        completion = None if pending else completed_at or by_default
        instant = Instant(
            requested_time=time,
            action=action,
            state=InstantState.REQUESTED if pending else InstantState.COMPLETED,
            completion_time=completion if layout.has_completion_time_in_names else None,
        )
        path = join_path(join_path(folder, layout.timeline_folder), instant.file_name(layout))
        self.storage.write(path, b"" if pending else content)

    # ------------------------------------------------------------------ files

    def base(
        self, time: str, records: Iterable[MetadataRecord], partition: str = FILES, number: int = 0
    ) -> str:
        """Write a base file and return its name."""
        name = f"{file_group_id(partition, number)}_0-1-2_{time}.hfile"
        options = self._options(is_base_file=True)
        self.storage.write(
            f"{METADATA_TABLE}/{partition}/{name}", encode_hfile(self._entries(records), options)
        )
        return name

    def log(
        self, time: str, *blocks: bytes, version: int = 1, partition: str = FILES, number: int = 0
    ) -> str:
        """Write a log file and return its name. In table version 6 the time is the base instant of the slice."""
        name = f".{file_group_id(partition, number)}_{time}.log.{version}_0-1-2"
        self.storage.write(f"{METADATA_TABLE}/{partition}/{name}", b"".join(blocks))
        return name

    def records(self, time: str, *records: MetadataRecord) -> bytes:
        """A block of records."""
        return encode_records_block(self._entries(records), time, self._options())

    def deletes(self, time: str, *keys: str, partition: str = FILES) -> bytes:
        """A block of deleted keys."""
        return encode_deleted_keys_block(keys, partition, time, record_schema(self.version))

    def rollback(self, time: str, target: str) -> bytes:
        return encode_rollback_block(time, target)

    def _options(self, *, is_base_file: bool = False) -> HFileOptions:
        schema = record_schema(self.version)
        return HFileOptions(schema=schema, flavour=flavour_of(self.version), is_base_file=is_base_file)

    def _entries(self, records: Iterable[MetadataRecord]) -> list[tuple[bytes, bytes]]:
        record_format = RecordFormat(record_schema(self.version))
        return sorted(map(record_format.encode, records))


def files(partition_path: str, sizes: Mapping[str, int | None]) -> MetadataRecord:
    """Files of a partition with their sizes; None means that the file is deleted."""
    listing = Listing({name: _file(size) for name, size in sizes.items()})
    return MetadataRecord(key=files_key(partition_path), record_type=RecordType.FILES, payload=listing)


def all_partitions(*paths: str, deleted: Sequence[str] = ()) -> MetadataRecord:
    listed = {files_key(path): ListedFile(0) for path in paths}
    listed |= {files_key(path): ListedFile(0, is_deleted=True) for path in deleted}
    return MetadataRecord(key=ALL_PARTITIONS, record_type=RecordType.ALL_PARTITIONS, payload=Listing(listed))


def location(key: str, file_id: str) -> MetadataRecord:
    """An entry of a record index."""
    payload = RecordLocation(partition_path="a", file_id=file_id, instant_millis=1, is_plain_text=True)
    return MetadataRecord(key=key, record_type=RecordType.RECORD_INDEX, payload=payload)


def stats(key: str, low: int | None, high: int | None, **fields: bool) -> MetadataRecord:
    """Statistics of a column of integers, with three values and one null."""
    payload = ColumnStats(
        file_name="f",
        column_name="c",
        min_value=None if low is None else StatValue(StatKind.INT, low),
        max_value=None if high is None else StatValue(StatKind.INT, high),
        value_count=3,
        null_count=1,
        total_size_bytes=10,
        total_uncompressed_bytes=20,
        **fields,
    )
    return MetadataRecord(key=key, record_type=RecordType.COLUMN_STATS, payload=payload)


def _file(size: int | None) -> ListedFile:
    return ListedFile(0, is_deleted=True) if size is None else ListedFile(size)
