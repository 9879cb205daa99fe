"""Options of a write that have no effect give a warning."""

import re

import pytest
from resolved_options import resolve


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.upsert.shuffle.parallelism",
        "hoodie.metadata.index.async",
        "hoodie.datasource.hive_sync.enable",
        "hoodie.write.auto.upgrade",
        "hoodie.write.lock.zookeeper.url",
        "hoodie.write.markers.type",
    ],
)
def test_a_key_that_jobs_of_this_project_ignore_gives_a_warning(key: str) -> None:
    (warning,) = resolve({key: "whatever"}).warnings
    assert warning.startswith(f"{key} has no effect here: ")
    assert "whatever" not in warning


@pytest.mark.parametrize(
    "key", ["hoodie.cleaner.commits.retained", "hoodie.clean.commits.retained", "hoodie.clustering.inline"]
)
def test_the_warning_about_a_key_of_another_service_says_that_its_value_is_invalid(key: str) -> None:
    (warning,) = resolve({key: "whatever"}).warnings
    assert warning.startswith(f"{key} has no effect here: it is for ")
    assert re.search(r"\. Its value is invalid, too: hoodie\.\S+=whatever is not ", warning)


@pytest.mark.parametrize(
    ("options", "operation", "key"),
    [
        ({"hoodie.copyonwrite.insert.split.size": "10"}, "upsert", "hoodie.copyonwrite.insert.split.size"),
        (
            {"hoodie.record.size.estimation.threshold": "2"},
            "upsert",
            "hoodie.record.size.estimation.threshold",
        ),
        (
            {"_hoodie.record.size.estimator.max.commits": "2"},
            "upsert",
            "_hoodie.record.size.estimator.max.commits",
        ),
        ({"hoodie.parquet.small.file.limit": "0"}, "bulk_insert", "hoodie.parquet.small.file.limit"),
        ({"hoodie.combine.before.insert": "true"}, "upsert", "hoodie.combine.before.insert"),
        (
            {"hoodie.bloom.index.update.partition.path": "true"},
            "upsert",
            "hoodie.bloom.index.update.partition.path",
        ),
        ({"hoodie.index.type": "BLOOM"}, "insert", "hoodie.index.type"),
    ],
)
def test_a_key_that_has_no_effect_with_the_other_options_gives_a_warning(
    options: dict[str, str], operation: str, key: str
) -> None:
    (warning,) = resolve(options, operation=operation).warnings
    assert warning.startswith(f"{key} has no effect here: ")


@pytest.mark.parametrize(
    ("options", "operation"),
    [
        (
            {"hoodie.copyonwrite.insert.split.size": "10", "hoodie.copyonwrite.insert.auto.split": "false"},
            "upsert",
        ),
        (
            {"_hoodie.record.size.estimator.max.commits": "2", "hoodie.airflow.sizing.parity": "true"},
            "upsert",
        ),
        ({"hoodie.combine.before.insert": "true"}, "bulk_insert"),
        ({"hoodie.bloom.index.update.partition.path": "true", "hoodie.index.type": "GLOBAL_BLOOM"}, "upsert"),
        ({"hoodie.index.type": "BLOOM", "hoodie.datasource.insert.dup.policy": "drop"}, "insert"),
    ],
)
def test_the_same_key_gives_no_warning_if_it_has_an_effect(options: dict[str, str], operation: str) -> None:
    assert resolve(options, operation=operation).warnings == ()
