"""List the partitions and files of a table from its metadata table.

A wrong listing would lose rows without an error. So the result is either a complete listing, or the reason why the
metadata table cannot be used. In the second case, the caller lists folders (`storage.file_listing`). The two kinds of
listings are never mixed.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES
from hudi_table_services.hudi_format.metadata_table.keys import ALL_PARTITIONS, partition_of_files_key
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.metadata_table import Listing, MetadataRecord, RecordType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_path import is_inside_table, may_hold_data
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table.checked_partition import (
    CheckedPartition,
    open_checked_partition,
)
from hudi_table_services.storage.metadata_table.unusable import (
    Reason,
    UnusableError,
    UnusableMetadataTable,
    some,
    usable_or_reason,
)
from hudi_table_services.storage.stores.storage import Storage, StoredObject

_UNKNOWN_TIME_MS = 0


@dataclass(frozen=True, slots=True)
class ListedTable:
    """The table as its metadata table lists it.

    Attributes:
        files: partition path → data files of completed instants, sorted by path, as `list_partitions` returns them.
            There are three differences. Files of instants that are not completed are missing, and so are files other
            than data files, for example partition metadata files. Sizes are those that the writers recorded.
            `modified_ms` is 0, because it is not recorded: do not use this listing to find old files.
    """

    files: Mapping[str, tuple[StoredObject, ...]]


ListingOutcome: TypeAlias = ListedTable | UnusableMetadataTable


def list_from_metadata_table(
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    clock: Clock,
    partitions: Collection[str] | None = None,
) -> ListingOutcome:
    """List the table from the partition `files`. Read a few objects, and two for each write since the last compaction.

    The listing shows the state of `timeline`. It is refused if the metadata table contradicts the timeline, cannot be
    read, or lost a file that its own timeline names. The listing does not show whether the listed files exist. Damage
    that leaves a file readable is not detected, because Hudi's native HFiles have no checksums except those of gzip.

    All records of `files` are in memory at once, even if only some partitions are wanted.

    Args:
        config: properties of the table. The caller may read them before or after the timeline.
        timeline: active timeline of the table. It must be loaded before this call.
        partitions: list only these partitions; partitions that do not exist are left out. None lists all partitions.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """

    def read() -> ListedTable:
        return _listed(open_checked_partition(storage, config, timeline, clock, FILES), partitions)

    return usable_or_reason(read)


def _listed(found: CheckedPartition, partitions: Collection[str] | None) -> ListedTable:
    if len(found.slices) != 1:
        raise UnusableError(Reason.DAMAGED, f"`files` has {len(found.slices)} file groups, not one.")
    table, file_slice = found.table, found.slices[0]
    visibility = Visibility.of(table.data_timeline, has_own_log_instants=table.has_own_log_instants)
    listings = _listings(found.reader.records_of(file_slice, found.changes_of(file_slice)))
    return ListedTable(
        {
            path: _stored(path, listing, visibility)
            for path, listing in sorted(listings.items())
            if partitions is None or path in partitions
        }
    )


def _listings(records: Iterable[MetadataRecord]) -> Mapping[str, Listing]:
    """Map each partition path to its list of files.

    Raises:
        MalformedMetadataError: the records contradict each other, or contain a path that is not below the base path.
    """
    names: Mapping[str, object] | None = None
    found: dict[str, Listing] = {}
    for record in records:
        listing = record.payload
        is_all = record.key == ALL_PARTITIONS
        if not isinstance(listing, Listing) or is_all is not (
            record.record_type is RecordType.ALL_PARTITIONS
        ):
            raise MalformedMetadataError(
                f"`files` of the metadata table has a record {record.key[:80]!r} of type {record.record_type.name}."
            )
        if is_all:
            names = listing.files
        else:
            found[record.key] = listing
    if names is None:
        raise MalformedMetadataError("`files` of the metadata table has no record of all partitions.")
    _check(names, found)
    return {partition_of_files_key(key): found[key] for key in names}


def _check(names: Collection[str], found: Mapping[str, Listing]) -> None:
    without_list = [name for name in names if name not in found]
    without_name = [key for key, listing in found.items() if listing.files and key not in names]
    if without_list or without_name:
        raise MalformedMetadataError(
            "`files` of the metadata table is inconsistent. Partitions that it names without a list of files: "
            f"{some(without_list)}. Partitions whose files it lists without naming them: {some(without_name)}."
        )
    for key in names:
        bad = [name for name in found[key].files if "/" in name or not is_inside_table(name)]
        if bad or not may_hold_data(partition_of_files_key(key)):
            raise MalformedMetadataError(
                f"`files` of the metadata table has an invalid path: partition {key[:80]!r}, files {some(bad)}."
            )


def _stored(path: str, listing: Listing, visibility: Visibility) -> tuple[StoredObject, ...]:
    prefix = f"{path}/" if path else ""
    return tuple(
        StoredObject(prefix + name, file.size_bytes, _UNKNOWN_TIME_MS)
        for name, file in sorted(listing.files.items())
        if _is_visible(name, visibility)
    )


def _is_visible(name: str, visibility: Visibility) -> bool:
    """Whether readers see a file.

    In table version 6, all log files are visible, because their names do not contain the instant that wrote them.
    """
    if name.startswith(".") and not visibility.has_own_log_instants:
        return True
    instant_time = instant_in_file_name(name)
    return instant_time is not None and visibility.sees(instant_time)
