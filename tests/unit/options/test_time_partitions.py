"""Partition columns with a unit of time become options of Hudi's time-based key generator."""

import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import DATE, LONG, STRING, TIMESTAMP, Field, PrimitiveType, StructType
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.planning.table.key_generator import key_generator_config
from hudi_table_services.planning.table.time_partition_type import check_time_partitions, with_timestamp_type

PREFIX = "hoodie.keygen.timebased."


def options_of(*partition_by: str, record_key: tuple[str, ...] = ("id",), **options: str) -> dict[str, str]:
    request = UpsertRequest(base_path="/", record_key=record_key, partition_by=partition_by, options=options)
    return dict(resolve_options(request).hoodie_options)


def batch(column_type: PrimitiveType) -> StructType:
    return StructType((Field("id", LONG, nullable=True), Field("at", column_type, nullable=True)))


@pytest.mark.parametrize(
    ("unit", "pattern"),
    [("year", "yyyy"), ("month", "yyyy-MM"), ("day", "yyyy-MM-dd"), ("hour", "yyyy-MM-dd-HH")],
)
def test_one_column_and_one_key_use_the_timestamp_generator(unit: str, pattern: str) -> None:
    options = with_timestamp_type(options_of(f"at:{unit}"), None, batch(TIMESTAMP))
    assert options[f"{PREFIX}timestamp.type"] == "EPOCHMICROSECONDS"
    config = key_generator_config(None, options)
    assert (config.type.value, [field.name for field in config.partition_fields]) == ("TIMESTAMP", ["at"])
    assert config.timestamp is not None
    assert (config.timestamp.output_format, config.timestamp.output_time_zone) == (pattern, "UTC")


def test_several_columns_or_keys_use_the_custom_generator() -> None:
    both = key_generator_config(
        None, with_timestamp_type(options_of("city", "at:day"), None, batch(TIMESTAMP))
    )
    assert [(f.name, f.type.value) for f in both.partition_fields] == [
        ("city", "SIMPLE"),
        ("at", "TIMESTAMP"),
    ]
    options = options_of("at:day", record_key=("id", "city"))
    keys = key_generator_config(None, with_timestamp_type(options, None, batch(TIMESTAMP)))
    assert keys.type.value == "CUSTOM"


def test_a_column_of_dates_counts_days() -> None:
    options = with_timestamp_type(options_of("at:month"), None, batch(DATE))
    assert options[f"{PREFIX}timestamp.type"] == "SCALAR"
    assert options[f"{PREFIX}timestamp.scalar.time.unit"] == "DAYS"


@pytest.mark.parametrize("column_type", [LONG, STRING])
def test_columns_of_numbers_or_text_need_the_option_timestamp_type(column_type: PrimitiveType) -> None:
    options = with_timestamp_type(options_of("at:day"), None, batch(column_type))
    with pytest.raises(InvalidRequestError, match="of the column 'at', but .*timestamp.type"):
        key_generator_config(None, options)
    given = options_of("at:day", **{f"{PREFIX}timestamp.type": "EPOCHMILLISECONDS"})
    assert with_timestamp_type(given, None, batch(column_type)) == given


def test_columns_without_a_unit_stay_as_they_are() -> None:
    assert options_of("day", "month") == {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "day,month",
    }
    assert "TIMESTAMP" not in str(options_of("day:SIMPLE"))


def test_different_units_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="different units of time: day, hour"):
        options_of("a:day", "b:hour")


@pytest.mark.parametrize("item", ["at:week", "at:days", "at:Day"])
def test_unknown_units_are_refused(item: str) -> None:
    with pytest.raises(InvalidRequestError, match="Units of time: at:year, at:month, at:day, at:hour"):
        options_of(item)


def test_the_unit_must_agree_with_other_options() -> None:
    with pytest.raises(InvalidRequestError, match="output.dateformat"):
        options_of("at:day", **{f"{PREFIX}output.dateformat": "yyyy/MM/dd"})


def refusal(stored: PrimitiveType | None, given: PrimitiveType, kind: str, *, is_stored: bool) -> str:
    """Message about a partition column of times, with these types in the table and in the source."""
    options = options_of("at:day", **{f"{PREFIX}timestamp.type": kind})
    config = key_generator_config(None, options)
    with pytest.raises(InvalidRequestError) as caught:
        check_time_partitions(
            config,
            batch=batch(given),
            table=batch(stored) if stored else None,
            staged=batch(stored or given),
            is_stored=is_stored,
        )
    return str(caught.value)


def test_the_message_distinguishes_the_type_in_the_table_from_the_type_in_the_source() -> None:
    message = refusal(STRING, LONG, "EPOCHMILLISECONDS", is_stored=False)
    assert "The table stores the partition column 'at' as string, and the source has it as long." in message
    assert "values of the type string cannot be read as EPOCHMILLISECONDS" in message
    assert f"Set {PREFIX}timestamp.type to a value that fits string" in message
    fixed = refusal(STRING, LONG, "EPOCHMILLISECONDS", is_stored=True)
    assert "Write the rows to a new table, whose column 'at' is long" in fixed


def test_a_source_that_widens_the_column_of_the_table_must_cast_it() -> None:
    options = options_of("at:day", **{f"{PREFIX}timestamp.type": "EPOCHMILLISECONDS"})
    with pytest.raises(InvalidRequestError) as caught:
        check_time_partitions(
            key_generator_config(None, options),
            batch=batch(STRING),
            table=batch(LONG),
            staged=batch(STRING),
            is_stored=True,
        )
    assert "as long, and the source has it as string." in str(caught.value)
    assert "Cast the column to long in the source query" in str(caught.value)


def test_the_message_about_a_new_table_names_only_the_type_in_the_source() -> None:
    message = refusal(None, STRING, "EPOCHMILLISECONDS", is_stored=False)
    assert message.startswith("Partition column 'at' is string, and values of this type cannot be read")
    assert "The table stores" not in message


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        ("at:day:hour", "Give one unit: at:day or at:hour."),
        ("at:day:week", "Give one unit: at:day."),
        ("at:a:b", "Give one unit: at:year or at:month or at:day or at:hour."),
    ],
)
def test_a_column_with_two_units_is_refused_with_both_as_a_choice(item: str, hint: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"'{item}' has 2 units of time") as refused:
        options_of("city", item)
    assert refused.value.hint == hint
