"""Access to the table of a job, and checks that refuse tables which this release would corrupt."""

from dataclasses import dataclass

from hudi_table_services.errors import CorruptTableError, InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.table_properties import CHECKSUM
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.metadata_settings import DEFAULT_METADATA_SETTINGS
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.planning.table.refused_features import refused_features
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import PROPERTIES
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.metadata_table import require_maintainable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAccess:
    """Storage, configuration and timeline of one table. A job passes this object to its functions.

    Attributes:
        config: properties as read at the start of the job; for a new table, the properties that it will have.
        exists: whether the base path already contains a table.
        metadata: options of the metadata table.
    """

    storage: Storage
    clock: Clock
    config: TableConfig
    exists: bool = True
    metadata: MetadataTableSettings = DEFAULT_METADATA_SETTINGS

    @property
    def timeline_store(self) -> TimelineStore:
        return TimelineStore(self.storage, self.config, self.clock)

    def load_timeline(self) -> Timeline:
        return self.timeline_store.load() if self.exists else Timeline()


def check_name(config: TableConfig, table_name: str) -> None:
    """Raise InvalidRequestError if the request names another table; an empty name matches any table."""
    if table_name and table_name != config.table_name:
        raise InvalidRequestError(
            f"The table at the base path is called {config.table_name!r}, but the request names {table_name!r}.",
            hint="Check the base path, or give the name of the table at this path.",
        )


def check_writable(
    config: TableConfig,
    table_name: str,
    *,
    updates_metadata: bool,
    merge_on_read: bool = False,
    merges_logs: bool = False,
) -> None:
    """Refuse a table that this release cannot write safely.

    Args:
        table_name: name in the request; an empty name matches any table.
        updates_metadata: whether the job is going to write its change into an active metadata table. False for a job
            that only undoes writes: a write can be removed from every metadata table, so `require_maintainable` need
            not pass.
        merge_on_read: whether the job handles merge-on-read tables.
        merges_logs: whether the job also merges log files.

    Raises:
        InvalidRequestError: the table has another name.
        CorruptTableError: the properties may be truncated.
        UnsupportedTableError: this release cannot write the table; the message names the version or feature.
    """
    check_name(config, table_name)
    if not config.table_version.is_writable:
        raise UnsupportedTableError(
            f"Table version {int(config.table_version)} can be read but not written.",
            hint="Any write by Hudi 0.14 or 0.15 upgrades the table to version 6.",
        )
    if config.get(CHECKSUM) is None:
        raise CorruptTableError(
            f"{PROPERTIES} has no {CHECKSUM}, which every Hudi since 0.11 writes: the file may be truncated.",
            path=PROPERTIES,
            hint="Compare the file with a copy and restore the copy. If the file is complete, any write by Hudi "
            "adds the checksum.",
        )
    for feature in refused_features(config, merge_on_read=merge_on_read, merges_logs=merges_logs):
        raise UnsupportedTableError(f"The table {feature}. This release does not write such tables.")
    if updates_metadata:
        require_maintainable(config)
