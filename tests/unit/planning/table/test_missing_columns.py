"""Rows that lack columns of the table: the error before the write, and the warning about replaced values."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import DOUBLE, STRING, Field, StructType
from hudi_table_services.planning.table.missing_columns import filling_option, warn_of_replaced_values
from hudi_table_services.planning.table.schema_evolution import evolve_schema

ID, CITY, PRICE = Field("id", STRING), Field("city", STRING), Field("price", DOUBLE)
KEY = "hoodie.write.set.null.for.missing.columns"
OPTION = f"{KEY}=true"
RECONCILE = "hoodie.datasource.write.reconcile.schema"


@pytest.mark.parametrize(
    ("missing", "message", "advice"),
    [
        (
            (CITY,),
            "The rows have no column 'city', which the table has (string).",
            "A write replaces whole rows: add it to the source or in the source query, with the values to store. With "
            f"--option {OPTION}, the write replaces the stored values of this column by null in each row that it "
            "updates.",
        ),
        (
            (CITY, PRICE),
            "The rows lack 2 columns that the table has: 'city' (string), 'price' (double).",
            "A write replaces whole rows: add them to the source or in the source query, with the values to store. "
            f"With --option {OPTION}, the write replaces the stored values of these columns by null in each row that "
            "it updates.",
        ),
    ],
)
def test_the_error_says_that_the_option_replaces_stored_values(
    missing: tuple[Field, ...], message: str, advice: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        evolve_schema(StructType((ID, *missing)), StructType((ID,)))
    assert (refused.value.message, refused.value.hint) == (message, advice)


def test_the_warning_names_the_columns_and_the_number_of_rows() -> None:
    missing = (("city", CITY), ("at.price", PRICE))
    (warning,) = warn_of_replaced_values(missing, 1, KEY)
    assert warning == (
        "The rows lack 2 columns of the table: 'city' (string), 'at.price' (double). In 1 updated row, the write "
        f"replaced the stored values of these columns by null ({OPTION}). To get the values back, roll back this "
        "write, and add them to the source."
    )
    (warning,) = warn_of_replaced_values(missing[:1], 3, KEY, dry_run=True)
    assert warning == (
        "The rows lack 1 column of the table: 'city' (string). In 3 updated rows, the write would replace the stored "
        f"values of this column by null ({OPTION}). Add it to the source."
    )


def test_a_write_without_updates_or_without_missing_columns_gets_no_warning() -> None:
    assert warn_of_replaced_values((("city", CITY),), 0, KEY) == ()
    assert warn_of_replaced_values((), 3, KEY) == ()


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, ""),
        ({KEY: "false", RECONCILE: "false"}, ""),
        ({RECONCILE: "TRUE"}, RECONCILE),
        ({KEY: "false", RECONCILE: "true"}, RECONCILE),
        ({KEY: "true", RECONCILE: "true"}, KEY),
    ],
)
def test_the_warning_names_the_option_that_is_set(options: dict[str, str], key: str) -> None:
    assert filling_option(options) == key
    (warning,) = warn_of_replaced_values((("city", CITY),), 1, RECONCILE)
    assert f"by null ({RECONCILE}=true)." in warning
