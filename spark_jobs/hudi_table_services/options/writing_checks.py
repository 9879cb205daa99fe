"""Reject options that contradict each other. Warn about options that have no effect because of other options."""

from collections.abc import Iterator

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.file_sizing import MAX_INDEX_BUCKETS
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys import writing as keys
from hudi_table_services.options.keys.bucket_index import HASH_FIELD, NUM_BUCKETS
from hudi_table_services.options.keys.locks import LOCK_PROVIDER
from hudi_table_services.options.locks import (
    FILE_SYSTEM_PROVIDER,
    IN_PROCESS_PROVIDER,
    STORAGE_BASED_PROVIDER,
)
from hudi_table_services.options.option import AnyOption
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.writing_values import (
    ConcurrencyMode,
    FailedWritesPolicy,
    IndexType,
    InsertDupPolicy,
    WriteOptions,
)

_PARITY_KEYS = (
    keys.ESTIMATION_THRESHOLD,
    keys.ESTIMATOR_MAX_COMMITS,
    keys.ESTIMATOR_METADATA_SIZE,
    keys.SMALL_FILE_CANDIDATES,
)
_COMBINING = {
    keys.COMBINE_BEFORE_UPSERT: (WriteOperation.UPSERT,),
    keys.COMBINE_BEFORE_DELETE: (WriteOperation.DELETE,),
    keys.COMBINE_BEFORE_INSERT: (
        WriteOperation.INSERT,
        WriteOperation.BULK_INSERT,
        WriteOperation.INSERT_OVERWRITE,
        WriteOperation.INSERT_OVERWRITE_TABLE,
    ),
}
_MOVING = {
    keys.SIMPLE_UPDATES_PARTITION: (IndexType.GLOBAL_SIMPLE,),
    keys.BLOOM_UPDATES_PARTITION: (IndexType.GLOBAL_BLOOM,),
    keys.RECORD_INDEX_UPDATES_PARTITION: (IndexType.RECORD_INDEX, IndexType.GLOBAL_RECORD_LEVEL_INDEX),
}
_SIZING_KEYS = (
    keys.MAX_FILE_SIZE,
    keys.SMALL_FILE_LIMIT,
    keys.INSERT_AUTO_SPLIT,
    keys.INSERT_SPLIT_SIZE,
    keys.SIZING_PARITY,
    *_PARITY_KEYS,
)
"""Keys that have no effect if the bucket index assigns rows to files."""
_PADDING = (WriteOperation.INSERT, WriteOperation.UPSERT)
_READING_KEYS = (WriteOperation.UPSERT, WriteOperation.DELETE)


def refuse_contradictions(options: WriteOptions, given: OptionReader) -> None:
    """Raise InvalidRequestError if two options contradict each other. The message names both options."""
    for problem, hint in (
        *_operation_problems(options, given),
        *_bucket_problems(options, given),
        *_concurrency_problems(options, given),
    ):
        raise InvalidRequestError(problem, hint=hint)


def _bucket_problems(options: WriteOptions, given: OptionReader) -> Iterator[tuple[str, str]]:
    if given[keys.STORAGE_LAYOUT] == "bucket" and not options.index_type.has_buckets:
        yield (
            f"{keys.STORAGE_LAYOUT}=BUCKET and {keys.INDEX_TYPE}={options.index_type.value} contradict each other.",
            f"Set {keys.INDEX_TYPE}=BUCKET, or leave {keys.STORAGE_LAYOUT} out.",
        )
    if options.bucket_count > MAX_INDEX_BUCKETS:
        yield (
            f"{NUM_BUCKETS}={options.bucket_count} is too large: it must be at most {MAX_INDEX_BUCKETS}.",
            f"Set {NUM_BUCKETS} to the number of buckets of the table.",
        )


def _operation_problems(options: WriteOptions, given: OptionReader) -> Iterator[tuple[str, str]]:
    operation = options.operation.value.lower()
    deletes_partitions = options.operation is WriteOperation.DELETE_PARTITION
    if deletes_partitions and not options.partitions_to_delete:
        yield (
            "Operation delete_partition names no partitions.",
            f"Set {keys.PARTITIONS_TO_DELETE} to partition paths, separated by commas; * matches any characters.",
        )
    if options.partitions_to_delete and not deletes_partitions:
        yield (
            f"{keys.PARTITIONS_TO_DELETE} and operation {operation} contradict each other.",
            "The key is for operation delete_partition.",
        )
    policy = options.insert_dup_policy
    if policy is InsertDupPolicy.NONE:
        return
    if options.operation is not WriteOperation.INSERT:
        yield (
            f"{keys.INSERT_DUP_POLICY}={policy.value} and operation {operation} contradict each other.",
            "The policy is for operation insert.",
        )
    if keys.COMBINE_BEFORE_INSERT in given and not options.combine_before_insert:
        yield (
            f"{keys.INSERT_DUP_POLICY}={policy.value} and {keys.COMBINE_BEFORE_INSERT}=false contradict each other: "
            "a record key that occurs twice in the batch would be written twice.",
            f"Leave {keys.COMBINE_BEFORE_INSERT} out.",
        )


