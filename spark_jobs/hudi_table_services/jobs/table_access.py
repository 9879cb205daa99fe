"""Open the table a job works on, and refuse by name what this release would corrupt."""

from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore

_PARTIAL_UPDATES = "hoodie.table.partial.update.mode"
_MERGE_PROPERTIES = "hoodie.record.merge.property."
_TIMELINE_PATH = "hoodie.timeline.path"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAccess:
    """Storage, configuration and timeline of one table, handed through a job.

    Attributes:
        config: properties as read at the start of the job; for a table about to be created, as they will be.
        exists: whether there is a table at the base path yet.
    """

    storage: Storage
    clock: Clock
    config: TableConfig
    exists: bool = True

    @property
    def timeline_store(self) -> TimelineStore:
        return TimelineStore(self.storage, self.config, self.clock)

    def load_timeline(self) -> Timeline:
        return self.timeline_store.load() if self.exists else Timeline()


def check_name(config: TableConfig, table_name: str) -> None:
    """Raises InvalidRequestError if the request means another table; an empty name means any."""
    if table_name and table_name != config.table_name:
        raise InvalidRequestError(
            f"The table at the base path is called {config.table_name!r}, the request says {table_name!r}.",
            hint="Check the base path, or give the table's own name.",
        )


def check_writable(config: TableConfig, table_name: str, *, metadata_enable: bool | None) -> None:
    """Refuse a table this release cannot write without harm.

    Args:
        table_name: name given in the request; empty: any.
        metadata_enable: ``hoodie.metadata.enable`` if the request gives it.

    Raises:
        InvalidRequestError: the table has another name.
        UnsupportedTableError: names the version or feature, and what can be done.
    """
    check_name(config, table_name)
    if not config.table_version.is_writable:
        raise UnsupportedTableError(
            f"Table version {int(config.table_version)} can be read but not written.",
            hint="Any write by Hudi 0.14 or 0.15 upgrades it to version 6.",
        )
    for feature, present in _refused_features(config).items():
        if present:
            raise UnsupportedTableError(f"The table {feature}, which this release does not write.")
    if _lists_metadata_table(config) and metadata_enable is not False:
        listed = ", ".join(config.metadata_partitions + config.inflight_metadata_partitions)
        raise UnsupportedTableError(
            f"The table has an active metadata table ({listed}); a commit that leaves it stale would lose rows "
            "for every reader that trusts it.",
            hint="Pass hoodie.metadata.enable=false to switch it off before this commit, as Hudi's own writers do "
            "with that option; indexes kept in it have to be built anew by Hudi.",
        )


def _refused_features(config: TableConfig) -> dict[str, bool]:
    return {
        "is merge-on-read": config.table_type is not TableType.COPY_ON_WRITE,
        f"has base files of format {config.base_file_format}": config.base_file_format != "PARQUET",
        "has no meta columns (hoodie.populate.meta.fields=false)": not config.populates_meta_fields,
        "drops partition columns from its files": config.drops_partition_columns,
        "was bootstrapped from other files": bool(config.get("hoodie.bootstrap.base.path")),
        "logs changes for CDC": config.get("hoodie.table.cdc.enabled") == "true",
        f"merges partial updates ({_PARTIAL_UPDATES}={config.get(_PARTIAL_UPDATES)})": config.get(
            _PARTIAL_UPDATES
        )
        not in (None, "", "NONE"),
        f"merges by rules of its own ({_MERGE_PROPERTIES}*)": any(
            key.startswith(_MERGE_PROPERTIES) for key in config.properties
        ),
        f"keeps its timeline at {config.get(_TIMELINE_PATH)}": config.get(_TIMELINE_PATH)
        not in (None, "", "timeline"),
    }


def _lists_metadata_table(config: TableConfig) -> bool:
    return bool(config.metadata_partitions or config.inflight_metadata_partitions)


def must_disable_metadata_table(config: TableConfig) -> bool:
    """Whether a commit by this release has to switch the metadata table off first (see `check_writable`)."""
    return _lists_metadata_table(config)
