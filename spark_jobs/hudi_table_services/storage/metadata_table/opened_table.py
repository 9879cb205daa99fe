"""Open the metadata table of a table: read its properties and its timeline, and the timeline of the table."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from hudi_table_services.errors import CorruptTableError, TableNotFoundError, UnsupportedTableError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.clock import Clock, ClockNotBefore, instant_moment
from hudi_table_services.storage.damage import REBUILD_HINT
from hudi_table_services.storage.metadata_table.folder_storage import FolderStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, PROPERTIES, read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore

_FORMAT = "HFILE"
_MILLISECOND = timedelta(milliseconds=1)
_TIME_ZONE = "hoodie.table.timeline.timezone"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTable:
    """An open metadata table.

    Attributes:
        storage: the files of the metadata table; paths are relative to its folder.
        config: properties of the metadata table itself.
        partitions: partitions of the metadata table that readers may use, according to the properties of the table.
        partitions_being_built: partitions that a writer is building. Readers must not use them, but writers must take
            them into account.
        timeline: active timeline of the metadata table.
        data_timeline: active timeline of the table. It is loaded before `timeline`, because a write completes in the
            metadata table first.
    """

    storage: Storage
    config: TableConfig
    partitions: tuple[str, ...]
    partitions_being_built: tuple[str, ...]
    timeline_store: TimelineStore
    timeline: Timeline
    data_timeline: Timeline

    @property
    def has_own_log_instants(self) -> bool:
        """Whether the name of a log file contains the instant that wrote the file (from table version 8 on)."""
        return self.config.table_version.layout.has_completion_time_in_names

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """As `TimelineStore.commit_metadata`; the path in an error is relative to the base path of the table."""
        with naming_folder():
            return self.timeline_store.commit_metadata(instant)


def open_metadata_table(
    storage: Storage, config: TableConfig, clock: Clock, *, data_timeline: Timeline | None = None
) -> MetadataTable:
    """Open the metadata table of a table.

    Args:
        storage: the table.
        config: properties of the table.
        data_timeline: the table's timeline, if the caller has just loaded it. If None, this function loads it.

    Raises:
        TableNotFoundError: there is no metadata table.
        UnsupportedTableError: the version of the table or of the metadata table is not supported, or the base files of
            the metadata table are not HFiles.
        CorruptTableError: the properties or the timeline of the metadata table cannot be read, or its timeline layout
            differs from the timeline layout of the table.
    """
    if data_timeline is None:
        data_timeline = TimelineStore(storage, config, clock).load()
    folder = FolderStorage(storage, METADATA_TABLE)
    with naming_folder(), _saying_what_is_missing(folder):
        own_config = read_table_config(folder)
        own_clock = _not_behind(clock, data_timeline, config)
        store = TimelineStore(folder, _in_time_zone_of(config, own_config), own_clock)
        timeline = store.load()
    _check(config, own_config)
    return MetadataTable(
        storage=folder,
        config=own_config,
        partitions=config.metadata_partitions,
        partitions_being_built=config.inflight_metadata_partitions,
        timeline_store=store,
        timeline=timeline,
        data_timeline=data_timeline,
    )


def _not_behind(clock: Clock, data_timeline: Timeline, config: TableConfig) -> Clock:
    """Return a clock that only returns times after the newest instant of the table.

    Readers compare the completion times of both timelines, and the timeline of the metadata table does not contain all
    instants of the table.
    """
    newest = max((i.visible_from for i in data_timeline), default="")
    moment = instant_moment(newest, config) if newest else None
    return clock if moment is None else ClockNotBefore(clock, moment + _MILLISECOND)


@contextmanager
def naming_folder() -> Iterator[None]:
    """Make the path in an error about damage relative to the base path of the table, and add `REBUILD_HINT`."""
    try:
        yield
    except CorruptTableError as error:
        path = f"{METADATA_TABLE}/{error.path}" if error.path else ""
        message = f"In the metadata table: {error.message}"
        raise type(error)(message, hint=REBUILD_HINT, path=path) from error


@contextmanager
def _saying_what_is_missing(folder: Storage) -> Iterator[None]:
    """Replace the text about a base path without a table, because its advice is wrong for a metadata table."""
    try:
        yield
    except TableNotFoundError as error:
        raise TableNotFoundError(
            f"There is no metadata table at {folder.uri}: {METADATA_TABLE}/{PROPERTIES} does not exist."
        ) from error


def _in_time_zone_of(config: TableConfig, own: TableConfig) -> TableConfig:
    """Return the properties of the metadata table with the time zone of the table's timeline.

    Readers compare times of both timelines. Hudi stores no time zone in the properties of a metadata table.
    """
    zone = config.get(_TIME_ZONE)
    return own if zone is None else TableConfig({**own.properties, _TIME_ZONE: zone})


def _check(config: TableConfig, own: TableConfig) -> None:
    version, own_version = config.table_version, own.table_version
    if not (version.is_writable and own_version.is_writable):
        raise UnsupportedTableError(
            f"A metadata table of version {own_version.value} in a table of version {version.value} is not supported. "
            "Supported versions: 6, 8 and 9."
        )
    if own_version.layout is not version.layout:
        raise CorruptTableError(
            f"The metadata table has version {own_version.value}, its table has version {version.value}: their "
            "timelines have different layouts.",
            path=f"{METADATA_TABLE}/{PROPERTIES}",
            hint="An upgrade or downgrade of the table was interrupted; finish it with Hudi first.",
        )
    if own.base_file_format != _FORMAT:
        raise UnsupportedTableError(
            f"The base files of the metadata table have the format {own.base_file_format}; supported: {_FORMAT}."
        )
