"""Advice about partition columns of a new table."""

import pytest

from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.planning.table.key_generator import key_generator_config
from hudi_table_services.planning.table.time_partition_advice import (
    warn_of_changing_partitions,
    warn_of_times,
)

KEY = "hoodie.datasource.write.recordkey.field"
PARTITION = "hoodie.datasource.write.partitionpath.field"


def configured(key: str, partition: str) -> KeyGeneratorConfig:
    return key_generator_config(None, {KEY: key, PARTITION: partition})


def test_a_partition_column_that_is_the_ordering_field_causes_a_warning_with_both_cures() -> None:
    (warning,) = warn_of_changing_partitions(configured("id", "updated_at"), ("updated_at",))
    assert "'updated_at' is also the ordering field" in warning
    assert "never changes" in warning
    assert warning.endswith(
        "or give each write hoodie.index.type=GLOBAL_SIMPLE. If the column never changes, confirm this by an explicit "
        "hoodie.index.type, such as SIMPLE: later upserts with an explicit index type give no warning."
    )
    key_generator = configured("id", "updated_at")
    (warning,) = warn_of_changing_partitions(key_generator, ("updated_at",), merge_on_read=True)
    assert "=GLOBAL_SIMPLE and hoodie.simple.index.update.partition.path=false. If" in warning


@pytest.mark.parametrize(
    ("key", "partition"), [("id", "created_at"), ("id", ""), ("id,updated_at", "updated_at")]
)
def test_a_partition_that_an_update_cannot_change_causes_no_warning(key: str, partition: str) -> None:
    assert warn_of_changing_partitions(configured(key, partition), ("updated_at",)) == ()


def test_the_advice_to_partition_by_day_names_the_index_for_a_column_that_changes() -> None:
    (warning,) = warn_of_times(configured("id", "at"), {"at"})
    assert "--partition-by at:day" in warning
    assert "hoodie.index.type=GLOBAL_SIMPLE" in warning
