"""Check a write although the types of some columns are not known: these columns are checked only by name."""

from collections.abc import Collection
from dataclasses import replace

from hudi_table_services.model.key_generator import KeyGeneratorConfig, PartitionFieldType
from hudi_table_services.model.schema import BOOLEAN, DELETED_FLAG, STRING, Field, StructType


def with_accepted_types(batch: StructType, untyped: Collection[str], table: StructType | None) -> StructType:
    """Replace the types of the columns in `untyped` by types that a write accepts.

    A column gets its type in the table. A column that the table does not have becomes a boolean if it marks deletes,
    else a string.

    Args:
        table: columns of the table; None before the first write.
    """
    if not untyped:
        return batch
    accepted = {DELETED_FLAG: BOOLEAN, **{each.name: each.type for each in (table.fields if table else ())}}
    return StructType(
        tuple(
            Field(each.name, accepted.get(each.name, STRING)) if each.name in untyped else each
            for each in batch.fields
        )
    )


def without_formatted_times(key_generator: KeyGeneratorConfig) -> KeyGeneratorConfig:
    """Return the key generator with the same columns, but without the formatted times of its partition paths.

    So a check of the write does not depend on the types of the partition columns.
    """
    columns = tuple(replace(each, type=PartitionFieldType.SIMPLE) for each in key_generator.partition_fields)
    return replace(key_generator, partition_fields=columns)
