"""The key generator of a write, from table properties and options."""

import pytest

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.key_generator import (
    KeyGeneratorConfig,
    KeyGeneratorType,
    PartitionField,
    PartitionFieldType,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.key_generator import depends_on_existing_key, key_generator_config

KEY = "hoodie.datasource.write.recordkey.field"
PARTITION = "hoodie.datasource.write.partitionpath.field"
CLASS = "hoodie.datasource.write.keygenerator.class"
TYPE = "hoodie.datasource.write.keygenerator.type"
HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"
TIME = "hoodie.keygen.timebased."


def a_table(version: int = 9, **properties: str) -> TableConfig:
    stored = {"hoodie.table.version": str(version), "hoodie.table.recordkey.fields": "id"}
    stored.update({f"hoodie.table.{name.replace('__', '.')}": value for name, value in properties.items()})
    return TableConfig(stored)


def configured(**options: str) -> KeyGeneratorConfig:
    names = {"key": KEY, "partition": PARTITION, "class_": CLASS, "type_": TYPE}
    return key_generator_config(None, {names.get(name, name): value for name, value in options.items()})


@pytest.mark.parametrize("kind", KeyGeneratorType)
def test_java_class_names_are_parsed_to_their_key_generator(kind: KeyGeneratorType) -> None:
    assert KeyGeneratorType.from_class_name(kind.class_name) is kind
    assert KeyGeneratorType.from_class_name(kind.class_name.replace("KeyGen", "AvroKeyGen")) is kind
    assert KeyGeneratorType.from_type_name(kind.value.lower()) is kind


@pytest.mark.parametrize("name", ["org.apache.hudi.keygen.GlobalDeleteKeyGenerator", "com.acme.Mine", ""])
def test_an_unsupported_key_generator_class_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedTableError, match="key generator class"):
        KeyGeneratorType.from_class_name(name)


@pytest.mark.parametrize(
    ("key", "partition", "expected"),
    [
        ("id", "", KeyGeneratorType.NON_PARTITION),
        ("id,s", "", KeyGeneratorType.NON_PARTITION),
        ("id", "p", KeyGeneratorType.SIMPLE),
        ("id", "p,q", KeyGeneratorType.COMPLEX),
        ("id , s", "p", KeyGeneratorType.COMPLEX),
        ("id", "p:SIMPLE", KeyGeneratorType.CUSTOM),
    ],
)
def test_without_options_the_columns_determine_the_key_generator_as_in_hudi(
    key: str, partition: str, expected: KeyGeneratorType
) -> None:
    assert configured(key=key, partition=partition).type is expected


def test_without_options_the_properties_of_the_table_apply() -> None:
    table = a_table(partition__fields="p", keygenerator__type="SIMPLE")
    config = key_generator_config(table, {})
    assert (config.record_key_fields, config.partition_fields) == (("id",), (PartitionField("p"),))


@pytest.mark.parametrize(
    "option",
    [{KEY: "other"}, {PARTITION: "q"}, {PARTITION: ""}, {TYPE: "COMPLEX"}, {HIVE_STYLE: "true"}],
)
def test_an_option_that_contradicts_the_table_is_refused(option: dict[str, str]) -> None:
    table = a_table(partition__fields="p", keygenerator__type="SIMPLE")
    with pytest.raises(InvalidRequestError, match="but the table was created with"):
        key_generator_config(table, option)


def test_the_refusal_of_a_partition_field_says_that_the_table_is_not_partitioned() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        key_generator_config(a_table(), {PARTITION: "country"})
    assert (
        refused.value.message
        == f"--partition-by ({PARTITION}) is 'country', but the table is not partitioned."
    )
    assert refused.value.hint.startswith("Leave out --partition-by: the property of the table applies.")


def test_an_option_that_agrees_with_the_table_is_accepted() -> None:
    table = a_table(partition__fields="p", keygenerator__type="SIMPLE")
    options = {
        KEY: " id ",
        PARTITION: "p",
        CLASS: "org.apache.hudi.keygen.SimpleKeyGenerator",
        HIVE_STYLE: "false",
    }
    assert key_generator_config(table, options) == key_generator_config(table, {})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "No record key"),
        ({"key": "id,id"}, "twice"),
        ({"key": "id", "partition": "p,p"}, "twice"),
        ({"key": "id,s", "partition": "p", "type_": "SIMPLE"}, "one record key"),
        ({"key": "id,s", "partition": "p", "type_": "TIMESTAMP", f"{TIME}timestamp.type": "EPOCHMILLISECONDS",
          f"{TIME}output.dateformat": "yyyy"}, "one record key"),
        ({"key": "id", "partition": "p", "type_": "NON_PARTITION"}, "no partition columns"),
        ({"key": "id", "partition": "p:SIMPLE", "type_": "SIMPLE"}, "has a type"),
        ({"key": "id", "partition": "p", "type_": "CUSTOM"}, "needs a type"),
        ({"key": "id", "partition": "p:DAY", "type_": "CUSTOM"}, "needs a type"),
        ({"key": "id", "type_": "SIMPLE", "class_": "org.apache.hudi.keygen.ComplexKeyGenerator"}, "both"),
    ],
)  # fmt: skip
def test_contradictory_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        configured(**options)


