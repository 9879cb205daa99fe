"""Tables without rows, on any storage: they consist of properties, instants and data files of a few bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import create_table
from hudi_table_services.storage.timeline_store import TimelineStore
from support.fixed_clock import FixedClock

SCHEMA = '{"type":"record","name":"r","fields":[]}'


def table_properties(version: TableVersion = TableVersion.V6) -> dict[str, str]:
    return {
        "hoodie.table.name": "trips",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": str(int(version)),
        "hoodie.timeline.layout.version": str(int(version.layout)),
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "city",
        "hoodie.table.timeline.timezone": "UTC",
    }


def base_file_name(file_id: str, instant_time: str, token: str = "0-1-0") -> str:
    return f"{file_id}_{token}_{instant_time}.parquet"


@dataclass
class SmallTable:
    """A new table, and the steps with which a writer changes it."""

    storage: Storage
    version: TableVersion = TableVersion.V6
    clock: FixedClock = field(default_factory=FixedClock)
    more_properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        create_table(self.storage, self.properties, self.clock)

    @classmethod
    def existing(cls, storage: Storage, version: TableVersion, clock: FixedClock) -> Self:
        """Open a table that exists already. The constructor would create a table."""
        table = cls.__new__(cls)
        table.storage, table.version, table.clock, table.more_properties = storage, version, clock, {}
        return table

    @property
    def properties(self) -> dict[str, str]:
        return {**table_properties(self.version), **self.more_properties}

    @property
    def config(self) -> TableConfig:
        return TableConfig(self.properties)

    @property
    def timeline_store(self) -> TimelineStore:
        return TimelineStore(self.storage, self.config, self.clock)

    def begin(self, action: Action = Action.COMMIT, plan: bytes = b"") -> Instant:
        store = self.timeline_store
        return store.start(store.request(action, plan))

    def add_file(self, partition_path: str, name: str, data: bytes = b"PAR1") -> str:
        folder = f"{partition_path}/" if partition_path else ""
        metafile = f"{folder}.hoodie_partition_metadata"
        if not self.storage.exists(metafile):
            depth = len(partition_path.split("/")) if partition_path else 0
            self.storage.create(metafile, encode_partition_metadata("0", depth, self.clock.now()))
        self.storage.write(folder + name, data)
        return folder + name

    def commit(
        self,
        *groups: FileGroupId,
        replaces: Mapping[str, tuple[str, ...]] | None = None,
        schema: str | None = SCHEMA,
        extra: Mapping[str, str] | None = None,
        rows: int = 0,
        data: bytes = b"PAR1",
    ) -> Instant:
        """Commit a write with a base file for each of the file groups.

        Args:
            rows: number of rows of each file, according to its write stat.
        """
        pending = self.begin(Action.COMMIT if replaces is None else Action.REPLACE_COMMIT)
        stats: dict[str, tuple[WriteStat, ...]] = {}
        for group in groups:
            name = base_file_name(group.file_id, pending.requested_time)
            path = self.add_file(group.partition_path, name, data)
            stat = WriteStat(
                file_id=group.file_id,
                partition_path=group.partition_path,
                path=path,
                num_writes=rows,
                file_size_bytes=len(data),
            )
            stats[group.partition_path] = (*stats.get(group.partition_path, ()), stat)
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats=stats,
            extra_metadata={**({"schema": schema} if schema else {}), **(extra or {})},
            partition_to_replace_file_ids=replaces,
        )
        return self.timeline_store.complete(pending, encode_commit_metadata(metadata, self.version))
