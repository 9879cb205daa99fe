"""List the partitions and files of a table from its metadata table, wholly or not at all.

A wrong listing loses rows without an error. So the result is either the listing, or the reason why the metadata table
cannot be used; then the caller lists folders (`storage.file_listing`). The two are never mixed.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from hudi_table_services.errors import (
    CorruptTableError,
    MalformedMetadataError,
    ObjectNotFoundError,
    TableNotFoundError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES
from hudi_table_services.hudi_format.metadata_table.keys import ALL_PARTITIONS, partition_of_files_key
from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.metadata_table import Listing, MetadataRecord, RecordType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_path import is_inside_table, may_hold_data
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.counted_instants import counted_instants
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import BY_PATH, Storage, StoredObject

_UNKNOWN_TIME_MS = 0
_SHOWN = 3


class Reason(Enum):
    """Why a metadata table cannot be used for a listing."""

    NOT_LISTED = "the properties of the table do not list its partition `files`"
    BEING_BUILT = "a writer is building its partition `files`"
    ABSENT = "the properties of the table list it, but it does not exist"
    UNSUPPORTED = "it has a version, codec or kind of block that this release does not read"
    DAMAGED = "files of it are damaged, lost or contradict each other"
    BEHIND = "it lacks completed instants of the table"
    AHEAD = "it has instants that the table does not have"
    CHANGED = "a writer deleted a file of it during the reading"


@dataclass(frozen=True, slots=True)
class ListedTable:
    """The table as its metadata table lists it.

    Attributes:
        files: partition path → data files of completed instants, sorted by path, as `list_partitions` returns them.
            Three things differ. Files of instants that are not completed, and files that are no data files, are
            missing, for example partition metadata files. Sizes are those that the writers recorded. `modified_ms` is
            0, because it is not recorded: do not use this listing to find old files.
    """

    files: Mapping[str, tuple[StoredObject, ...]]


@dataclass(frozen=True, slots=True)
class UnusableMetadataTable:
    """The table cannot be listed from its metadata table.

    Attributes:
        message: sentence with the details, for logs and reports.
        path: the file that is the cause, relative to the base path; empty if it is not one file.
    """

    reason: Reason
    message: str
    path: str = ""


ListingOutcome: TypeAlias = ListedTable | UnusableMetadataTable


class _UnusableError(Exception):
    """Ends the listing. It does not leave this module."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def list_from_metadata_table(
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    clock: Clock,
    partitions: Collection[str] | None = None,
) -> ListingOutcome:
    """List the table from `files`, in a few requests and two for each write since the last compaction.

    The listing is that of the given timeline. It is refused if the metadata table contradicts the timeline, cannot be
    read, or lost a file that its timeline names. It does not show whether the listed files exist, and it cannot notice
    damage that leaves a file readable, because Hudi's native HFiles have no checksums beside those of gzip.

    All records of `files` are in memory at once, even if only some partitions are wanted.

    Args:
        config: properties of the table, read before the timeline or after it.
        timeline: active timeline of the table. It must be loaded before this call.
        partitions: list only these partitions; those that do not exist are left out. None lists all partitions.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """
    if FILES in config.inflight_metadata_partitions:
        return UnusableMetadataTable(Reason.BEING_BUILT, f"A writer is building the partition `{FILES}`.")
    if FILES not in config.metadata_partitions:
        return UnusableMetadataTable(
            Reason.NOT_LISTED, f"The properties of the table do not list the partition `{FILES}`."
        )
    try:
        table = open_metadata_table(storage, config, clock, data_timeline=timeline)
        return ListedTable(_listed(table, partitions))
    except _UnusableError as error:
        return UnusableMetadataTable(error.reason, str(error))
    except TableNotFoundError as error:
        return UnusableMetadataTable(Reason.ABSENT, error.message)
    except UnsupportedTableError as error:
        return UnusableMetadataTable(Reason.UNSUPPORTED, error.message, error.path)
    except CorruptTableError as error:
        return UnusableMetadataTable(Reason.DAMAGED, error.message, error.path)
    except ObjectNotFoundError as error:
        return UnusableMetadataTable(Reason.CHANGED, error.message, error.path)


def _listed(
    table: MetadataTable, partitions: Collection[str] | None
) -> Mapping[str, tuple[StoredObject, ...]]:
    missing = completeness.missing_instants(table)
    if missing:
        raise _UnusableError(Reason.BEHIND, f"{_some(missing)} of the table are not in the metadata table.")
    visibility = Visibility.of(table.data_timeline, has_own_log_instants=table.has_own_log_instants)
    listings = _listings(_read(table))
    return {
        path: _stored(path, listing, visibility)
        for path, listing in sorted(listings.items())
        if partitions is None or path in partitions
    }


def _read(table: MetadataTable) -> list[MetadataRecord]:
    """All records of `files`, from a slice that has what its timeline says."""
    present = table.storage.list_folder(FILES).files
    slices = partition_slices(table, FILES, present)
    if len(slices) != 1:
        raise _UnusableError(Reason.DAMAGED, f"`files` has {len(slices)} file groups, not one.")
    unexplained = completeness.unexplained_instants(table, slices[0])
    if unexplained:
        raise _UnusableError(
            Reason.AHEAD, f"{_some(unexplained)} of the metadata table are not on the timeline of the table."
        )
    expected = completeness.expected_files(table, FILES)
    lost = completeness.lost_files(expected, present)
    if lost:
        raise _UnusableError(
            Reason.DAMAGED, f"Files of `files` do not exist or are too short: {_some(lost)}."
        )
    counted = counted_instants(
        table.data_timeline, table.timeline, has_own_log_instants=table.has_own_log_instants
    ) - completeness.later_instants(table)
    partition = MetadataPartition(table, FILES, slices=slices, counted=counted)
    changes = partition.changes_of(slices[0])
    unread = {f.instant_time for f in expected if f.is_log and f.instant_time in counted} - changes.instants
    if unread:
        raise _UnusableError(
            Reason.DAMAGED, f"{_some(unread)} wrote log files of `files`, but these have no block of them."
        )
    return list(partition.records_of(slices[0], changes))


def _listings(records: Iterable[MetadataRecord]) -> Mapping[str, Listing]:
    """Lists of files by partition path.

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
            f"`files` of the metadata table names the partitions {_some(without_list)} without a list of files, and "
            f"has lists of {_some(without_name)}, which are not among all partitions."
        )
    for key in names:
        bad = [name for name in found[key].files if "/" in name or not is_inside_table(name)]
        if bad or not may_hold_data(partition_of_files_key(key)):
            raise MalformedMetadataError(
                f"`files` of the metadata table has an invalid path: partition {key[:80]!r}, files {_some(bad)}."
            )


def _stored(path: str, listing: Listing, visibility: Visibility) -> tuple[StoredObject, ...]:
    files = (
        StoredObject(join_path(path, name), file.size_bytes, _UNKNOWN_TIME_MS)
        for name, file in listing.files.items()
        if _is_visible(name, visibility)
    )
    return tuple(sorted(files, key=BY_PATH))


def _is_visible(name: str, visibility: Visibility) -> bool:
    """Whether the instant of a file is completed. In table version 6, names of log files do not contain it."""
    if name.startswith(".") and not visibility.has_own_log_instants:
        return True
    instant_time = instant_in_file_name(name)
    return instant_time is not None and visibility.sees(instant_time)


def _some(names: Collection[str]) -> str:
    shown = sorted(names)[:_SHOWN]
    more = len(names) - len(shown)
    return (", ".join(shown) or "none") + (f" and {more} more" if more else "")
