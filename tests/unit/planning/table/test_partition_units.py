"""Partition columns with a unit of time, in a write to an existing table."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.key_generator import KeyGeneratorConfig, PartitionFieldType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.keys.time_partitions import partition_options
from hudi_table_services.planning.table.key_generator import (
    depends_on_existing_key,
    key_generator_config,
    partition_columns_of_times,
)

KEY = "hoodie.datasource.write.recordkey.field"
KIND = "hoodie.keygen.timebased.timestamp.type"


def wanted(*partition_by: str, keys: int = 1) -> dict[str, str]:
    made = {str(option): str(value) for option, value in partition_options(partition_by, keys).items()}
    return {**made, KIND: "EPOCHMICROSECONDS"} if any(":" in item for item in partition_by) else made


def created(
    *partition_by: str, keys: int = 1, version: TableVersion = TableVersion.V9, **more: str
) -> TableConfig:
    config = key_generator_config(None, {KEY: "id", **wanted(*partition_by, keys=keys)})
    stored = {"hoodie.table.version": str(int(version)), **config.table_properties(version)}
    return TableConfig({**stored, **{name.replace("__", "."): value for name, value in more.items()}})


def opened(table: TableConfig, options: dict[str, str]) -> KeyGeneratorConfig:
    assert not depends_on_existing_key(table, options)
    return key_generator_config(table, options)


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9])
@pytest.mark.parametrize("keys_of_table", [1, 0])
@pytest.mark.parametrize("keys_of_write", [1, 0])
def test_the_partition_flag_may_be_repeated_with_and_without_record_key(
    version: TableVersion, keys_of_table: int, keys_of_write: int
) -> None:
    table = created("at:day", keys=keys_of_table, version=version)
    same = opened(table, {})
    assert opened(table, wanted("at:day", keys=keys_of_write)) == same
    assert same.partition_fields[0].type is PartitionFieldType.TIMESTAMP
    assert partition_columns_of_times(table, wanted("at:day", keys=keys_of_write)) == ("at",)


def test_the_partition_flag_may_leave_out_the_unit_of_the_table() -> None:
    table = created("at:day")
    assert opened(table, wanted("at")) == opened(table, {})


def test_several_partition_columns_may_be_repeated() -> None:
    table = created("country", "at:month")
    assert opened(table, wanted("country", "at:month", keys=0)) == opened(table, {})


@pytest.mark.parametrize(
    ("table", "partition_by", "stored"),
    [
        (created("at:day"), ("at:month",), "is partitioned by 'at:day'."),
        (created("at:day"), ("other:day",), "is partitioned by 'at:day'."),
        (created("at"), ("at:day",), "is partitioned by 'at'."),
        (created(), ("at:day",), "is not partitioned."),
        (created("country", "at:day"), ("country", "at:hour"), "is partitioned by 'country,at:day'."),
        (
            created("at:day", hoodie__keygen__timebased__output__dateformat="yyyy/MM/dd"),
            ("at:day",),
            "is partitioned by 'at', with times in the form 'yyyy/MM/dd' in the time zone UTC.",
        ),
        (
            created("at:day", hoodie__keygen__timebased__output__timezone="Europe/Berlin"),
            ("at:day",),
            "is partitioned by 'at', with times in the form 'yyyy-MM-dd' in the time zone Europe/Berlin.",
        ),
    ],
)
@pytest.mark.parametrize("keys", [1, 0])
def test_other_partitions_than_those_of_the_table_are_refused_in_the_words_of_the_user(
    table: TableConfig, partition_by: tuple[str, ...], stored: str, keys: int
) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        key_generator_config(table, wanted(*partition_by, keys=keys))
    assert refusal.value.message == f"--partition-by is {','.join(partition_by)!r}, but the table {stored}"
    assert "Leave out --partition-by." in refusal.value.hint
