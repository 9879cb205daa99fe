"""Each of Hudi's keys sets a typed option, or gives a warning or an error that names the key.

No key is ignored silently.
"""

import contextlib
import re
from dataclasses import fields
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.model.concurrent_change import ConflictStrategy
from hudi_table_services.model.table_config import RecordMergeMode
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_SIZES_KEY, WriteOperation
from hudi_table_services.options.locks import FILE_SYSTEM_PROVIDER, IN_PROCESS_PROVIDER
from hudi_table_services.options.option import Effect
from hudi_table_services.options.registry import ALIASES, KNOWN_OPTIONS, OPTION_GROUPS, find_option
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import (
    ConcurrencyMode,
    FailedWritesPolicy,
    IndexType,
    InsertDupPolicy,
    WriteOptions,
)

OCC = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": FILE_SYSTEM_PROVIDER,
}
WRITE = "hoodie.datasource.write."
LIMITS = {
    FILE_SIZES_KEY: '{"hoodie.parquet.max.file.size":125829120,"hoodie.parquet.small.file.limit":104857600}'
}
"""Metadata of each commit that creates files."""
DEFAULT_PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
ALL_OPTIONS = tuple(option for group in OPTION_GROUPS.values() for option in group)


def resolve(options: dict[str, str] | None = None, **request: object) -> WriteOptions:
    return resolve_options(UpsertRequest(base_path="/t", options=options or {}, **request))  # type: ignore[arg-type]


def refusal(options: dict[str, str], **request: object) -> str:
    with pytest.raises(HudiTableServiceError) as refused:
        resolve(options, **request)
    return str(refused.value)


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


