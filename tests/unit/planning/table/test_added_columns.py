"""Warnings about columns that a write adds to a table."""

import pytest

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import LONG, STRING, DataType, DecimalType, Field, StructType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.added_columns import warn_of_added_columns, warn_of_narrow_decimals
from hudi_table_services.planning.table.schema_evolution import evolve_schema

CSV = SourceSpec(path="/landing/a.csv", format="csv", options={"header": "true"})


def columns(*names: str, type_of_all: DataType = LONG) -> StructType:
    return StructType(tuple(Field(name, type_of_all) for name in names))


@pytest.mark.parametrize("source", [None, SourceSpec(path="/a.parquet")])
@pytest.mark.parametrize("table", [None, columns("id")])
def test_a_write_that_adds_the_index_of_a_pandas_frame_is_refused_with_a_query(
    table: StructType | None, source: SourceSpec | None
) -> None:
    with pytest.raises(InvalidRequestError, match="'__index_level_1__', which is the index") as refused:
        warn_of_added_columns(table, columns("id", "__index_level_1__"), source)
    assert "to_parquet(path, index=False)" in refused.value.hint
    assert "SELECT id FROM source. " in refused.value.hint


def test_a_column_without_a_name_in_a_csv_file_causes_a_warning_in_the_first_write_and_when_it_is_added() -> (
    None
):
    first = warn_of_added_columns(None, columns("id", "_c0"), CSV)
    later = warn_of_added_columns(columns("id"), columns("id", "_c0"), CSV)
    assert len(first) == 1
    assert "_c0" in first[0]
    assert "to_csv(path, index=False)" in first[0]
    assert later[:1] == first


PARQUET = SourceSpec(path="/landing/a.parquet")
PRICES = StructType((Field("id", LONG), Field("price", DecimalType(4, 2)), Field("sum", DecimalType(12, 2))))


def test_a_narrow_decimal_of_a_new_table_of_version_6_causes_a_warning_with_a_query() -> None:
    (warning,) = warn_of_narrow_decimals(PRICES, TableVersion.V6, PARQUET)
    assert "'price' (decimal(4,2))" in warning
    assert warning.endswith("SELECT id, CAST(price AS DECIMAL(18,2)) AS price, sum FROM source")


@pytest.mark.parametrize(
    ("version", "source"),
    [
        (TableVersion.V9, PARQUET),
        (TableVersion.V6, None),
        (TableVersion.V6, SourceSpec(path="/landing/a.parquet", sql="SELECT * FROM source")),
        (TableVersion.V6, CSV),
    ],
)
def test_a_decimal_that_can_become_wider_or_that_the_user_chose_causes_no_warning(
    version: TableVersion, source: SourceSpec | None
) -> None:
    assert warn_of_narrow_decimals(PRICES, version, source) == ()


def test_the_generated_names_of_csv_files_without_header_cause_no_warning() -> None:
    without_header = SourceSpec(path="/landing/a.csv", format="csv")
    assert warn_of_added_columns(None, columns("_c0", "_c1"), without_header) == ()


def test_a_column_that_the_table_already_has_causes_no_warning() -> None:
    table = columns("id", "__index_level_0__")
    assert warn_of_added_columns(table, table, None) == ()


def test_a_warning_names_every_added_column_and_member_once_and_says_that_it_is_permanent() -> None:
    table = StructType((Field("id", STRING), Field("at", columns("x"))))
    written = StructType((Field("id", STRING), Field("at", columns("x", "y")), Field("to", columns("z"))))
    (warning,) = warn_of_added_columns(table, written, None)
    assert "columns that the table does not have: 'at.y' (long), 'to' (struct<z:long>)." in warning
    assert "permanently" in warning


def test_many_added_columns_are_counted() -> None:
    written = columns("id", *(f"n{number}" for number in range(30)))
    (warning,) = warn_of_added_columns(columns("id"), written, None)
    assert "'n19' (long) and 10 more." in warning


def refusal(table: StructType, rows: StructType) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        evolve_schema(table, rows)
    return caught.value


def test_the_error_names_all_missing_columns() -> None:
    error = refusal(columns("id", "price", "city"), columns("id"))
    assert error.message == "The rows lack 2 columns that the table has: 'price' (long), 'city' (long)."


def test_the_error_about_missing_columns_proposes_new_columns_with_similar_names() -> None:
    error = refusal(columns("id", "created_at", "city"), columns("id", "created", "tax"))
    assert "Did you mean 'created'? If so, write created AS created_at in the source query." in error.hint
    assert "tax" not in error.hint


def test_the_error_about_a_missing_column_asks_whether_a_new_column_is_its_new_name() -> None:
    error = refusal(columns("id", "note"), columns("id", "text"))
    assert "If this is the new name of 'note', write text AS note in the source query." in error.hint


def test_the_error_about_a_missing_pandas_index_says_where_the_column_comes_from() -> None:
    error = refusal(columns("id", "__index_level_0__"), columns("id"))
    assert error.message.startswith("The rows have no column '__index_level_0__', which the table has")
    assert "index of a pandas DataFrame" in error.hint
    assert "null.for.missing" in error.hint
