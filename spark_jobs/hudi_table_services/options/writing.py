"""From Hudi's keys to typed options: unknown keys are refused with a suggestion, contradictions by both names."""

from hudi_table_services.contract.writing import OPERATIONS, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import UpdatesStrategy
from hudi_table_services.model.concurrent_change import ConflictStrategy
from hudi_table_services.model.file_sizing import BLOOM_FOOTER_BYTES_PER_RECORD, FileSizingOptions
from hudi_table_services.model.table_config import (
    EVENT_TIME_PAYLOADS,
    OVERWRITE_PAYLOAD,
    RecordMergeMode,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.option import Service
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.registry import KNOWN_OPTIONS
from hudi_table_services.options.shared import (
    FILTER_MAX_ENTRIES,
    base_file_options,
    concurrency_mode,
    failed_writes_policy,
    metadata_enable,
    obeyed_options,
    says_the_same,
    staging_path,
)
from hudi_table_services.options.writing_checks import inapplicable_options, refuse_contradictions
from hudi_table_services.options.writing_values import (
    IndexType,
    InsertDupPolicy,
    PendingClusteringOptions,
    WriteOptions,
)

_WRITE = "hoodie.datasource.write."
_CLUSTERING = "hoodie.clustering."
_KEY_PREFIX = f"{_WRITE}commitmeta.key.prefix"
_OPERATION = f"{_WRITE}operation"
_MAX_SIZE, _SMALL_LIMIT = "hoodie.parquet.max.file.size", "hoodie.parquet.small.file.limit"
_STRATEGY = "hoodie.write.lock.conflict.resolution.strategy"
_DEFAULT_MAX_SIZE, _DEFAULT_SMALL_LIMIT = 120 << 20, 100 << 20


def resolve_options(request: UpsertRequest) -> WriteOptions:
    """Check all keys of a request and give them types.

    Raises:
        InvalidRequestError: names the key, its value and what is allowed; or both keys of a contradiction.
        UnsupportedTableError: a table version that this release does not know.
    """
    options = _with_typed_arguments(request)
    prefix = options.get(_KEY_PREFIX, "_")
    noted = {key: value for key, value in options.items() if _is_noted(key, prefix)}
    obeyed = {key: value for key, value in options.items() if key not in noted}
    obeyed, warnings = obeyed_options(obeyed, Service.WRITES)
    reader = OptionReader(obeyed)
    sizing = _file_sizing(reader)
    index_type = reader.enum("hoodie.index.type", IndexType, IndexType.SIMPLE)
    concurrency = concurrency_mode(reader)
    resolved = WriteOptions(
        operation=WriteOperation(reader.one_of(_OPERATION, "upsert", OPERATIONS).upper()),
        ordering_fields=reader.names(f"{_WRITE}precombine.field"),
        table_version=_table_version(reader),
        database_name=reader.text("hoodie.database.name"),
        file_sizing=sizing,
        index_type=index_type,
        update_partition_path=_update_partition_path(reader, index_type),
        combine_before_insert=reader.flag("hoodie.combine.before.insert", False),
        combine_before_upsert=reader.flag("hoodie.combine.before.upsert", True),
        combine_before_delete=reader.flag("hoodie.combine.before.delete", True),
        insert_dup_policy=_insert_dup_policy(reader),
        record_merge_mode=_merge_mode(reader),
        base_files=base_file_options(reader),
        metadata_enable=metadata_enable(reader),
        concurrency_mode=concurrency,
        failed_writes_policy=failed_writes_policy(reader, concurrency),
        lock=LockOptions.of(obeyed),
        conflict_strategy=reader.by_class(_STRATEGY, ConflictStrategy, ConflictStrategy.SIMPLE),
        retries_on_conflict=reader.whole_number("hoodie.write.num.retries.on.conflict.failures", 3, least=0),
        pending_clustering=_pending_clustering(reader),
        partitions_to_delete=reader.names(f"{_WRITE}partitions.to.delete"),
        staging_path=staging_path(reader),
        extra_metadata=noted,
        hoodie_options=obeyed,
        warnings=warnings,
    )
    refuse_contradictions(resolved, reader)
    return resolved.with_warnings(inapplicable_options(resolved, reader))


def _pending_clustering(reader: OptionReader) -> PendingClusteringOptions:
    return PendingClusteringOptions(
        strategy=reader.by_class(f"{_CLUSTERING}updates.strategy", UpdatesStrategy, UpdatesStrategy.GIVE_WAY),
        rolls_back=reader.flag(f"{_CLUSTERING}rollback.pending.replacecommit.on.conflict", False),
        wait_seconds=reader.whole_number("hoodie.airflow.clustering.wait.seconds", 600, least=0),
        expires_after_minutes=reader.whole_number(f"{_CLUSTERING}expiration.threshold.mins", 60, least=0),
    )


def _is_noted(key: str, prefix: str) -> bool:
    """Whether an option only goes into the commit's metadata. Hudi itself has keys that begin with the prefix."""
    return bool(prefix) and key.startswith(prefix) and key not in KNOWN_OPTIONS


def _with_typed_arguments(request: UpsertRequest) -> dict[str, str]:
    """The options with the request's own fields as keys; a field and a key that disagree are a contradiction."""
    options = dict(request.options)
    typed = {
        "hoodie.table.name": request.table_name,
        f"{_WRITE}recordkey.field": ",".join(request.record_key),
        f"{_WRITE}partitionpath.field": ",".join(request.partition_by),
        f"{_WRITE}precombine.field": request.ordering_field,
        # The default must not contradict an operation given as a key.
        _OPERATION: "" if request.operation == "upsert" else request.operation,
    }
    for key, value in typed.items():
        if value and not says_the_same(options.setdefault(key, value), value):
            raise InvalidRequestError(
                f"The request says {value!r}, and its option {key} says {options[key]!r}."
            )
    return options


def _table_version(reader: OptionReader) -> TableVersion | None:
    key = "hoodie.write.table.version"
    if key not in reader:
        return None
    version = TableVersion.parse(reader.text(key))
    if not version.is_writable:
        raise InvalidRequestError(f"{key}={reader.text(key)} cannot be written.", hint="Use 6, 8 or 9.")
    return version


def _file_sizing(reader: OptionReader) -> FileSizingOptions:
    estimate = "hoodie.copyonwrite.record.size.estimate"
    parity = reader.flag("hoodie.airflow.sizing.parity", False)
    return FileSizingOptions(
        max_file_size_bytes=reader.whole_number(_MAX_SIZE, _DEFAULT_MAX_SIZE, least=1),
        small_file_limit_bytes=_small_file_limit(reader, parity),
        insert_split_size=reader.whole_number("hoodie.copyonwrite.insert.split.size", 500_000, least=1),
        insert_auto_split=reader.flag("hoodie.copyonwrite.insert.auto.split", True),
        record_size_estimate_bytes=reader.whole_number(estimate, 1024, least=1),
        record_size_estimate_is_explicit=estimate in reader,
        estimation_threshold=reader.number("hoodie.record.size.estimation.threshold", 1.0, above=-1e-300),
        small_file_candidates_limit=reader.whole_number(
            "hoodie.merge.small.file.group.candidates.limit", 1, least=0
        ),
        estimator_max_commits=reader.whole_number("_hoodie.record.size.estimator.max.commits", 5, least=0),
        estimator_metadata_bytes=reader.whole_number(
            "hoodie.record.size.estimator.average.metadata.size", 0, least=0
        ),
        parity=parity,
        footer_bytes_per_record=0.0 if parity else BLOOM_FOOTER_BYTES_PER_RECORD,
        footer_max_records=reader.whole_number(FILTER_MAX_ENTRIES, 100_000, least=1),
    )


def _small_file_limit(reader: OptionReader, parity: bool) -> int:
    """0 or less turns padding off. A small max size given alone pulls the default down with it.

    In parity the limit comes down to the max size itself: above that Hudi pads nothing either.
    """
    largest = reader.whole_number(_MAX_SIZE, _DEFAULT_MAX_SIZE, least=1)
    if _SMALL_LIMIT in reader:
        return max(0, reader.whole_number(_SMALL_LIMIT, 0))
    return min(_DEFAULT_SMALL_LIMIT, largest if parity else largest * 5 // 6)


def _update_partition_path(reader: OptionReader, index_type: IndexType) -> bool:
    kind = "bloom" if index_type.uses_footers else "simple"
    return reader.flag(f"hoodie.{kind}.index.update.partition.path", True)


def _insert_dup_policy(reader: OptionReader) -> InsertDupPolicy:
    key, old_key = "hoodie.datasource.insert.dup.policy", f"{_WRITE}insert.drop.duplicates"
    policy = reader.enum(key, InsertDupPolicy, InsertDupPolicy.NONE)
    if not reader.flag(old_key, False):
        return policy
    if key in reader and policy is not InsertDupPolicy.DROP:
        raise InvalidRequestError(f"{old_key}=true and {key}={policy.value} contradict each other.")
    return InsertDupPolicy.DROP


def _merge_mode(reader: OptionReader) -> RecordMergeMode | None:
    key, payload_key = "hoodie.record.merge.mode", f"{_WRITE}payload.class"
    mode = _payload_mode(reader, payload_key)
    if key not in reader:
        return mode
    given = reader.enum(key, RecordMergeMode, RecordMergeMode.EVENT_TIME_ORDERING)
    if given is RecordMergeMode.CUSTOM:
        raise InvalidRequestError(
            f"{key}=CUSTOM cannot be followed.", hint="Use EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING."
        )
    if mode not in (None, given):
        raise InvalidRequestError(
            f"{payload_key}={reader.text(payload_key)} and {key}={given.value} contradict each other."
        )
    return given


def _payload_mode(reader: OptionReader, key: str) -> RecordMergeMode | None:
    payload = reader.text(key)
    if not payload:
        return None
    if payload in EVENT_TIME_PAYLOADS:
        return RecordMergeMode.EVENT_TIME_ORDERING
    if payload == OVERWRITE_PAYLOAD:
        return RecordMergeMode.COMMIT_TIME_ORDERING
    raise InvalidRequestError(
        f"{key}={payload} cannot be followed.",
        hint="Use hoodie.record.merge.mode=EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING.",
    )
