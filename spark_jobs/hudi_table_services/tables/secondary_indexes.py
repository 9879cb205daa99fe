"""Check the secondary indexes of a table before a job changes the table."""

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.planning.metadata_table.secondary_indexes import (
    is_secondary_index,
    require_indexable,
    secondary_indexes,
)
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot


def require_updatable_secondary_indexes(storage: Storage, config: TableConfig) -> None:
    """Refuse secondary indexes that jobs cannot update.

    Raises:
        CorruptTableError: an index has no definition, or the definitions or the schema cannot be read.
        UnsupportedTableError: the table has no record index, or an index has an unsupported definition or column.
    """
    if not any(map(is_secondary_index, config.metadata_partitions)):
        return
    definitions = read_index_definitions(storage)
    indexes = secondary_indexes(config.metadata_partitions, definitions, config.table_version)
    schema_json = load_snapshot(storage, (), config=config).schema_json
    if schema_json:
        require_indexable(indexes, from_avro_json(schema_json))


def refused_secondary_index(storage: Storage, config: TableConfig) -> str:
    """Why jobs cannot update a secondary index, with a hint; empty if jobs can update all secondary indexes."""
    try:
        require_updatable_secondary_indexes(storage, config)
    except (UnsupportedTableError, CorruptTableError) as error:
        return f"{error.message} {error.hint}".strip()
    return ""