DUP_POLICY = "hoodie.datasource.insert.dup.policy"
CONCURRENCY = "hoodie.write.concurrency.mode"
FAILED_WRITES = "hoodie.cleaner.policy.failed.writes"
MAX_SIZE, SMALL_LIMIT = "hoodie.parquet.max.file.size", "hoodie.parquet.small.file.limit"
CODEC, LEVEL = "hoodie.parquet.compression.codec", "hoodie.airflow.parquet.compression.level"
MERGE_MODE, PAYLOAD = "hoodie.record.merge.mode", f"{WRITE}payload.class"
ORDERING, OTHER_ORDERING = f"{WRITE}precombine.field", "hoodie.table.ordering.fields"
TO_DELETE = f"{WRITE}partitions.to.delete"
COMBINE = "hoodie.combine.before.insert"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({ORDERING: "a", OTHER_ORDERING: "b"}, [f"{ORDERING}=a", f"{OTHER_ORDERING}=b"]),
        ({FAILED_WRITES: "LAZY", "hoodie.clean.failed.writes.policy": "EAGER"}, ["=LAZY", "=EAGER"]),
        ({MAX_SIZE: "10", SMALL_LIMIT: "11"}, [MAX_SIZE, SMALL_LIMIT]),
        ({SMALL_LIMIT: "125829121"}, [MAX_SIZE, SMALL_LIMIT]),
        ({MERGE_MODE: "COMMIT_TIME_ORDERING", PAYLOAD: DEFAULT_PAYLOAD}, [MERGE_MODE, PAYLOAD]),
        ({DUP_POLICY: "drop"}, [f"{DUP_POLICY}=drop", "operation upsert"]),
        (
            {DUP_POLICY: "fail", f"{WRITE}insert.drop.duplicates": "true"},
            [DUP_POLICY, "drop.duplicates=true"],
        ),
        (
            {DUP_POLICY: "fail", COMBINE: "false", f"{WRITE}operation": "insert"},
            [DUP_POLICY, f"{COMBINE}=false"],
        ),
        ({TO_DELETE: "p=1"}, [TO_DELETE, "operation upsert"]),
        ({f"{WRITE}operation": "delete_partition"}, ["delete_partition", TO_DELETE]),
        ({CONCURRENCY: "OPTIMISTIC_CONCURRENCY_CONTROL"}, [CONCURRENCY, "hoodie.write.lock.provider"]),
        ({**OCC, FAILED_WRITES: "EAGER"}, [CONCURRENCY, FAILED_WRITES]),
        ({**OCC, "hoodie.write.lock.provider": IN_PROCESS_PROVIDER}, [CONCURRENCY, IN_PROCESS_PROVIDER]),
        ({LEVEL: "3", CODEC: "snappy"}, [LEVEL, f"{CODEC}=snappy"]),
    ],
)
def test_a_contradiction_names_both_keys(options: dict[str, str], words: list[str]) -> None:
    message = refusal(options)
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("options", "request_fields", "words"),
    [
        ({f"{WRITE}recordkey.field": "id"}, {"record_key": ("key",)}, ["'key'", "recordkey.field", "'id'"]),
        ({f"{WRITE}operation": "insert"}, {"operation": "delete"}, ["'delete'", "operation", "'insert'"]),
        ({"hoodie.table.name": "a"}, {"table_name": "b"}, ["'b'", "hoodie.table.name", "'a'"]),
    ],
)
def test_a_key_that_contradicts_its_field_is_refused(
    options: dict[str, str], request_fields: dict[str, object], words: list[str]
) -> None:
    message = refusal(options, **request_fields)
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("hoodie.parquet.max.file.size", "0", "it must be at least 1"),
        ("hoodie.parquet.max.file.size", "120MB", "is not a whole number"),
        ("hoodie.parquet.small.file.limit", "many", "is not a whole number"),
        ("hoodie.copyonwrite.record.size.estimate", "0", "it must be at least 1"),
        ("hoodie.index.bloom.fpp", "1.5", "above 0 and below 1"),
        ("hoodie.index.bloom.fpp", "nan", "out of bounds"),
        (
            "hoodie.index.type",
            "HBASE",
            "Valid values: SIMPLE, BLOOM, GLOBAL_SIMPLE, GLOBAL_BLOOM, RECORD_INDEX",
        ),
        ("hoodie.index.type", "INMEMORY", "hoodie.index.type=INMEMORY is not supported"),
        ("hoodie.record.merge.mode", "CUSTOM", "Use EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING"),
        (f"{WRITE}payload.class", "com.example.Mine", "payload.class=com.example.Mine is not supported"),
        (f"{WRITE}operation", "merge", "Valid values: upsert"),
        (f"{WRITE}hive_style_partitioning", "yes", "neither true nor false"),
        ("hoodie.combine.before.insert", "1", "neither true nor false"),
        (f"{WRITE}table.type", "MERGE_ON_WRITE", "Valid values: COPY_ON_WRITE, MERGE_ON_READ"),
        ("hoodie.table.type", "MERGE_ON_WRITE", "Valid values: COPY_ON_WRITE, MERGE_ON_READ"),
        ("hoodie.logfile.data.block.format", "hfile", "Valid values: avro, parquet"),
        ("hoodie.logfile.data.block.max.size", "0", "at least 1024"),
        ("hoodie.populate.meta.fields", "false", "support only the value true"),
        (f"{WRITE}drop.partition.columns", "true", "support only the value false"),
        ("hoodie.write.table.version", "5", "Use 6, 8 or 9"),
        ("hoodie.write.table.version", "7", "Table version '7' is not supported"),
        ("hoodie.parquet.compression.codec", "brotli", "Valid values: zstd, gzip"),
        ("hoodie.airflow.parquet.compression.level", "23", "levels up to 22"),
        ("hoodie.write.lock.provider", "com.example.Lock", "not supported"),
        ("hoodie.write.lock.num_retries", "-1", "it must be at least 0"),
        ("hoodie.write.concurrency.mode", "NON_BLOCKING_CONCURRENCY_CONTROL", "is not supported"),
        (
            "hoodie.write.lock.conflict.resolution.strategy",
            "org.apache.hudi.client.transaction.BucketIndexConcurrentFileWritesConflictResolutionStrategy",
            "Valid values: SimpleConcurrentFileWrites",
        ),
        ("hoodie.precommit.validators", "com.example.V", "are Java classes"),
        ("hoodie.table.version", "6", "this is a property of the table"),
    ],
)  # fmt: skip
def test_an_impossible_value_is_refused(key: str, value: str, message: str) -> None:
    refused = refusal({key: value})
    assert message in refused
    assert key.rpartition(".")[2] in refused or "version" in refused


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("hoodie.parquet.max.filesize", "hoodie.parquet.max.file.size"),
        ("hoodie.parquet.smallfile.limit", "hoodie.parquet.small.file.limit"),
        ("hoodie.datasource.write.precombine.fields", "hoodie.datasource.write.precombine.field"),
        ("hoodie.metadata.enabled", "hoodie.metadata.enable"),
        ("hoodie.cleaner.policy.failed.write", "hoodie.cleaner.policy.failed.writes"),
        ("hoodie.airflow.sizing.party", "hoodie.airflow.sizing.parity"),
    ],
)
def test_an_error_about_a_misspelt_key_names_the_intended_key(key: str, meant: str) -> None:
    assert refusal({key: "1"}) == f"Unknown option {key}. Did you mean {meant}?"


@pytest.mark.parametrize("key", ["hoodie.Index.type", "HOODIE.INDEX.TYPE"])
def test_an_error_about_a_key_says_if_only_the_case_differs(key: str) -> None:
    advice = "Did you mean hoodie.index.type? Only upper and lower case differ."
    assert refusal({key: "BLOOM"}) == f"Unknown option {key}. {advice}"


BYTES = "to a whole number of bytes of at least 1, such as 104857600 for 100 MiB, or leave it out."


@pytest.mark.parametrize(
    ("key", "value", "advice"),
    [
        ("hoodie.parquet.max.file.size", "many", BYTES),
        ("hoodie.parquet.max.file.size", "0", BYTES),
        ("hoodie.index.bloom.fpp", "many", "to a number above 0 and below 1, or leave it out."),
        ("hoodie.index.bloom.fpp", "2", "to a number above 0 and below 1, or leave it out."),
        ("hoodie.combine.before.insert", "1", "to true or false."),
    ],
)
def test_an_error_about_a_value_says_what_to_do(key: str, value: str, advice: str) -> None:
    assert refusal({key: value}).endswith(f"Set {key} {advice}")


def test_an_error_about_a_field_and_its_option_names_the_flag() -> None:
    assert refusal({"hoodie.table.name": "a"}, table_name="b") == (
        "--table-name is 'b', but its option hoodie.table.name is 'a'. Give either --table-name or the option."
    )


def test_a_key_that_resembles_no_known_key_is_refused() -> None:
    assert refusal({"spark.sql.shuffle.partitions": "1"}).startswith("Unknown option spark.sql")


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
