"""Options that contradict each other, and options that have no effect beside the others."""

from collections.abc import Iterator

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.locks import (
    FILE_SYSTEM_PROVIDER,
    IN_PROCESS_PROVIDER,
    STORAGE_BASED_PROVIDER,
)
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.writing_values import (
    ConcurrencyMode,
    FailedWritesPolicy,
    IndexType,
    InsertDupPolicy,
    WriteOptions,
)

_PARTITIONS = "hoodie.datasource.write.partitions.to.delete"
_DUP_POLICY = "hoodie.datasource.insert.dup.policy"
_CONCURRENCY = "hoodie.write.concurrency.mode"
_FAILED_WRITES = "hoodie.cleaner.policy.failed.writes"
_PARITY_KEYS = (
    "hoodie.record.size.estimation.threshold",
    "_hoodie.record.size.estimator.max.commits",
    "hoodie.record.size.estimator.average.metadata.size",
    "hoodie.merge.small.file.group.candidates.limit",
)
_COMBINING = {
    "hoodie.combine.before.upsert": (WriteOperation.UPSERT,),
    "hoodie.combine.before.delete": (WriteOperation.DELETE,),
    "hoodie.combine.before.insert": (
        WriteOperation.INSERT,
        WriteOperation.BULK_INSERT,
        WriteOperation.INSERT_OVERWRITE,
        WriteOperation.INSERT_OVERWRITE_TABLE,
    ),
}
_PADDING = (WriteOperation.INSERT, WriteOperation.UPSERT)
_LOOKING_UP = (WriteOperation.UPSERT, WriteOperation.DELETE)


def refuse_contradictions(options: WriteOptions, given: OptionReader) -> None:
    """Raises InvalidRequestError naming both sides of the first contradiction."""
    for problem, hint in (*_operation_problems(options, given), *_concurrency_problems(options, given)):
        raise InvalidRequestError(problem, hint=hint)


def _operation_problems(options: WriteOptions, given: OptionReader) -> Iterator[tuple[str, str]]:
    operation = options.operation.value.lower()
    deletes_partitions = options.operation is WriteOperation.DELETE_PARTITION
    if deletes_partitions and not options.partitions_to_delete:
        yield "Operation delete_partition names no partitions.", f"Give {_PARTITIONS}."
    if options.partitions_to_delete and not deletes_partitions:
        yield (
            f"{_PARTITIONS} and operation {operation} contradict each other.",
            "The key is for operation delete_partition.",
        )
    policy = options.insert_dup_policy
    if policy is InsertDupPolicy.NONE:
        return
    if options.operation is not WriteOperation.INSERT:
        yield (
            f"{_DUP_POLICY}={policy.value} and operation {operation} contradict each other.",
            "The policy is for operation insert.",
        )
    if "hoodie.combine.before.insert" in given and not options.combine_before_insert:
        yield (
            f"{_DUP_POLICY}={policy.value} and hoodie.combine.before.insert=false contradict each other: "
            "a key that comes twice in the batch would be written twice.",
            "Leave hoodie.combine.before.insert out.",
        )


def _concurrency_problems(options: WriteOptions, given: OptionReader) -> Iterator[tuple[str, str]]:
    if options.concurrency_mode is ConcurrencyMode.SINGLE_WRITER:
        return
    mode = f"{_CONCURRENCY}={options.concurrency_mode.value}"
    if "hoodie.write.lock.provider" not in given:
        yield (
            f"{mode} without hoodie.write.lock.provider: all writers of a table must share one lock.",
            f"Name {FILE_SYSTEM_PROVIDER} (on object stores {STORAGE_BASED_PROVIDER}) here and for the other writers.",
        )
    if options.lock.provider == IN_PROCESS_PROVIDER:
        yield (
            f"{mode} and hoodie.write.lock.provider={IN_PROCESS_PROVIDER} contradict each other: "
            "that lock holds within one process only.",
            f"Use {FILE_SYSTEM_PROVIDER} (on object stores {STORAGE_BASED_PROVIDER}) here and for the other writers.",
        )
    if options.failed_writes_policy is FailedWritesPolicy.EAGER:
        yield (
            f"{mode} and {_FAILED_WRITES}=EAGER contradict each other: eager cleaning rolls back writers at work.",
            f"Leave {_FAILED_WRITES} out, or set it to LAZY.",
        )


def inapplicable_options(options: WriteOptions, given: OptionReader) -> tuple[str, ...]:
    """Warnings for keys that are given and mean nothing beside the other options."""
    reasons = {**_sizing_reasons(options), **_operation_reasons(options)}
    return tuple(f"{key} has no effect here: {reason}." for key, reason in reasons.items() if key in given)


def _sizing_reasons(options: WriteOptions) -> dict[str, str]:
    sizing = options.file_sizing
    reasons: dict[str, str] = {}
    if not sizing.parity:
        reasons.update(dict.fromkeys(_PARITY_KEYS, "it counts with hoodie.airflow.sizing.parity=true only"))
    if sizing.insert_auto_split:
        reasons["hoodie.copyonwrite.insert.split.size"] = (
            "hoodie.copyonwrite.insert.auto.split is on, so the record size decides"
        )
    if options.operation not in _PADDING:
        reasons["hoodie.parquet.small.file.limit"] = f"{options.operation.value.lower()} pads no small files"
    return reasons


def _operation_reasons(options: WriteOptions) -> dict[str, str]:
    operation = options.operation
    name = operation.value.lower()
    reasons = {
        key: f"it is not for operation {name}" for key, own in _COMBINING.items() if operation not in own
    }
    for kind, index_type in (("simple", IndexType.GLOBAL_SIMPLE), ("bloom", IndexType.GLOBAL_BLOOM)):
        if options.index_type is not index_type:
            reasons[f"hoodie.{kind}.index.update.partition.path"] = f"the index is not {index_type.value}"
    looks_up = operation in _LOOKING_UP or options.insert_dup_policy is not InsertDupPolicy.NONE
    if not looks_up:
        reasons["hoodie.index.type"] = f"{name} looks no keys up"
    return reasons
