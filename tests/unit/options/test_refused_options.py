"""Options of a write that are refused: contradictions, impossible values, unknown keys."""

import pytest
from resolved_options import DEFAULT_PAYLOAD, OCC, WRITE, refusal

from hudi_table_services.options.locks import IN_PROCESS_PROVIDER

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
    ("key", "value"),
    [
        ("hoodie.table.type", "MERGE_ON_REED"),
        ("hoodie.datasource.write.storage.type", "MERGE_ON_REED"),
        (f"{WRITE}table.type", "MERGE_ON_REED"),
    ],
)
def test_the_error_about_an_invalid_value_names_the_key_that_the_request_contains(
    key: str, value: str
) -> None:
    message = refusal({key: value})
    assert message.startswith(f"{key}={value} is not supported.")
    assert "Did you mean MERGE_ON_READ?" in message
