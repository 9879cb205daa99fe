"""Each of Hudi's keys sets a typed option, or gives a warning or an error that names the key.

No key is ignored silently.
"""

import contextlib
from dataclasses import fields
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from resolved_options import DEFAULT_PAYLOAD, OCC, WRITE, refusal, resolve

from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.model.concurrent_change import ConflictStrategy
from hudi_table_services.model.table_config import RecordMergeMode
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_SIZES_KEY, WriteOperation
from hudi_table_services.options.option import Effect
from hudi_table_services.options.registry import ALIASES, KNOWN_OPTIONS, OPTION_GROUPS, find_option
from hudi_table_services.options.writing_values import (
    ConcurrencyMode,
    FailedWritesPolicy,
    IndexType,
    InsertDupPolicy,
    WriteOptions,
)

LIMITS = {
    FILE_SIZES_KEY: '{"hoodie.parquet.max.file.size":125829120,"hoodie.parquet.small.file.limit":104857600}'
}
"""Metadata of each commit that creates files."""
ALL_OPTIONS = tuple(option for group in OPTION_GROUPS.values() for option in group)


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("hoodie.write.table.version", "9", "table_version", TableVersion.V9),
        ("hoodie.database.name", "db", "database_name", "db"),
        (f"{WRITE}operation", "BULK_INSERT", "operation", WriteOperation.BULK_INSERT),
        (f"{WRITE}precombine.field", "a, b", "ordering_fields", ("a", "b")),
        ("hoodie.table.precombine.field", "a", "ordering_fields", ("a",)),
        ("hoodie.table.ordering.fields", "a,b", "ordering_fields", ("a", "b")),
        ("hoodie.index.type", "global_bloom", "index_type", IndexType.GLOBAL_BLOOM),
        ("hoodie.combine.before.upsert", "FALSE", "combine_before_upsert", False),
        ("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING", "record_merge_mode", RecordMergeMode.COMMIT_TIME_ORDERING),
        (f"{WRITE}payload.class", DEFAULT_PAYLOAD, "record_merge_mode", RecordMergeMode.EVENT_TIME_ORDERING),
        ("hoodie.parquet.compression.codec", "SNAPPY", "base_files.codec", "snappy"),
        ("hoodie.parquet.compression.codec", "uncompressed", "base_files.codec", "none"),
        ("hoodie.airflow.parquet.compression.level", "9", "base_files.codec_level", 9),
        ("hoodie.parquet.block.size", "1048576", "base_files.block_size_bytes", 1048576),
        ("hoodie.index.bloom.fpp", "0.01", "base_files.bloom_fpp", 0.01),
        ("hoodie.bloom.index.filter.dynamic.max.entries", "7", "base_files.bloom_max_entries", 7),
        ("hoodie.metadata.enable", "false", "metadata.enable", False),
        ("hoodie.metadata.enable", "true", "metadata.enable", True),
        ("hoodie.metadata.compact.max.delta.commits", "3", "metadata.services.max_delta_commits", 3),
        ("hoodie.cleaner.policy.failed.writes", "LAZY", "failed_writes_policy", FailedWritesPolicy.LAZY),
        ("hoodie.clean.failed.writes.policy", "NEVER", "failed_writes_policy", FailedWritesPolicy.NEVER),
        ("hoodie.airflow.staging.path", ".hoodie/.aux/x/", "staging_path", ".hoodie/.aux/x"),
        (
            "hoodie.write.lock.conflict.resolution.strategy",
            "org.apache.hudi.client.transaction.PreferWriterConflictResolutionStrategy",
            "conflict_strategy",
            ConflictStrategy.PREFER_WRITER,
        ),
        ("hoodie.write.lock.storage.heartbeat.poll.secs", "20", "lock.renew_seconds", 20),
        ("hoodie.write.lock.storage.validity.timeout.secs", "400", "lock.validity_seconds", 400),
        ("_source", "landing", "extra_metadata", {**LIMITS, "_source": "landing"}),
    ],
)  # fmt: skip
def test_a_key_sets_its_field(key: str, value: str, field: str, expected: object) -> None:
    resolved = resolve({key: value})
    assert attrgetter(field)(resolved) == expected
    assert resolved.warnings == ()


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("hoodie.parquet.small.file.limit", "0", "small_file_limit_bytes", 0),
        ("hoodie.parquet.small.file.limit", "-1", "small_file_limit_bytes", 0),
        ("hoodie.parquet.max.file.size", "200000000", "max_file_size_bytes", 200000000),
        ("hoodie.copyonwrite.insert.auto.split", "false", "insert_auto_split", False),
        ("hoodie.copyonwrite.record.size.estimate", "100", "record_size_estimate_bytes", 100),
        ("hoodie.copyonwrite.record.size.estimate", "100", "record_size_estimate_is_explicit", True),
        ("hoodie.airflow.sizing.parity", "true", "parity", True),
    ],
)
def test_a_sizing_key_sets_its_field(key: str, value: str, field: str, expected: object) -> None:
    assert getattr(resolve({key: value}).file_sizing, field) == expected


def test_the_small_file_limit_follows_a_smaller_max_size() -> None:
    options = {"hoodie.parquet.max.file.size": "12000000"}
    assert resolve(options).file_sizing.small_file_limit_bytes == 10000000
    in_parity = resolve({**options, "hoodie.airflow.sizing.parity": "true"})
    assert in_parity.file_sizing.small_file_limit_bytes == 12000000


