"""Golden tables as complete tables, and calls that build their metadata tables."""

from collections.abc import Collection
from uuid import uuid4

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.drop import drop_partitions
from hudi_table_services.commits.metadata_table_building.rebuild import BuildResult, build_metadata_table
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata
from hudi_table_services.hudi_format.table_properties import encode_properties
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import PROPERTIES, read_table_config
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.small_tables import table_properties
from support.statistics_golden import METADATA_TABLE as RECORDS
from support.statistics_golden import TIMELINE, statistics_table

PARTITION_COLUMN = "region"


def table_with_statistics(version: TableVersion, storage: Storage | None = None) -> Storage:
    """The golden table with data files, without its metadata table."""
    storage = storage or MemoryStorage(uuid4().hex)
    golden, clock = statistics_table(version), FixedClock()
    properties = {**table_properties(version), "hoodie.table.partition.fields": PARTITION_COLUMN}
    storage.write(PROPERTIES, encode_properties(properties, saved_at=clock.now()))
    for name, content in golden.contents.items():
        if name.startswith(TIMELINE):
            storage.write(f"{version.layout.timeline_folder}/{name.removeprefix(TIMELINE)}", content)
        elif not name.startswith(RECORDS) and name != "index.json":
            storage.write(name, content)
            metafile = f"{name.partition('/')[0]}/.hoodie_partition_metadata"
            storage.write(metafile, encode_partition_metadata("0", 1, clock.now()))
    return storage


def access(storage: Storage, clock: Clock | None = None) -> TableAccess:
    return TableAccess(storage=storage, clock=clock or FixedClock(), config=read_table_config(storage))


def build(
    storage: Storage, *wanted: str, settings: BuildSettings | None = None, clock: Clock | None = None
) -> BuildResult:
    """Build partitions under the table lock."""
    with FileSystemLock(storage) as lock:
        reader = DataFileReader(storage)
        return build_metadata_table(access(storage, clock), wanted, settings or BuildSettings(), reader, lock)


def drop(storage: Storage, *names: Collection[str]) -> tuple[str, ...]:
    """Drop partitions under the table lock."""
    with FileSystemLock(storage) as lock:
        return drop_partitions(access(storage), names, lock)


def opened(storage: Storage) -> MetadataTable:
    return open_metadata_table(storage, read_table_config(storage), FixedClock())


def records_in(storage: Storage, partition: str) -> dict[str, MetadataRecord]:
    """Records of a partition of the metadata table, without the names of the files that contain them."""
    found = MetadataPartition(opened(storage), partition).records()
    return {r.key: MetadataRecord(key=r.key, record_type=r.record_type, payload=r.payload) for r in found}