@pytest.mark.parametrize(
    ("time_options", "message"),
    [
        ({}, "timestamp.type"),
        ({"timestamp.type": "DAYS"}, "timestamp.type"),
        ({"timestamp.type": "UNIX_TIMESTAMP"}, "output.dateformat is missing"),
        ({"timestamp.type": "UNIX_TIMESTAMP", "output.dateformat": "MMM yyyy"}, "'MMM'"),
        ({"timestamp.type": "UNIX_TIMESTAMP", "output.dateformat": "EEE"}, "'EEE'"),
        (
            {"timestamp.type": "SCALAR", "output.dateformat": "yyyy", "timestamp.scalar.time.unit": "weeks"},
            "weeks",
        ),
        ({"timestamp.type": "SCALAR", "output.dateformat": "yyyy", "timezone": "Mars/Olympus"}, "time zone"),
        ({"timestamp.type": "DATE_STRING", "output.dateformat": "yyyy", "input.dateformat": "yy/MM"}, "'yy'"),
    ],
)
def test_time_options_are_checked(time_options: dict[str, str], message: str) -> None:
    options = {TIME + name: value for name, value in time_options.items()}
    with pytest.raises(InvalidRequestError, match=message):
        configured(key="id", partition="t", type_="TIMESTAMP", **options)


def test_one_time_zone_for_input_and_output_may_be_an_offset() -> None:
    options = {f"{TIME}timestamp.type": "UNIX_TIMESTAMP", f"{TIME}output.dateformat": "yyyy"}
    config = configured(
        key="id", partition="t", type_="TIMESTAMP", **options, **{f"{TIME}timezone": "GMT+8:00"}
    )
    assert config.timestamp is not None
    assert config.timestamp.input_time_zone == config.timestamp.output_time_zone == "+08:00"


def test_the_option_sets_the_column_types_of_a_custom_key_generator_of_hudi_0_15() -> None:
    table = a_table(
        6, partition__fields="p,q", keygenerator__class="org.apache.hudi.keygen.CustomKeyGenerator"
    )
    config = key_generator_config(table, {PARTITION: "p:SIMPLE,q:SIMPLE"})
    assert [item.type for item in config.partition_fields] == [PartitionFieldType.SIMPLE] * 2
    with pytest.raises(InvalidRequestError, match="needs a type"):
        key_generator_config(table, {})


def test_a_table_with_generated_record_keys_is_refused() -> None:
    with pytest.raises(UnsupportedTableError, match="generated"):
        key_generator_config(TableConfig({"hoodie.table.version": "9"}), {KEY: "id"})


@pytest.mark.parametrize(
    ("version", "options", "existing_key", "expected"),
    [
        (9, {}, None, True),
        (6, {}, "", False),
        (6, {}, "x1", False),
        (6, {}, "id:x1", True),
        (8, {"hoodie.write.complex.keygen.new.encoding": "false"}, None, True),
        (8, {"hoodie.write.complex.keygen.new.encoding": "true"}, None, False),
    ],
)
def test_a_complex_key_of_one_column_keeps_the_encoding_of_the_table(
    version: int, options: dict[str, str], existing_key: str | None, expected: bool
) -> None:
    table = a_table(version, partition__fields="p,q", keygenerator__type="COMPLEX")
    config = key_generator_config(table, options, existing_key=existing_key)
    assert config.encodes_single_key_name is expected
    assert depends_on_existing_key(table, options) is (version < 9 and not options)


def test_an_unknown_key_encoding_is_refused_if_no_existing_key_is_given() -> None:
    table = a_table(6, partition__fields="p,q")
    with pytest.raises(InvalidRequestError, match="new.encoding"):
        key_generator_config(table, {})


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9])
def test_the_stored_properties_of_a_new_table_give_the_same_key_generator(version: TableVersion) -> None:
    options = {
        KEY: "id,s",
        PARTITION: "p:SIMPLE,t:TIMESTAMP",
        HIVE_STYLE: "true",
        f"{TIME}timestamp.type": "SCALAR",
        f"{TIME}timestamp.scalar.time.unit": "days",
        f"{TIME}output.dateformat": "yyyy/MM",
        f"{TIME}output.timezone": "Europe/Berlin",
    }
    config = key_generator_config(None, options)
    stored = {"hoodie.table.version": str(int(version)), **config.table_properties(version)}
    assert key_generator_config(TableConfig(stored), {}) == config
    assert ("hoodie.table.keygenerator.class" in stored) is (version is TableVersion.V6)
