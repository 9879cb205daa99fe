"""Check a metadata table before a job changes the table to which it belongs."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH as DEFINITIONS
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.planning.metadata_table.grouping import is_maintained
from hudi_table_services.storage.damage import REBUILD_HINT
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.checked_partition import (
    CheckedPartition,
    check_files,
    check_instants,
)
from hudi_table_services.storage.metadata_table.file_format import read_file_format
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableError, some
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE

_REBUILD = "rebuild_metadata_table.py"
_SHOWN = 3


def used_definitions(
    storage: Storage, partitions: Collection[str], version: TableVersion
) -> Mapping[str, IndexDefinition]:
    """Definitions of the table's indexes; empty if jobs need no definition to update the metadata table.

    Args:
        partitions: partitions of the metadata table.
        version: version of the table.

    Raises:
        MalformedMetadataError: the file with the definitions is damaged.
    """
    has_columns = _defines_columns(partitions, version)
    if not has_columns and file_groups.RECORD_INDEX not in partitions:
        return {}
    return read_index_definitions(storage)


def require_definitions(
    storage: Storage, partitions: Collection[str], version: TableVersion
) -> Mapping[str, IndexDefinition]:
    """As `used_definitions`, but refuse definitions with which jobs cannot update the metadata table.

    Raises:
        MalformedMetadataError: the file with the definitions is damaged.
        CorruptTableError: the table has column statistics, but no definition of them.
    """
    definitions = used_definitions(storage, partitions, version)
    if _defines_columns(partitions, version) and file_groups.COLUMN_STATS not in definitions:
        raise CorruptTableError(
            f"The table has the index {file_groups.COLUMN_STATS}, but {DEFINITIONS} does not define it.",
            path=DEFINITIONS,
            hint=f"Drop and rebuild {file_groups.COLUMN_STATS} with {_REBUILD}.",
        )
    return definitions


def _defines_columns(partitions: Collection[str], version: TableVersion) -> bool:
    """Whether the index `column_stats` needs a definition: table version 6 has no definitions."""
    return file_groups.COLUMN_STATS in partitions and version >= TableVersion.V8


def unmaintained_indexes(config: TableConfig) -> tuple[str, ...]:
    """The indexes in the properties of a table that this release cannot update because of their kind."""
    return tuple(name for name in config.metadata_partitions if not is_maintained(name))


def require_maintainable(config: TableConfig) -> None:
    """Raise UnsupportedTableError if the metadata table has an index that this release cannot update.

    Args:
        config: properties of the table.
    """
    if being_built := config.inflight_metadata_partitions:
        raise UnsupportedTableError(
            f"A writer is building the index {being_built[0]} of the metadata table.",
            hint=f"Wait until the index is built. If its writer is dead, drop the index with {_REBUILD} "
            f"--drop {being_built[0]}.",
        )
    unknown = unmaintained_indexes(config)
    if unknown:
        raise UnsupportedTableError(
            f"The metadata table has the index {unknown[0]}, which this release cannot update; a commit that leaves "
            "the index stale would lose rows for every reader that uses the index.",
            hint=f"Drop this index with {_REBUILD} --drop {unknown[0]}; a write of Hudi with this index builds it "
            f"again. {METADATA_ENABLE}=false switches the whole metadata table off, with all of its indexes.",
        )


def require_current(table: MetadataTable, *, ignore: Collection[str]) -> tuple[FileSlice, ...]:
    """Refuse to add a change to a metadata table that does not match the current table.

    Return the newest slices of the partition `files`.

    Args:
        ignore: requested times of instants that the caller is going to complete.

    The check reads only file names. If the names in the partition `files` do not show that all files of this partition
    exist, it also reads these files.

    Raises:
        CorruptTableError: the metadata table lacks a completed instant of the table, because a writer ignored the
            metadata table; or has an instant that the table does not have; or lost a file of `files`.
    """
    with refusing_unusable("The metadata table cannot be updated"):
        _require_instants(table, ignore)
        present = table.storage.list_folder(file_groups.FILES).files
        slices = partition_slices(table, file_groups.FILES, present)
        check_instants(table, slices)
        if not completeness.names_show_completeness(table, present):
            check_files(table, file_groups.FILES, present)
        return slices


def require_file_groups(table: MetadataTable, *, may_be_empty: Collection[str] = ()) -> None:
    """Before a job writes data, refuse to add a change if the files to which it would be added are lost or damaged.

    This function lists the folder of every partition, and reads the newest log file of `files`. It does not read other
    indexes, because a change does not need them.

    Args:
        may_be_empty: partitions that have no file group if the table has no data.

    Raises:
        CorruptTableError: a partition lost file groups, or the newest file of `files` is damaged.
        UnsupportedTableError: see `partition_slices`.
    """
    found = map_in_parallel(partial(partition_slices, table), table.partitions)
    slices = dict(zip(table.partitions, found, strict=True))
    for name in table.partitions:
        if name not in may_be_empty:
            require_any_group(name, slices[name])
    read_file_format(table, slices.get(file_groups.FILES))


def require_any_group(name: str, slices: Collection[FileSlice]) -> None:
    """Raise CorruptTableError if a partition of the metadata table has no file group.

    Each partition has file groups from its creation on, except a partitioned record index. Keys that are assigned to
    no file group would be lost.
    """
    if not slices:
        raise CorruptTableError(
            f"The partition {name!r} of the metadata table has no file group: its files or its first instant are "
            "lost.",
            path=f"{METADATA_TABLE}/{name}",
            hint=REBUILD_HINT,
        )


def require_intact(table: MetadataTable) -> Mapping[str, CheckedPartition]:
    """Check every partition before a compaction. A compaction of a damaged partition would hide the damage.

    Returns:
        The partitions that readers may use, by name.

    Raises:
        CorruptTableError: as in `require_current`; or a file of any partition is missing or truncated.
        UnsupportedTableError: see `partition_slices`.
    """
    read = cache(table.commit_metadata)
    with refusing_unusable():
        _require_instants(table, ignore=())
        if later := completeness.later_instants(table):
            raise UnusableError(
                Reason.AHEAD, f"{some(later)} of the metadata table are later than all instants of the table."
            )
        found = {}
        for name in table.partitions:
            present = table.storage.list_folder(name).files
            if name == file_groups.FILES:
                check_instants(table, partition_slices(table, name, present))
            found[name] = check_files(table, name, present, read)
        return found


@contextmanager
def refusing_unusable(problem: str = "The metadata table is damaged") -> Iterator[None]:
    """Convert UnusableError to an error that names the file, with a hint to rebuild the metadata table.

    Args:
        problem: beginning of the message.

    Raises:
        CorruptTableError: instead of UnusableError.
    """
    try:
        yield
    except UnusableError as error:
        raise CorruptTableError(
            f"{problem}: {error}",
            path=error.path or METADATA_TABLE,
            hint=f"{REBUILD_HINT} Or switch the metadata table off with {METADATA_ENABLE}=false.",
        ) from error


def _require_instants(table: MetadataTable, ignore: Collection[str]) -> None:
    missing = [time for time in completeness.missing_instants(table) if time not in ignore]
    if not missing:
        return
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    raise CorruptTableError(
        f"The metadata table lacks completed instants of the table: {', '.join(missing[:_SHOWN])}{more}. A writer "
        "ignored the metadata table, and readers that use it lose rows.",
        path=METADATA_TABLE,
        hint=f"Build the metadata table again with {_REBUILD}, or switch it off with {METADATA_ENABLE}=false.",
    )
