"""List the data files of a table from its metadata table, if this takes fewer requests, or else from its folders.

If the metadata table cannot be used, for example because it lacks completed instants, the folders are listed instead.
Planners, sensors, pages and the checks of writes use this module. A listing from the metadata table contains only data
files of completed instants, so the following searches list folders instead (`storage.file_listing`):

- files that belong to no completed instant: orphans, copies of data files in the wrong folder, files that Hudi did not
  write, and files that a rollback deletes. The metadata table does not list these files;
- lost files, and the older files that become the latest files when a rollback deletes newer files: an entry in the
  metadata table does not prove that the file exists;
- files that a clean deletes or protects, and files of a savepoint: an error in the metadata table would delete rows
  permanently, while a wrong plan or page can be computed again. The preview of a clean lists folders too, so that it
  names all files that the clean deletes, for example files of retried tasks.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.metadata_table.table_listing import (
    ListedTable,
    ListingOutcome,
    list_from_metadata_table,
)
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.stores.storage import Storage, StoredObject

_LOG = logging.getLogger(__name__)

FEW_PARTITIONS = 10
"""From this number of wanted partitions on, the metadata table is read, unless the request switches it off.

One folder costs one LIST. The metadata table costs 2 LIST and about 5 GET (its properties, its newest compaction, 3
ranges of the base file), and 2 GET for each write since that compaction. So the metadata table is cheaper from about 10
folders on. A listing of the whole table reads the metadata table, too, because the number of folders is unknown before
they are listed."""


class Source(Enum):
    """Source of a listing."""

    METADATA_TABLE = "metadata table"
    FOLDERS = "folders"


@dataclass(frozen=True, slots=True)
class TableListing:
    """The files of the partitions of a table.

    Attributes:
        files: partition path → files, sorted by path. Files from the metadata table have no time of last change, and
            are only data files of completed instants; see `list_partitions` and `ListedTable`.
        refusal: why the metadata table was not used; None if it was used, or if it was not read at all.
    """

    files: Mapping[str, tuple[StoredObject, ...]]
    source: Source
    refusal: UnusableMetadataTable | None = None


def list_table(
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    clock: Clock,
    partitions: Collection[str] | None = None,
    *,
    metadata_enable: bool | None = None,
) -> TableListing:
    """List a table from its metadata table, or from its folders; never from both.

    If the properties list a metadata table that cannot be used, one warning names the reason.

    Args:
        config: properties of the table. The caller may read them before or after the timeline.
        timeline: active timeline of the table. It must be loaded before this call.
        partitions: list only these partitions; partitions that do not exist are left out. None lists all partitions.
        metadata_enable: ``hoodie.metadata.enable`` of the request; False lists folders.

    Raises:
        StorageError: a request failed for another reason than a missing file.
    """
    if metadata_enable is False or (partitions is not None and len(partitions) < FEW_PARTITIONS):
        return TableListing(list_partitions(storage, partitions), Source.FOLDERS)
    outcome = _from_metadata_table(storage, config, timeline, clock, partitions)
    if isinstance(outcome, ListedTable):
        return TableListing(outcome.files, Source.METADATA_TABLE)
    if outcome.reason not in _UNUSED:
        _warn(storage, outcome)
    return TableListing(list_partitions(storage, partitions), Source.FOLDERS, outcome)


def _from_metadata_table(
    storage: Storage,
    config: TableConfig,
    timeline: Timeline,
    clock: Clock,
    partitions: Collection[str] | None,
) -> ListingOutcome:
    """List the data files from the metadata table. Repeat the listing if a concurrent change may have caused a failure.

    Compaction, cleaning or a rollback can change the metadata table between two requests.
    """
    outcome = list_from_metadata_table(storage, config, timeline, clock, partitions)
    if isinstance(outcome, UnusableMetadataTable) and outcome.reason in _PASSING:
        outcome = list_from_metadata_table(storage, config, timeline, clock, partitions)
    return outcome


def _warn(storage: Storage, refusal: UnusableMetadataTable) -> None:
    where = f" File: {refusal.path}." if refusal.path else ""
    _LOG.warning(
        "The metadata table of %s is not used, and folders are listed instead: %s. %s%s %s",
        storage.uri,
        refusal.reason.value,
        refusal.message,
        where,
        _CURES[refusal.reason],
    )


_UNUSED = frozenset({Reason.NOT_LISTED, Reason.BEING_BUILT})
"""Reasons that cause no warning: the properties do not list the partition as complete, so readers ignore it."""

_PASSING = frozenset({Reason.CHANGED, Reason.DAMAGED, Reason.BEHIND, Reason.AHEAD})
"""Reasons to repeat the listing: a writer may have changed the metadata table during the first listing."""

_REBUILD = (
    "Unless a writer changed the table at the same time, build the metadata table again with "
    "rebuild_metadata_table.py."
)
_CURES: Mapping[Reason, str] = {
    Reason.ABSENT: _REBUILD,
    Reason.DAMAGED: _REBUILD,
    Reason.BEHIND: _REBUILD,
    Reason.AHEAD: _REBUILD,
    Reason.CHANGED: "If this happens often, let the metadata table retain more commits.",
    Reason.UNSUPPORTED: "Build the metadata table again with rebuild_metadata_table.py.",
}
