"""Choose which partitions the metadata table of a new table gets. The functions need no pyarrow."""

from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS
from hudi_table_services.model.schema import StructType, without_meta_columns
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings, NewIndexes
from hudi_table_services.planning.metadata_table.index_choice import (
    DEFAULT_MAX_COLUMNS,
    column_stats_definition,
)
from hudi_table_services.planning.metadata_table.new_indexes import new_partitions


def require_creatable(config: TableConfig, schema: StructType, metadata: MetadataTableSettings) -> None:
    """Refuse settings for a new table if its metadata table cannot be created with these settings.

    Jobs call this function before they create the table.

    Args:
        config: properties of the new table.
        schema: columns of the new table, with or without meta columns.

    Raises:
        InvalidRequestError: the settings list the columns that get statistics, and the table lacks one of these
            columns, or the table version cannot store the list.
    """
    indexes = metadata.new_indexes
    if metadata.enable is False or COLUMN_STATS not in wanted_partitions(config, indexes):
        return
    column_stats_definition(
        without_meta_columns(schema),
        config.table_version,
        columns=indexes.settings.columns,
        max_columns=indexes.settings.max_columns or DEFAULT_MAX_COLUMNS,
    )


def wanted_partitions(config: TableConfig, indexes: NewIndexes) -> tuple[str, ...]:
    """Return the names of the partitions that a new metadata table gets."""
    return new_partitions(config.table_version, indexes, is_partitioned=bool(config.partition_fields))
