"""Tables whose data files are in folders and in a metadata table. Writes followed its last compaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import (
    FIRST,
    SmallMetadataTable,
    all_partitions,
    files,
    moment,
)
from support.small_tables import SCHEMA, base_file_name

_METAFILE = ".hoodie_partition_metadata"


@dataclass(frozen=True)
class ListedTable:
    """A table. The helper in the attribute `table` changes the metadata table.

    Attributes:
        partitions: paths of the partitions.
    """

    table: SmallMetadataTable
    partitions: tuple[str, ...]

    @property
    def storage(self) -> Storage:
        return self.table.storage

    def metadata_files(self, name_part: str) -> list[str]:
        """Return the paths of the files in the partition `files` whose names contain this string."""
        listed = self.storage.list_files(f"{METADATA_TABLE}/files")
        return [stored.path for stored in listed if name_part in stored.name]


def short_id(path: str, number: int) -> str:
    return f"g{number}-0"


def listed_table(
    version: TableVersion,
    *,
    partitions: int,
    files_each: int,
    writes: int = 3,
    storage: Storage | None = None,
    file_id: Callable[[str, int], str] = short_id,
) -> ListedTable:
    """A table after one write of all files, a compaction of the metadata table, and further writes.

    Each further write adds a version of the first file of one partition, and a file with a new id.

    Args:
        file_id: returns the id of a file from its partition and number.
    """
    table = SmallMetadataTable(version) if storage is None else SmallMetadataTable(version, storage=storage)
    paths = tuple(f"year={2000 + n // 100}/n={n:04d}" for n in range(partitions))
    first = moment(1)
    sizes = {
        path: {base_file_name(file_id(path, n), first): n + 1 for n in range(files_each)} for path in paths
    }
    _put(table.storage, sizes)
    table.own(FIRST, files=[table.base(FIRST, [all_partitions()])])
    table.own(first)
    table.data(first, content=_commit(version))
    compaction = f"{first}001" if version is TableVersion.V6 else moment(5)
    records = [all_partitions(*paths), *(files(path, names) for path, names in sizes.items())]
    table.own(compaction, Action.COMMIT, files=[table.base(compaction, records)])
    for number in range(writes):
        path = paths[number % partitions]
        _write(table, compaction, path, {file_id(path, 0): 5, f"new{number}-0": 6}, number)
    return ListedTable(table, paths)


def _write(
    table: SmallMetadataTable, compaction: str, path: str, sizes: Mapping[str, int], number: int
) -> None:
    time = moment(10 * (number + 1))
    names = {base_file_name(file_id, time): size for file_id, size in sizes.items()}
    _put(table.storage, {path: names})
    block = table.records(time, all_partitions(path), files(path, names))
    if table.version is TableVersion.V6:
        name = table.log(compaction, block, version=number + 1)
    else:
        name = table.log(time, block)
    table.own(time, files=[name])
    table.data(time, content=_commit(table.version))


def _put(storage: Storage, sizes: Mapping[str, Mapping[str, int]]) -> None:
    for path, names in sizes.items():
        metafile = encode_partition_metadata("0", len(path.split("/")), FixedClock().now())
        storage.write(f"{path}/{_METAFILE}", metafile)
        for name, size in names.items():
            storage.write(f"{path}/{name}", bytes(size))


def _commit(version: TableVersion) -> bytes:
    extra = {"schema": SCHEMA}
    operation = WriteOperation.UPSERT
    metadata = CommitMetadata(operation_type=operation, partition_to_write_stats={}, extra_metadata=extra)
    return encode_commit_metadata(metadata, version)
