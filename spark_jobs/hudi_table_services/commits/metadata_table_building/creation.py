"""Create the metadata table of a table that has none, after a write with ``hoodie.metadata.enable=true``."""

import logging

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.rebuild import build_metadata_table
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.keys.metadata_table import (
    CREATE_PARTITIONED_RECORD_INDEX,
    CREATE_RECORD_INDEX,
)
from hudi_table_services.options.metadata_settings_values import NewIndexes
from hudi_table_services.planning.metadata_table.build_plan import BUILD_ORDER, default_partitions
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_REBUILD = "rebuild_metadata_table.py"


def create_if_wanted(table: TableAccess, lock: TableLock) -> None:
    """Create the metadata table if the request wants one and the table has none. Call this under the table lock.

    Hudi creates the metadata table before the first write. Here the write is completed first, so a creation that fails
    or dies does not matter for the write: the next write tries again. While other writes are pending, no metadata table
    is created. The record index needs Spark, so it is not created.
    """
    if table.metadata.enable is not True:
        return
    try:
        config = read_table_config(table.storage)
        if config.metadata_partitions or config.inflight_metadata_partitions:
            return
        wanted = new_partitions(config, table.metadata.new_indexes)
        reader = DataFileReader(table.storage)
        build_metadata_table(table, wanted, BuildSettings(), reader, lock)
    except HudiTableServiceError as failure:
        _LOG.warning("The metadata table was not created (%s); the next write tries again.", failure)
        return
    new = table.metadata.new_indexes
    if new.record_index or new.partitioned_record_index:
        kind = CREATE_PARTITIONED_RECORD_INDEX if new.partitioned_record_index else CREATE_RECORD_INDEX
        _LOG.warning(
            "The metadata table was created without a record index. Run %s --partitions record_index with %s=true.",
            _REBUILD,
            kind,
        )


def new_partitions(config: TableConfig, indexes: NewIndexes) -> tuple[str, ...]:
    """Partitions of a new metadata table, in the order in which they are built."""
    is_partitioned = bool(config.partition_fields)
    names = {FILES, *default_partitions(config.table_version, is_partitioned=is_partitioned)}
    if indexes.column_stats is False:
        names -= {COLUMN_STATS, PARTITION_STATS}
    if indexes.column_stats:
        names.add(COLUMN_STATS)
        if is_partitioned and config.table_version >= TableVersion.V8:
            names.add(PARTITION_STATS)
    if indexes.bloom_filters:
        names.add(BLOOM_FILTERS)
    return tuple(name for name in BUILD_ORDER if name in names)
