"""The schema changes that a write may make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.schema_evolution import evolve_schema


def a_schema(*fields: Field) -> StructType:
    return StructType((Field("id", STRING, False), *fields))


def evolved(table: DataType, incoming: DataType) -> DataType:
    return evolve_schema(a_schema(Field("c", table)), a_schema(Field("c", incoming))).field("c").type


def test_the_first_write_defines_the_schema() -> None:
    assert evolve_schema(None, a_schema(Field("_hoodie_commit_time", STRING))) == a_schema()


NUMBERS = [INT, LONG, FLOAT, DOUBLE]


@given(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
def test_numbers_become_the_wider_of_both_types(table: DataType, incoming: DataType) -> None:
    expected = NUMBERS[max(NUMBERS.index(table), NUMBERS.index(incoming))]
    assert evolved(table, incoming) == expected


@pytest.mark.parametrize("number", [INT, LONG])
def test_integers_and_text_become_text(number: DataType) -> None:
    assert evolved(number, STRING) == evolved(STRING, number) == STRING


REFUSED: list[tuple[DataType, DataType]] = [
    (FLOAT, STRING),
    (STRING, DOUBLE),
    (BYTES, STRING),
    (STRING, BYTES),
    (BOOLEAN, INT),
    (BOOLEAN, STRING),
    (DATE, STRING),
    (DATE, TIMESTAMP),
    (INT, DATE),
    (LONG, TIMESTAMP),
    (TIMESTAMP, LONG),
    (INT, DecimalType(10, 0)),
    (DecimalType(10, 2), STRING),
    (StructType((Field("x", INT),)), INT),
    (INT, ArrayType(INT)),
    (ArrayType(INT), MapType(INT)),
]


@pytest.mark.parametrize(("table", "incoming"), REFUSED)
def test_an_error_about_another_change_of_type_names_the_column_and_both_types(
    table: DataType, incoming: DataType
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        evolved(table, incoming)
    assert "'c'" in str(refused.value)
    for each in (table, incoming):
        assert str(each) in str(refused.value) or (each == STRING and "text" in str(refused.value))


@pytest.mark.parametrize(
    ("table", "incoming", "cast", "note"),
    [
        (STRING, DOUBLE, "CAST(c AS STRING)", ""),
        (
            FLOAT,
            STRING,
            "TRY_CAST(c AS FLOAT)",
            " TRY_CAST reads a string that is not a float as null, and CAST fails on it.",
        ),
    ],
)
def test_the_error_about_floating_point_numbers_and_strings_names_both_and_the_query_with_the_cast(
    table: DataType, incoming: DataType, cast: str, note: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        evolve_schema(a_schema(Field("c", table)), a_schema(Field("c", incoming), Field("new", DATE)))
    old, new = ("text" if each == STRING else f"numbers ({each})" for each in (table, incoming))
    assert refused.value.message == f"Column 'c' contains {old} in the table and {new} in the rows."
    query = f"SELECT id, {cast} AS c, new FROM source"
    assert (
        refused.value.hint
        == f"Cast the column in the source query, source_sql (--source-sql), as in: {query}.{note}"
    )


@pytest.mark.parametrize(
    ("table", "incoming", "cast", "has_note"),
    [
        (TIMESTAMP, STRING, "TRY_CAST(c AS TIMESTAMP)", True),
        (TIMESTAMP_NTZ, STRING, "TRY_CAST(c AS TIMESTAMP_NTZ)", True),
        (DATE, STRING, "TRY_CAST(c AS DATE)", True),
        (DATE, TIMESTAMP, "CAST(c AS DATE)", False),
        (STRING, TIMESTAMP, "CAST(c AS STRING)", False),
    ],
)
def test_the_error_about_text_in_a_column_of_times_contains_the_flag_and_the_complete_query(
    table: DataType, incoming: DataType, cast: str, has_note: bool
) -> None:
    for rows in ("source", "(SELECT * FROM source)"):
        with pytest.raises(InvalidRequestError) as refused:
            evolve_schema(a_schema(Field("c", table)), a_schema(Field("c", incoming)), rows=rows)
        query = f"SELECT id, {cast} AS c FROM {rows}"
        note = (
            f" TRY_CAST reads a string that is not a {table} as null, and CAST fails on it."
            if has_note
            else ""
        )
        assert (
            refused.value.hint
            == f"Cast the column in the source query, source_sql (--source-sql), as in: {query}.{note}"
        )


def test_the_error_about_a_member_of_a_struct_has_no_query_because_the_cast_would_replace_the_whole_column() -> (
    None
):
    with pytest.raises(InvalidRequestError) as refused:
        evolved(StructType((Field("x", STRING),)), StructType((Field("x", DOUBLE),)))
    assert "contains text in the table and numbers (double) in the rows." in refused.value.message
    assert refused.value.hint == "Cast the column to string in the source query."


def test_new_nullable_columns_follow_the_tables_columns() -> None:
    table = a_schema(Field("a", INT), Field("b", INT))
    incoming = StructType((Field("new", DATE), Field("b", INT), Field("id", STRING, False), Field("a", INT)))
    assert evolve_schema(table, incoming).names == ("id", "a", "b", "new")


def test_a_new_column_that_is_not_nullable_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="new column 'new'"):
        evolve_schema(a_schema(), a_schema(Field("new", INT, False)))


def test_a_missing_column_is_refused_unless_it_is_filled_with_null() -> None:
    table = a_schema(Field("c", INT, False))
    with pytest.raises(InvalidRequestError, match="have no column 'c'"):
        evolve_schema(table, a_schema())
    assert evolve_schema(table, a_schema(), fill_missing_with_null=True) == a_schema(Field("c", INT, True))


def test_a_column_is_nullable_if_it_is_nullable_in_the_table_or_in_the_rows() -> None:
    for table, incoming in [(True, False), (False, True)]:
        evolved_schema = evolve_schema(a_schema(Field("c", INT, table)), a_schema(Field("c", INT, incoming)))
        assert evolved_schema.field("c").nullable


def test_inside_structs_lists_and_maps_members_may_be_added_and_narrower_values_may_be_written() -> None:
    table = StructType((Field("x", LONG), Field("y", STRING)))
    incoming = StructType((Field("new", DATE), Field("y", STRING), Field("x", INT)))
    merged = StructType((Field("x", LONG), Field("y", STRING), Field("new", DATE)))
    assert evolved(table, incoming) == merged
    assert evolved(ArrayType(table, False), ArrayType(incoming, True)) == ArrayType(merged, True)
    assert evolved(MapType(table), MapType(incoming)) == MapType(merged)


@pytest.mark.parametrize(
    ("table", "incoming"),
    [
        (ArrayType(INT), ArrayType(LONG)),
        (MapType(FLOAT), MapType(DOUBLE)),
        (StructType((Field("x", INT),)), StructType((Field("x", LONG),))),
        (ArrayType(DecimalType(10, 2)), ArrayType(DecimalType(12, 2))),
    ],
)
def test_a_nested_type_cannot_grow_because_spark_could_not_read_old_files(
    table: DataType, incoming: DataType
) -> None:
    with pytest.raises(InvalidRequestError, match="cannot become wider"):
        evolved(table, incoming)
    assert evolved(incoming, table) == incoming


def test_a_decimal_grows_only_in_tables_that_hudi_0_15_does_not_read() -> None:
    small, large = DecimalType(10, 2), DecimalType(12, 4)
    assert evolved(small, large) == evolved(large, small) == large
    old, new = a_schema(Field("c", small)), a_schema(Field("c", large))
    assert evolve_schema(new, old, table_version=TableVersion.V6) == new
    with pytest.raises(InvalidRequestError, match="version 6 cannot become wider") as refused:
        evolve_schema(old, new, table_version=TableVersion.V6)
    assert "The query fails if a value does not fit into decimal(10,2)." in refused.value.hint
    assert "hoodie.write.table.version=9" in refused.value.hint
    with pytest.raises(InvalidRequestError, match="neither type can store all values of the other type"):
        evolved(DecimalType(10, 2), DecimalType(10, 4))


def test_timestamps_without_zone_are_refused_for_tables_of_version_6() -> None:
    wall_clock = a_schema(Field("c", ArrayType(StructType((Field("t", TIMESTAMP_NTZ),)))))
    for table in (None, a_schema()):
        with pytest.raises(InvalidRequestError, match=r"'c\.t' is a timestamp without zone") as refused:
            evolve_schema(table, wall_clock, table_version=TableVersion.V6)
        assert refused.value.hint.endswith(
            "or create a table with hoodie.write.table.version=8 or hoodie.write.table.version=9."
        )
        assert evolve_schema(table, wall_clock, table_version=TableVersion.V8) == wall_clock
    assert evolve_schema(wall_clock, wall_clock, table_version=TableVersion.V6) == wall_clock


def test_the_error_names_the_path_of_a_nested_column() -> None:
    with pytest.raises(InvalidRequestError, match=r"'c\.x'"):
        evolved(ArrayType(StructType((Field("x", DATE),))), ArrayType(StructType((Field("x", INT),))))


def test_a_column_that_differs_only_in_case_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="has a column 'c' and the rows have a column 'C'"):
        evolve_schema(a_schema(Field("c", INT)), a_schema(Field("C", INT)), fill_missing_with_null=True)
    with pytest.raises(InvalidRequestError, match="cannot distinguish the columns 'C' and 'c'"):
        evolve_schema(a_schema(Field("c", INT)), a_schema(Field("C", INT), Field("c", INT)))


def test_evolving_again_with_the_same_rows_changes_nothing() -> None:
    table, incoming = a_schema(Field("a", INT)), a_schema(Field("b", DATE), Field("a", DOUBLE))
    once = evolve_schema(table, incoming)
    assert evolve_schema(once, incoming) == once
