"""Define new indexes, and choose the columns with statistics (HoodieTableMetadataUtil.getColumnsToIndex, Hudi 1.2)."""

from collections.abc import Sequence

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, RECORD_INDEX
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.schema import META_COLUMNS, DecimalType, StructType, with_meta_columns
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.indexed_columns import indexed_columns
from hudi_table_services.planning.metadata_table.partitioned_record_index import IS_PARTITIONED

DEFAULT_MAX_COLUMNS = 32

_ALWAYS_INDEXED = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")
_V1, _V2 = "V1", "V2"


def column_stats_definition(
    schema: StructType,
    version: TableVersion,
    *,
    columns: Sequence[str] = (),
    max_columns: int = DEFAULT_MAX_COLUMNS,
) -> IndexDefinition | None:
    """Return the definition of a new index `column_stats`; None in table version 6, which indexes every column.

    As in Hudi, columns of types without statistics are left out. In version 8, decimals are left out, too.

    Args:
        schema: columns of the table.
        columns: columns to index besides three meta columns. Empty means the first columns of the table.
        max_columns: number of columns to index if `columns` is empty.

    Raises:
        InvalidRequestError: the table does not have a column, or table version 6 cannot store the list of columns.
    """
    if version < TableVersion.V8:
        if columns:
            raise InvalidRequestError(
                f"Tables of version {version.value} do not store which columns have statistics.",
                hint="Leave the list of columns out: all columns get statistics.",
            )
        return None
    for name in columns:
        with_meta_columns(schema).at_path(name)
    chosen = columns or tuple(name for name in schema.names if name not in META_COLUMNS)
    chosen = tuple(name for name in chosen if name not in _ALWAYS_INDEXED)
    wanted = _definition(version, (*_ALWAYS_INDEXED, *chosen))
    supported = [
        column.name
        for column in indexed_columns(schema, wanted)
        if version >= TableVersion.V9 or not isinstance(column.data_type, DecimalType)
    ]
    kept = supported if columns else supported[: len(_ALWAYS_INDEXED) + max_columns]
    return _definition(version, kept)


def record_index_definition(version: TableVersion, *, is_partitioned: bool = False) -> IndexDefinition | None:
    """Return the definition of a new record index; None for tables below version 9, which store no such definition.

    Args:
        is_partitioned: whether the index has file groups for each partition of the table.

    Raises:
        InvalidRequestError: the table version has no partitioned record index.
    """
    if version < TableVersion.V9:
        if is_partitioned:
            raise InvalidRequestError(
                f"Tables of version {version.value} have no partitioned record index.",
                hint=f"Upgrade the table with Hudi to version {TableVersion.V9.value}, or build a record index for the "
                "whole table.",
            )
        return None
    return IndexDefinition(
        name=RECORD_INDEX,
        index_type=RECORD_INDEX,
        function="",
        source_fields=(),
        options={IS_PARTITIONED: "true" if is_partitioned else "false"},
        version=_V1,
    )


def _definition(version: TableVersion, columns: Sequence[str]) -> IndexDefinition:
    return IndexDefinition(
        name=COLUMN_STATS,
        index_type=COLUMN_STATS,
        function=COLUMN_STATS,
        source_fields=tuple(columns),
        options={},
        version=_V2 if version >= TableVersion.V9 else None,
    )
