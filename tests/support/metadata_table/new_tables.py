"""Tables without commits, whose first write creates a metadata table, and settings of this creation."""

from collections.abc import Mapping
from uuid import uuid4

from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, FILES, PARTITION_STATS
from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE, encode_partition_metadata
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.metadata_settings import metadata_table_settings
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.option import OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config, update_properties
from support.metadata_table.maintained_tables import (
    SCHEMA,
    files_in,
    listed_files,
    listing,
    ticking,
    visible_files,
)
from support.small_tables import SmallTable

DEFAULTS = {
    TableVersion.V6: {FILES},
    TableVersion.V8: {FILES, COLUMN_STATS, PARTITION_STATS},
    TableVersion.V9: {FILES, COLUMN_STATS, PARTITION_STATS},
}
"""Partitions of a metadata table that Hudi creates by default."""


def settings(keys: Mapping[str, str]) -> MetadataTableSettings:
    """Settings of a request with these keys, which are written here without ``hoodie.metadata.``."""
    given = {f"hoodie.metadata.{key}": value for key, value in keys.items()}
    named, _ = known_options(given, OptionGroup.WRITES)
    return metadata_table_settings(OptionReader(named))


OFF, ON = settings({"enable": "false"}), settings({"enable": "true"})


def new_table(version: TableVersion, *, is_partitioned: bool = True) -> SmallTable:
    table = SmallTable(MemoryStorage(uuid4().hex), version, ticking())
    changes = {"hoodie.table.create.schema": SCHEMA}
    if not is_partitioned:
        changes["hoodie.table.partition.fields"] = ""
    update_properties(table.storage, changes, table.clock)
    for path in "abc":
        table.storage.write(
            f"{path}/{PARTITION_METAFILE}", encode_partition_metadata("0", 1, table.clock.now())
        )
    return table


def partitions(storage: Storage) -> set[str]:
    return set(read_table_config(storage).metadata_partitions)


def assert_listed(storage: Storage) -> None:
    outcome = listing(storage)
    assert isinstance(outcome, ListedTable), outcome
    assert files_in(listed_files(outcome)) == files_in(visible_files(storage))
