"""Convert hoodie.* keys to the typed options of the job that rebuilds the metadata table."""

from dataclasses import dataclass

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.keys.metadata_index import (
    COLUMN_STATS_COLUMNS,
    COLUMN_STATS_MAX_COLUMNS,
    PARTITIONED_INDEX_MAX_GROUPS,
    RECORD_INDEX_GROWTH,
    RECORD_INDEX_MAX_GROUP_BYTES,
    RECORD_INDEX_MAX_GROUPS,
    RECORD_INDEX_MIN_GROUPS,
)
from hudi_table_services.options.keys.metadata_table import (
    CREATE_PARTITIONED_RECORD_INDEX,
    CREATE_RECORD_INDEX,
    PARTITIONED_INDEX_MIN_GROUPS,
)
from hudi_table_services.options.keys.writing import METADATA_ENABLE, TABLE_NAME
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.option import AnyOption, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options, with_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableOptions:
    """All options of a job that rebuilds the metadata table.

    Attributes:
        columns: columns with statistics; empty means the columns of the index that the table has.
        max_columns: number of columns with statistics if there is no list of columns; None if the request does not
            contain the key.
        min_groups, max_groups: bounds for the number of file groups of a record index.
        min_partition_groups, max_partition_groups: the same for each partition of the table in a partitioned record
            index.
        is_partitioned_index: whether a new record index is partitioned; None if the request does not say it.
        growth_factor: expected growth of the number of keys of a record index.
        max_group_bytes: greatest size of a file group of a record index.
        warnings: one sentence for each key that has no effect.
    """

    columns: tuple[str, ...]
    max_columns: int | None
    min_groups: int
    max_groups: int
    min_partition_groups: int
    max_partition_groups: int
    is_partitioned_index: bool | None
    growth_factor: float
    max_group_bytes: int
    lock: LockOptions
    warnings: tuple[str, ...] = ()


def resolve_metadata_table_options(request: RebuildMetadataTableRequest) -> MetadataTableOptions:
    """Check all keys of a request and convert them.

    Raises:
        InvalidRequestError: an option is invalid or contradicts the request. The message names the key.
    """
    given = with_fields(request.options, {TABLE_NAME: request.table_name})
    named, warnings = known_options(given, OptionGroup.METADATA_TABLE)
    reader = OptionReader(named)
    if request.builds and reader.text(METADATA_ENABLE).lower() == "false":
        raise InvalidRequestError(
            f"{METADATA_ENABLE}=false contradicts the request, which builds the metadata table.",
            hint="Leave the key out.",
        )
    has_number = COLUMN_STATS_MAX_COLUMNS in reader
    options = MetadataTableOptions(
        columns=reader[COLUMN_STATS_COLUMNS],
        max_columns=reader[COLUMN_STATS_MAX_COLUMNS] if has_number else None,
        min_groups=reader[RECORD_INDEX_MIN_GROUPS],
        max_groups=reader[RECORD_INDEX_MAX_GROUPS],
        min_partition_groups=reader[PARTITIONED_INDEX_MIN_GROUPS],
        max_partition_groups=reader[PARTITIONED_INDEX_MAX_GROUPS],
        is_partitioned_index=_is_partitioned_index(reader),
        growth_factor=reader[RECORD_INDEX_GROWTH],
        max_group_bytes=reader[RECORD_INDEX_MAX_GROUP_BYTES],
        lock=LockOptions.of(named),
        warnings=warnings,
    )
    _refuse_bounds(RECORD_INDEX_MIN_GROUPS, options.min_groups, RECORD_INDEX_MAX_GROUPS, options.max_groups)
    _refuse_bounds(
        PARTITIONED_INDEX_MIN_GROUPS,
        options.min_partition_groups,
        PARTITIONED_INDEX_MAX_GROUPS,
        options.max_partition_groups,
    )
    return options


def _refuse_bounds(least_key: AnyOption, least: int, most_key: AnyOption, most: int) -> None:
    if least > most:
        raise InvalidRequestError(f"{least_key}={least} is above {most_key}={most}.")


def _is_partitioned_index(reader: OptionReader) -> bool | None:
    partitioned, whole = reader[CREATE_PARTITIONED_RECORD_INDEX], reader[CREATE_RECORD_INDEX]
    if partitioned and whole:
        raise InvalidRequestError(
            f"{CREATE_PARTITIONED_RECORD_INDEX}=true and {CREATE_RECORD_INDEX}=true contradict each other: a table has "
            "one record index."
        )
    return partitioned if partitioned or whole else None
