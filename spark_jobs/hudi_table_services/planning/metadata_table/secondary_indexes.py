"""Read and check the definitions of secondary indexes (HoodieIndexDefinition, HoodieIndexUtils; Hudi 1.2)."""

from collections.abc import Collection, Iterable, Mapping

from hudi_table_services.errors import CorruptTableError, InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX, SECONDARY_INDEX_PREFIX
from hudi_table_services.model.metadata_table import IndexDefinition, SecondaryIndex
from hudi_table_services.model.schema import PrimitiveType, StructType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.partitioned_record_index import is_partitioned_index

INDEXED_TYPES = frozenset({"string", "int", "long", "float", "double", "date", "timestamp"})
"""Types that a column with a secondary index may have (HoodieIndexUtils.isSecondaryIndexSupportedType)."""

_TYPE = "secondary_index"
_V1, _V2 = "V1", "V2"
_SAME_TEXTS = frozenset({"int", "long"})


def is_secondary_index(partition: str) -> bool:
    """Whether a partition of the metadata table has the name of a secondary index."""
    return partition.startswith(SECONDARY_INDEX_PREFIX)


def secondary_indexes(
    partitions: Collection[str], definitions: Mapping[str, IndexDefinition], version: TableVersion
) -> tuple[SecondaryIndex, ...]:
    """Return the secondary indexes among the partitions of a metadata table, in the order of their names.

    Args:
        partitions: partitions that the properties of the table list.
        definitions: definitions of all indexes of the table.

    Raises:
        CorruptTableError: an index has no definition.
        UnsupportedTableError: an index has a definition that Hudi 1.2 does not write, or the table has no global record
            index: none, or a partitioned one.
    """
    names = sorted(filter(is_secondary_index, partitions))
    if names and RECORD_INDEX not in partitions:
        raise UnsupportedTableError(
            f"The metadata table has the index {names[0]}, but no {RECORD_INDEX}. A query of Hudi needs both.",
            hint=f"Build {RECORD_INDEX} with rebuild_metadata_table.py --partitions {RECORD_INDEX}, or drop the index "
            f"with rebuild_metadata_table.py --drop {names[0]}.",
        )
    if names and is_partitioned_index(definitions):
        raise UnsupportedTableError(
            f"The metadata table has the index {names[0]} and a partitioned {RECORD_INDEX}. A secondary index contains "
            "record keys without partitions, so jobs cannot update it for keys that are unique only in a partition.",
            hint=f"Drop the index with rebuild_metadata_table.py --drop {names[0]}.",
        )
    return tuple(secondary_index(name, definitions, version) for name in names)


def secondary_index(
    name: str, definitions: Mapping[str, IndexDefinition], version: TableVersion
) -> SecondaryIndex:
    """Return the secondary index with this name.

    Raises:
        CorruptTableError: the index has no definition.
        UnsupportedTableError: the definition has another index type, not exactly one column, or an unknown version.
            Hudi 1.2 does not write such definitions.
    """
    definition = definitions.get(name)
    if definition is None:
        raise CorruptTableError(
            f"The metadata table has the index {name}, but the table has no definition of this index.",
            hint=f"Drop the index with rebuild_metadata_table.py --drop {name}.",
        )
    known = _V2 if version >= TableVersion.V9 else _V1
    found = definition.version or _V1
    problem = ""
    if definition.index_type != _TYPE:
        problem = f"the type {definition.index_type!r}"
    elif len(definition.source_fields) != 1:
        problem = f"{len(definition.source_fields)} columns"
    elif found not in (_V1, known):
        problem = f"the version {found!r} in a table of version {version.value}"
    if problem:
        raise UnsupportedTableError(
            f"The definition of the index {name} has {problem}, so this release cannot update the index.",
            hint=f"Drop the index with rebuild_metadata_table.py --drop {name}.",
        )
    return SecondaryIndex(name=name, column=definition.source_fields[0], is_grouped_by_value=found == _V2)


def require_indexable(indexes: Iterable[SecondaryIndex], schema: StructType) -> None:
    """Refuse columns whose values this project cannot write into a secondary index as Hudi does.

    Args:
        schema: columns of the new files.

    Raises:
        UnsupportedTableError: the table does not have an indexed column, or the column has an unsupported type.
    """
    for index in indexes:
        found = type_of(index, schema)
        if found not in INDEXED_TYPES:
            what = f"has the type {found}" if found else "does not exist"
            raise UnsupportedTableError(
                f"The column {index.column!r} of the index {index.name} {what}, so this release cannot update the "
                "index.",
                hint=f"Drop the index with rebuild_metadata_table.py --drop {index.name}. Supported types: "
                f"{', '.join(sorted(INDEXED_TYPES))}.",
            )


def require_same_texts(indexes: Iterable[SecondaryIndex], before: StructType, after: StructType) -> None:
    """Refuse a write that changes the type of an indexed column, if the new type gives different strings for values.

    The index contains the values of the stored rows as strings. After such a write, a query would search the index for
    strings of the new type, and would lose these rows.

    Args:
        before: columns of the table before the write.
        after: columns of the table after the write.

    Raises:
        UnsupportedTableError: the type of an indexed column changes, and the change is not between int and long.
    """
    for index in indexes:
        old, new = type_of(index, before), type_of(index, after)
        if old and old != new and not {old, new} <= _SAME_TEXTS:
            raise UnsupportedTableError(
                f"The write changes the type of the column {index.column!r} from {old} to {new}, but the index "
                f"{index.name} contains the values as strings of the old type.",
                hint=f"Drop the index with rebuild_metadata_table.py --drop {index.name}, write, and build the index "
                "again.",
            )


def type_of(index: SecondaryIndex, schema: StructType) -> str:
    """Return the name of the type of an indexed column; empty if the table does not have the column."""
    try:
        data_type = schema.at_path(index.column).type
    except InvalidRequestError:
        return ""
    return data_type.name if isinstance(data_type, PrimitiveType) else str(data_type)