def _concurrency_problems(options: WriteOptions, given: OptionReader) -> Iterator[tuple[str, str]]:
    if options.concurrency_mode is ConcurrencyMode.SINGLE_WRITER:
        return
    mode = f"{keys.CONCURRENCY_MODE}={options.concurrency_mode.value}"
    if LOCK_PROVIDER not in given:
        yield (
            f"{mode} without {LOCK_PROVIDER}: all writers of a table must share one lock.",
            f"Use {FILE_SYSTEM_PROVIDER} (on object stores {STORAGE_BASED_PROVIDER}) for all writers of the table.",
        )
    if options.lock.provider == IN_PROCESS_PROVIDER:
        yield (
            f"{mode} and {LOCK_PROVIDER}={IN_PROCESS_PROVIDER} contradict each other: "
            "that lock works only within one process.",
            f"Use {FILE_SYSTEM_PROVIDER} (on object stores {STORAGE_BASED_PROVIDER}) for all writers of the table.",
        )
    if options.failed_writes_policy is FailedWritesPolicy.EAGER:
        yield (
            f"{mode} and {keys.FAILED_WRITES_POLICY}=EAGER contradict each other: with EAGER a job rolls back "
            "the commits of running writers.",
            f"Leave {keys.FAILED_WRITES_POLICY} out, or set it to LAZY.",
        )


def inapplicable_options(options: WriteOptions, given: OptionReader) -> tuple[str, ...]:
    """Return a warning for each given key that has no effect because of other options. The warning gives the reason."""
    reasons = {**_sizing_reasons(options), **_operation_reasons(options)}
    return tuple(f"{key} has no effect here: {reason}." for key, reason in reasons.items() if key in given)


def _sizing_reasons(options: WriteOptions) -> dict[AnyOption, str]:
    if options.index_type.has_buckets:
        return dict.fromkeys(_SIZING_KEYS, "the bucket index determines the file group of each row")
    sizing = options.file_sizing
    reasons: dict[AnyOption, str] = {}
    if not sizing.parity:
        reasons.update(dict.fromkeys(_PARITY_KEYS, f"jobs read it only with {keys.SIZING_PARITY}=true"))
    if sizing.insert_auto_split:
        reasons[keys.INSERT_SPLIT_SIZE] = (
            f"{keys.INSERT_AUTO_SPLIT} is on, so the record size determines the split"
        )
    if options.operation not in _PADDING:
        reasons[keys.SMALL_FILE_LIMIT] = f"{options.operation.value.lower()} pads no small files"
    return reasons


def _operation_reasons(options: WriteOptions) -> dict[AnyOption, str]:
    operation = options.operation
    name = operation.value.lower()
    reasons: dict[AnyOption, str] = {
        key: f"it is not for operation {name}" for key, own in _COMBINING.items() if operation not in own
    }
    for key, index_types in _MOVING.items():
        if options.index_type not in index_types:
            reasons[key] = f"the index is not {' or '.join(each.value for each in index_types)}"
    if options.index_type.has_buckets:
        return {**reasons, **_reasons_of_buckets(options)}
    reasons.update(dict.fromkeys((NUM_BUCKETS, HASH_FIELD), "the index is not BUCKET"))
    looks_up = operation in _READING_KEYS or options.insert_dup_policy is not InsertDupPolicy.NONE
    if not looks_up:
        reasons[keys.INDEX_TYPE] = f"{name} does not look up record keys"
    return reasons


def _reasons_of_buckets(options: WriteOptions) -> dict[AnyOption, str]:
    """Return why options have no effect with a bucket index, which keeps one row per record key in a file group."""
    always = f"with {keys.INDEX_TYPE}=BUCKET, the job always writes one row per record key"
    operation, reasons = options.operation, dict[AnyOption, str]()
    if operation is WriteOperation.DELETE_PARTITION:
        named = (keys.INDEX_TYPE, NUM_BUCKETS, HASH_FIELD)
        reasons.update(dict.fromkeys(named, "delete_partition writes no rows"))
    if operation is WriteOperation.UPSERT and not options.combine_before_upsert:
        reasons[keys.COMBINE_BEFORE_UPSERT] = always
    inserts = (WriteOperation.INSERT, WriteOperation.BULK_INSERT)
    if operation in inserts and not options.combine_before_insert:
        reasons[keys.COMBINE_BEFORE_INSERT] = always
    return reasons