def test_fields_of_the_request_give_the_same_options_as_their_keys() -> None:
    keys = {
        f"{WRITE}recordkey.field": "id",
        f"{WRITE}partitionpath.field": "p,q",
        f"{WRITE}precombine.field": "ts",
        f"{WRITE}operation": "insert",
        "hoodie.table.name": "t",
    }
    by_fields = resolve(
        record_key=("id",), partition_by=("p", "q"), ordering_field="ts", operation="insert", table_name="t"
    )
    assert resolve(keys) == by_fields


def test_a_field_and_its_key_may_differ_in_blanks_and_letter_case() -> None:
    options = {f"{WRITE}partitionpath.field": "p, q", f"{WRITE}operation": "INSERT"}
    assert resolve(options, partition_by=("p", "q"), operation="insert").operation is WriteOperation.INSERT


def test_only_the_option_of_the_chosen_global_index_moves_rows() -> None:
    simple = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "false"}
    assert not resolve(simple).update_partition_path
    assert resolve({**simple, "hoodie.index.type": "GLOBAL_BLOOM"}).update_partition_path


@pytest.mark.parametrize("name", ["RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX"])
def test_the_record_index_updates_rows_in_their_partition_unless_its_own_option_moves_them(name: str) -> None:
    options = {"hoodie.index.type": name}
    assert resolve(options).index_type.is_global
    assert not resolve(options).update_partition_path
    assert resolve({**options, "hoodie.record.index.update.partition.path": "true"}).update_partition_path
    other = resolve({**options, "hoodie.simple.index.update.partition.path": "true"})
    assert not other.update_partition_path
    assert any("simple.index.update.partition.path has no effect" in w for w in other.warnings)


def test_with_several_writers_the_policy_for_failed_writes_is_lazy() -> None:
    resolved = resolve(OCC)
    assert resolved.concurrency_mode is ConcurrencyMode.OPTIMISTIC_CONCURRENCY_CONTROL
    assert resolved.failed_writes_policy is FailedWritesPolicy.LAZY


def test_the_old_name_of_the_drop_policy_is_accepted() -> None:
    resolved = resolve({f"{WRITE}insert.drop.duplicates": "true"}, operation="insert")
    assert resolved.insert_dup_policy is InsertDupPolicy.DROP


def test_options_with_the_prefix_become_metadata_of_the_commit() -> None:
    options = {f"{WRITE}commitmeta.key.prefix": "note.", "note.who": "me"}
    assert resolve(options).extra_metadata == {**LIMITS, "note.who": "me"}
    assert "Unknown option _who" in refusal({**options, "_who": "me"})
    assert resolve({"_who": "me"}).extra_metadata == {**LIMITS, "_who": "me"}


def test_the_key_generator_gets_options_under_their_main_names() -> None:
    resolved = resolve(
        {"hoodie.deltastreamer.keygen.timebased.timezone": "UTC", "hoodie.table.recordkey.fields": "id"}
    )
    assert resolved.hoodie_options["hoodie.keygen.timebased.timezone"] == "UTC"
    assert resolved.hoodie_options[f"{WRITE}recordkey.field"] == "id"


def test_no_key_is_listed_twice() -> None:
    names = [name for option in ALL_OPTIONS for name in (option.key, *option.aliases)]
    assert len(names) == len(set(names))
    assert all(option.meaning and not option.meaning.endswith(".") for option in ALL_OPTIONS)
    assert set(ALIASES.values()) <= set(KNOWN_OPTIONS)


def test_the_stated_default_of_every_key_applies_if_the_key_is_missing() -> None:
    compared = [f.name for f in fields(WriteOptions) if f.name not in ("hoodie_options", "warnings")]
    # If such a key is missing, the job uses the version of the table, the measured record size or the columns of the
    # index that the table has, not the default.
    explicit = {
        "hoodie.write.table.version",
        "hoodie.copyonwrite.record.size.estimate",
        "hoodie.metadata.index.column.stats.max.columns.to.index",
    }
    for option in ALL_OPTIONS:
        if option.default and option.key not in explicit:
            resolved = resolve({option.key: option.default})
            differing = [name for name in compared if getattr(resolved, name) != getattr(resolve(), name)]
            assert differing == [], option.key


@given(st.sampled_from([o.key for o in ALL_OPTIONS if o.effect is not Effect.REFUSED]), st.text(max_size=8))
def test_any_string_for_any_key_gives_options_or_an_error_of_this_project(key: str, value: str) -> None:
    with contextlib.suppress(HudiTableServiceError):
        resolve({key.replace("*", "x"): value})


@given(st.from_regex(r"_?hoodie\.[a-z]{1,6}(\.[a-z]{1,6}){0,3}", fullmatch=True))
def test_an_arbitrary_key_is_unknown_or_has_a_known_prefix(key: str) -> None:
    option = find_option(key)
    if option is not None and option.key.endswith("*"):
        assert key.startswith(option.key.removesuffix("*"))
    if option is None and not key.startswith("_"):
        with pytest.raises(InvalidRequestError, match="Unknown option"):
            resolve({key: "1"})
