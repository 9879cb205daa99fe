"""Write source queries that cast columns, as advice in errors and warnings."""

from collections.abc import Mapping, Sequence

from hudi_table_services.model.schema import DataType, DecimalType, PrimitiveType

_SQL_NAMES = {"long": "bigint", "bytes": "binary"}
_NUMBERS = frozenset({"int", "long", "float", "double"})


def cast_query(names: Sequence[str], casts: Mapping[str, str], *, function: str = "CAST") -> str:
    """Return a query on the view `source` that casts some columns and keeps the other columns.

    Args:
        names: names of all columns of the source. Each is a name that Avro allows, so it needs no quotes.
        casts: maps the name of each column to cast to the name of a type in Spark SQL.
        function: ``CAST``, or ``TRY_CAST``, which returns null for a value that cannot be cast.
    """
    columns = ", ".join(
        f"{function}({name} AS {casts[name]}) AS {name}" if name in casts else name for name in names
    )
    return f"SELECT {columns} FROM source"  # noqa: S608 - advice, not a query of this program


def sql_name(data_type: DataType) -> str:
    """Return the name of a simple type in Spark SQL, such as ``bigint``."""
    return _SQL_NAMES.get(str(data_type), str(data_type))


def can_be_cast(given: DataType, wanted: DataType) -> bool:
    """Whether Spark SQL accepts a cast between two types that are strings or numbers; False for all other types."""
    return all(_is_number(each) or each == PrimitiveType("string") for each in (given, wanted))


def _is_number(data_type: DataType) -> bool:
    return isinstance(data_type, DecimalType) or str(data_type) in _NUMBERS
