"""Choose how Hudi's time-based key generator reads the partition column, and check that the choice fits the column."""

from collections.abc import Mapping, Sequence

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.key_generator import KeyGeneratorConfig, PartitionFieldType
from hudi_table_services.model.schema import (
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Field,
    StructType,
    walk_fields,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.keys.key_generation import (
    TIMEBASED_INPUT_DATEFORMAT,
    TIMEBASED_TIMESTAMP_SCALAR_TIME_UNIT,
    TIMEBASED_TIMESTAMP_TYPE,
)
from hudi_table_services.planning.table.key_generator import partition_columns_of_times
from hudi_table_services.planning.table.source_casts import can_be_cast, cast_query, rows_of
from hudi_table_services.planning.table.source_columns import infers_types

_TYPE_KEYS = (TIMEBASED_TIMESTAMP_TYPE.key, *TIMEBASED_TIMESTAMP_TYPE.aliases)


def with_timestamp_type(
    hoodie_options: Mapping[str, str], table: TableConfig | None, batch: StructType | None
) -> dict[str, str]:
    """Add ``hoodie.keygen.timebased.timestamp.type`` if the columns of the rows determine its value.

    Times need the type EPOCHMICROSECONDS, and dates need SCALAR with the unit DAYS. For numbers and strings, the
    function adds no type, because they may have any unit or format.

    Args:
        table: properties of the table; None if the write creates the table.
        batch: columns of the rows; None if only their names are known. The function then adds EPOCHMICROSECONDS, only
            so that the options are complete.
    """
    options = dict(hoodie_options)
    if stores_timestamp_type(table) or gives_timestamp_type(options):
        return options
    found: set[DataType | None] = set()
    for name in partition_columns_of_times(table, options):
        column = batch.find(name) if batch is not None else None
        found.add(column.type if column is not None else None)
    if found and (batch is None or found <= {TIMESTAMP, TIMESTAMP_NTZ}):
        options[TIMEBASED_TIMESTAMP_TYPE.key] = "EPOCHMICROSECONDS"
    elif found == {DATE}:
        options[TIMEBASED_TIMESTAMP_TYPE.key] = "SCALAR"
        options[TIMEBASED_TIMESTAMP_SCALAR_TIME_UNIT.key] = "DAYS"
    return options


def refuse_untimed_column(column: Field, names: Sequence[str], source: SourceSpec | None) -> None:
    """Refuse a unit of time for a partition column that contains strings or numbers.

    Args:
        column: the column, as the rows have it. The function accepts times, and types that cannot be cast to times.
        names: names of all columns of the rows.
        source: source of the rows; None if the caller passed a DataFrame.

    Raises:
        InvalidRequestError: the hint contains a complete query that converts the column to times.
    """
    if not can_be_cast(column.type, STRING):
        return
    name = column.name
    what = f"The table is to be partitioned by a unit of time of the column {name!r}, but"
    query = cast_query(names, {name: "TIMESTAMP"}, rows=rows_of(source))
    is_csv = source is not None and source.format.lower() == "csv" and source.sql is None
    if is_csv and source is not None and not infers_types(source):
        raise InvalidRequestError(
            f"{what} column {name!r} was read as text.",
            hint="Set --source-option inferSchema=true. If the column is text even then, give this source query "
            f"(--source-sql): {query}. If the column contains no times, leave out its unit, such as :day.",
        )
    seconds = "" if column.type == STRING else ", which reads numbers as seconds"
    raise InvalidRequestError(
        f"{what} this column is {column.type}, and {TIMEBASED_TIMESTAMP_TYPE} does not give the meaning of its values.",
        hint=f"If the column contains no times, leave out its unit, such as :day. Otherwise give this source query "
        f"(--source-sql){seconds}: {query}. Or set {TIMEBASED_TIMESTAMP_TYPE} to the meaning of the values: "
        "UNIX_TIMESTAMP (seconds), EPOCHMILLISECONDS, EPOCHMICROSECONDS, or DATE_STRING with "
        f"{TIMEBASED_INPUT_DATEFORMAT}, such as yyyy-MM-dd'T'HH:mm:ss.",
    )


def check_time_partitions(
    key_generator: KeyGeneratorConfig,
    *,
    batch: StructType,
    table: StructType | None,
    staged: StructType,
    is_stored: bool,
) -> None:
    """Refuse a partition column whose type does not fit ``hoodie.keygen.timebased.timestamp.type``.

    Args:
        batch: columns of the rows, as the source has them.
        table: columns of the table; None before the first write.
        staged: columns of the rows after the write has adapted their types to the table.
        is_stored: whether the table has a value for ``timestamp.type``. If not, the value is that of the request.

    Raises:
        InvalidRequestError: the type does not fit. Hudi writes a wrong date in this case. The message distinguishes the
            type in the table from the type in the source, because only one of the two may be wrong.
    """
    for item in key_generator.partition_fields:
        if item.type is not PartitionFieldType.TIMESTAMP or item.name.split(".")[0] not in staged.names:
            continue
        used = staged.at_path(item.name).type
        if key_generator.reads_times_of(used):
            continue
        given, stored = _type_at(batch, item.name), _type_at(table, item.name)
        if stored is None or given is None or stored == given:
            raise _unreadable(key_generator, item.name, used)
        raise _differing(key_generator, item.name, stored, given, is_stored=is_stored)


def _unreadable(key_generator: KeyGeneratorConfig, name: str, used: DataType) -> InvalidRequestError:
    return InvalidRequestError(
        f"Partition column {name!r} is {used}, and values of this type cannot be read as {_kind(key_generator)}.",
        hint=f"A string column needs DATE_STRING with {TIMEBASED_INPUT_DATEFORMAT}, an int or long column needs an "
        "epoch type or SCALAR, a date column needs SCALAR with unit DAYS, and a timestamp column needs "
        "EPOCHMICROSECONDS, or SCALAR with unit MICROSECONDS.",
    )


def _differing(
    key_generator: KeyGeneratorConfig, name: str, stored: DataType, given: DataType, *, is_stored: bool
) -> InvalidRequestError:
    kind = _kind(key_generator)
    both = f"The table stores the partition column {name!r} as {stored}, and the source has it as {given}."
    if key_generator.reads_times_of(stored):
        return InvalidRequestError(
            f"{both} The partition paths are built from values of the type {stored} (read as {kind}).",
            hint=f"Cast the column to {stored} in the source query, as in CAST({name} AS …) AS {name}.",
        )
    cause = f"{both} The write uses the type of the table, and values of the type {stored} cannot be read as {kind}."
    if is_stored:
        return InvalidRequestError(
            cause,
            hint=f"The properties of the table contain {TIMEBASED_TIMESTAMP_TYPE}={kind}, which cannot be changed. "
            f"Write the rows to a new table, whose column {name!r} is {given}.",
        )
    return InvalidRequestError(
        cause,
        hint=f"Set {TIMEBASED_TIMESTAMP_TYPE} to a value that fits {stored} (a string column needs DATE_STRING with "
        f"{TIMEBASED_INPUT_DATEFORMAT}), or write the rows to a new table, whose column {name!r} is {given}.",
    )


def _type_at(schema: StructType | None, path: str) -> DataType | None:
    """Return the type of the field at a dotted path; None if the schema has no such field."""
    paths = dict(walk_fields(schema)) if schema is not None else {}
    return paths[path].type if path in paths else None


def _kind(key_generator: KeyGeneratorConfig) -> str:
    return key_generator.timestamp.timestamp_type.value if key_generator.timestamp is not None else "a time"


def gives_timestamp_type(options: Mapping[str, str]) -> bool:
    """Whether options determine ``hoodie.keygen.timebased.timestamp.type``."""
    return any(options.get(key) for key in _TYPE_KEYS)


def stores_timestamp_type(table: TableConfig | None) -> bool:
    """Whether the properties of the table determine ``hoodie.keygen.timebased.timestamp.type``."""
    return table is not None and any(table.get(key) for key in _TYPE_KEYS)
