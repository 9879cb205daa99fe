"""Find the newest file slice of each file group in a partition of a metadata table."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import file_group_number
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.storage.file_slices import Visibility, latest_slices
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import StoredObject
from hudi_table_services.storage.table_store import METADATA_TABLE

_EXTENSION = ".hfile"


def partition_slices(
    table: MetadataTable, partition: str, files: Iterable[StoredObject] | None = None
) -> tuple[FileSlice, ...]:
    """Return the newest slice of each file group, sorted by the numbers of the file groups.

    The result is empty if the partition does not exist. A base file (from table version 8 on, also a log file) is
    visible if its instant is completed on the timeline of the metadata table, or is older than the first active instant
    of this timeline. `counted_instants` determines which blocks of the log files are valid.

    Args:
        files: files of the partition's folder, if the caller has just listed it.

    Raises:
        CorruptTableError: a file group is missing, or a file has a name that is not valid in a metadata table.
        UnsupportedTableError: a base file is not an HFile.
    """
    if files is None:
        files = table.storage.list_folder(partition).files
    visibility = Visibility.of(table.timeline, has_own_log_instants=table.has_own_log_instants)
    slices = latest_slices(partition, files, visibility, (), _Written(table).pick)
    for found in slices:
        if found.base_file is not None and found.base_file.extension != _EXTENSION:
            raise UnsupportedTableError(
                f"{METADATA_TABLE}/{found.base_file_path}: base files of metadata tables are HFiles.",
            )
    return _in_order(partition, slices)


def _in_order(partition: str, slices: Iterable[FileSlice]) -> tuple[FileSlice, ...]:
    """Sort slices by the numbers of their file groups, and refuse missing file groups.

    Readers compute the file group of a key from the number of file groups. If a file group were missing, they would
    search in the wrong file group.
    """
    numbered: dict[str, dict[int, FileSlice]] = defaultdict(dict)
    for file_slice in slices:
        file_id = file_slice.file_group_id.file_id
        number = file_group_number(file_id)
        if number is None:
            raise _corrupt(partition, f"a file group with the invalid id {file_id!r}")
        numbered[file_id.removesuffix("-0").rpartition("-")[0]][number] = file_slice
    for start, found in numbered.items():
        if sorted(found) != list(range(len(found))):
            raise _corrupt(partition, f"only the file groups {sorted(found)} of {start}")
    return tuple(found[number] for _, found in sorted(numbered.items()) for number in sorted(found))


def _corrupt(partition: str, what: str) -> CorruptTableError:
    path = join_path(METADATA_TABLE, partition)
    return CorruptTableError(
        f"{path} contains {what}.",
        path=path,
        hint="Build the metadata table again with rebuild_metadata_table.py.",
    )


class _Written:
    """Selects the file that the commit of the metadata table names, if retried tasks left several base files."""

    def __init__(self, table: MetadataTable) -> None:
        self._table = table

    def pick(self, partition: str, candidates: Collection[BaseFile]) -> BaseFile:
        ordered = sorted(candidates, key=lambda base: base.file_name, reverse=True)
        for instant in self._table.timeline.completed_writes:
            if instant.requested_time == ordered[0].instant_time:
                metadata = self._table.commit_metadata(instant)
                paths = {stat.path for stat in metadata.write_stats}
                named = [base for base in ordered if join_path(partition, base.file_name) in paths]
                return (named or ordered)[0]
        return ordered[0]
