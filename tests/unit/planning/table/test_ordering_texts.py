"""Ordering fields that are text: which values count as numbers or times, and the advice about them."""

from collections.abc import Sequence

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import DATE, DOUBLE, INT, LONG, STRING, DataType, Field, StructType
from hudi_table_services.planning.table.ordering_texts import (
    explain_text_ordering,
    note_on_texts,
    warn_of_numbers_as_text,
    warn_of_ordering_texts,
)
from hudi_table_services.planning.table.schema_evolution import evolve_schema


@pytest.mark.parametrize(
    ("values", "type_name"),
    [
        (["24", None, "-124"], "BIGINT"),
        (["12345678901234567890", "9"], "DECIMAL(38, 0)"),
        (["24", "1.5"], "DOUBLE"),
        ([".5", "5.", "1e-3"], "DOUBLE"),
        (["-5", "-3"], "BIGINT"),
        (["1e-3", "2e-5"], "DOUBLE"),
        (["2026-01-02", "2026-01-02T03:04"], "TIMESTAMP"),
        (["2026-01-02T03:04:05+01:00", "2026-01-02T03:04:05+02:00"], "TIMESTAMP"),
        (["2026-01-02T03:04+01", "2026-01-02T03:04+02"], "TIMESTAMP"),
        (["2026-01-02T03:04:05-01:00", "2026-01-03T03:04:06-01:00"], ""),
        (["2026-01-02T03:04:05Z", None, "2026-01-03T03:04:06Z"], ""),
        (["2026-01-02", "2026-10-20"], ""),
        (["20260102", "20261020"], ""),
        (["1.50", "9.75"], ""),
        (["1.5", "12"], "DOUBLE"),
        (["2026-01-02T03:04:05Z", "2026-01-02"], "TIMESTAMP"),
        (["24", "n/a"], ""),
        (["v1", "v2"], ""),
        (["1 2"], ""),
        ([None], ""),
        ([], ""),
    ],
)
def test_an_ordering_field_of_numbers_or_times_gets_a_warning(
    values: Sequence[str | None], type_name: str
) -> None:
    warnings = warn_of_ordering_texts(("at",), {"at": values, "id": ["1"]}, ("id", "at"), base_path="/t")
    assert len(warnings) == bool(type_name)
    for warning in warnings:
        assert warning.endswith(f"SELECT id, CAST(at AS {type_name}) AS at FROM source")


def test_the_warning_names_the_column_a_value_and_the_option() -> None:
    (warning,) = warn_of_ordering_texts(
        ("reading",), {"reading": ["24", "124"]}, ("id", "reading"), base_path="s3://b/t"
    )
    assert warning == (
        "The ordering field 'reading' contains numbers, such as '24', but the column of the new table is text, because "
        "Spark reads every column of a CSV file as text. Text is compared character by character, so '9' is larger "
        "than '10', and an update with a larger number can lose. To get numbers, delete the folder of the table, "
        "s3://b/t, if the table exists already, and load the rows with --source-option inferSchema=true, or with this "
        "source query (--source-sql): SELECT id, CAST(reading AS BIGINT) AS reading FROM source"
    )
    (warning,) = warn_of_ordering_texts(
        ("at",), {"at": ["2026-01-02T03:04", "2026-01-02"]}, ("id", "at"), base_path="/t"
    )
    assert "an update with a later value can lose if the times differ in their form or time zone" in warning


def schema(reading: DataType) -> StructType:
    return StructType((Field("id", STRING), Field("reading", reading)))


def explained(table: DataType, batch: DataType, ordering_fields: Sequence[str]) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        evolve_schema(schema(table), schema(batch))
    explained = explain_text_ordering(caught.value, schema(table), ordering_fields)
    assert (explained.message, explained.evidence) == (caught.value.message, caught.value.evidence)
    return explained.hint


def test_the_error_about_numbers_for_an_ordering_field_of_text_says_how_to_store_numbers() -> None:
    assert explained(STRING, DOUBLE, ("reading",)).endswith(
        "SELECT id, CAST(reading AS STRING) AS reading FROM source. 'reading' is the ordering field. Text is compared "
        "character by character, so '9' is larger than '10', and an update with a larger number can lose. To store "
        "numbers, write all rows to a new table. If the source is a CSV file, also set --source-option "
        "inferSchema=true."
    )
    assert "ordering" not in explained(STRING, DOUBLE, ("id",))
    assert "ordering" not in explained(DOUBLE, STRING, ("reading",))


@pytest.mark.parametrize(
    ("table", "batch", "is_warned"),
    [
        (STRING, INT, True),
        (STRING, LONG, True),
        (STRING, STRING, False),
        (LONG, INT, False),
        (STRING, DATE, False),
    ],
)
def test_whole_numbers_that_an_ordering_field_stores_as_text_give_a_warning(
    table: DataType, batch: DataType, is_warned: bool
) -> None:
    warnings = warn_of_numbers_as_text(schema(table), schema(batch), ("reading",))
    assert len(warnings) == is_warned
    assert all(f"is text in the table and {batch} in the rows" in each for each in warnings)
    assert warn_of_numbers_as_text(schema(table), schema(batch), ("other",)) == ()
    assert warn_of_numbers_as_text(None, schema(batch), ("reading",)) == ()


def test_only_an_ordering_field_of_text_gets_the_note_on_its_order() -> None:
    note = " Text is compared character by character, so '9' is larger than '10'."
    assert note_on_texts(("reading",), schema(STRING)) == note
    assert note_on_texts(("reading",), schema(LONG)) == ""
    assert note_on_texts((), schema(STRING)) == ""
