"""Load the snapshot that planners use: timeline, latest file slices, reserved file groups, schema.

The loader reads only a few files: the properties, the replace commits (for the replaced file groups), the pending
plans, and the latest commit (for the schema). File names provide all other information.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.cycle_collection import paused_cycle_collection
from hudi_table_services.storage.file_slices import Visibility, latest_slices
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.pending_plans import planned_file_groups
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_files import Source, TableListing, list_table
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.archived_completions import with_archived_completions
from hudi_table_services.tables.snapshots.committed_versions import CommittedVersions

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3


@paused_cycle_collection()
def load_snapshot(
    storage: Storage,
    partitions: Collection[str] | None = None,
    *,
    config: TableConfig | None = None,
    metadata_enable: bool | None = None,
    as_of: str | None = None,
) -> TableSnapshot:
    """Load the table as of its latest completed write, or as of an instant.

    Args:
        partitions: partition paths whose file slices are loaded. None loads all partitions. If the collection is empty,
            the loader lists no folder and loads no file slices.
        config: properties that the caller has just read. None means that the loader reads them.
        metadata_enable: ``hoodie.metadata.enable`` of the request. False means that the loader lists folders; otherwise
            `list_table` chooses between the metadata table and the folders. If the metadata table is used, partitions
            without any file of a completed write may be missing.
        as_of: load the slices and the schema of the writes that were requested at or before this time; None for the
            latest state. As in Hudi, a write belongs to the state if it is completed now, even if it completed after
            this time. Slices that a clean has deleted are missing (see `tables.reading.earlier_state`).

    Raises:
        TableNotFoundError, CorruptTableError: see `read_table_config` and `TimelineStore.load`.
        MalformedMetadataError: a replace commit, a pending plan or the latest commit cannot be read.
        UnsupportedTableError: see `with_archived_completions`.
    """
    for attempt in range(_ATTEMPTS):
        try:
            loader = _SnapshotLoader(storage, config or read_table_config(storage), metadata_enable, as_of)
            return loader.load(partitions)
        except ObjectNotFoundError as error:
            # Instants can be archived or rolled back between listing and reading them.
            if attempt == _ATTEMPTS - 1:
                raise
            _LOG.info("The table changed while it was loaded; loading it again: %s", error)
    raise AssertionError("unreachable")


class _SnapshotLoader:
    def __init__(
        self, storage: Storage, config: TableConfig, metadata_enable: bool | None, as_of: str | None
    ) -> None:
        self._storage = storage
        self._config = config
        self._metadata_enable = metadata_enable
        self._as_of = as_of
        self._clock = SystemClock()
        self._store = TimelineStore(storage, config, self._clock)
        self._metadata: dict[Instant, CommitMetadata] = {}

    def load(self, partitions: Collection[str] | None) -> TableSnapshot:
        timeline = self._store.load()
        seen = timeline if self._as_of is None else timeline.until(self._as_of)
        wants_files = partitions is None or len(partitions) > 0
        listing = self._listing(timeline, partitions) if wants_files else None
        return TableSnapshot(
            config=self._config,
            timeline=timeline,
            file_slices=self._file_slices(timeline, seen, listing) if listing is not None else {},
            reserved_file_groups=reserved_file_groups(self._store, timeline),
            schema_json=self._schema_json(seen),
            is_from_metadata_table=listing is not None and listing.source is Source.METADATA_TABLE,
            as_of=self._as_of,
        )

    def _listing(self, timeline: Timeline, partitions: Collection[str] | None) -> TableListing:
        return list_table(
            self._storage,
            self._config,
            timeline,
            self._clock,
            partitions,
            metadata_enable=self._metadata_enable,
        )

    def _file_slices(
        self, timeline: Timeline, seen: Timeline, listing: TableListing
    ) -> Mapping[str, tuple[FileSlice, ...]]:
        has_own_log_instants = self._config.table_version.has_own_log_instants
        visibility = with_archived_completions(
            self._storage,
            self._config,
            Visibility.of(timeline, has_own_log_instants=has_own_log_instants, as_of=self._as_of),
            listing.files.values(),
        )
        replaced = self._replaced(seen)
        written = CommittedVersions(self.metadata_of, timeline)
        return {
            path: latest_slices(path, files, visibility, replaced.get(path, ()), written.pick)
            for path, files in listing.files.items()
        }

    def _replaced(self, timeline: Timeline) -> Mapping[str, set[str]]:
        """Map each partition path to the ids of the file groups that were replaced by completed replace commits."""
        replaces = [i for i in timeline.completed_writes if i.action is Action.REPLACE_COMMIT]
        replaced: dict[str, set[str]] = defaultdict(set)
        for metadata in map_in_parallel(self.metadata_of, replaces):
            for path, file_ids in (metadata.partition_to_replace_file_ids or {}).items():
                replaced[path].update(file_ids)
        return replaced

    def _schema_json(self, timeline: Timeline) -> str | None:
        """Schema in the latest visible write that contains a schema, else the table's create schema."""
        for instant in sorted(timeline.completed_writes, key=lambda i: i.visible_from, reverse=True):
            schema = self.metadata_of(instant).extra_metadata.get("schema")
            if schema:
                return schema
        return self._config.create_schema_json or None

    def metadata_of(self, instant: Instant) -> CommitMetadata:
        if instant not in self._metadata:
            self._metadata[instant] = self._store.commit_metadata(instant)
        return self._metadata[instant]


def reserved_file_groups(store: TimelineStore, timeline: Timeline) -> Mapping[FileGroupId, str]:
    """Map each file group of a pending clustering or compaction plan to the requested time of the plan."""
    return {
        group: instant.requested_time
        for instant in timeline.pending
        for group in planned_file_groups(store, instant)
    }
