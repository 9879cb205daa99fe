"""Convert hoodie.* keys to the typed options of a write."""

import json
from collections.abc import Mapping

from hudi_table_services.contract.writing import (
    SourceMode,
    SourceSpec,
    TimestampsWithoutZone,
    UpsertRequest,
    refuse_as_load,
)
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.file_sizing import BLOOM_FOOTER_BYTES_PER_RECORD, FileSizingOptions
from hudi_table_services.model.overview.table_overview import FileSizeLimits
from hudi_table_services.model.table_config import RecordMergeMode, mode_of_payload
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_SIZES_KEY, WriteOperation
from hudi_table_services.options.keys import clustering as clustering_keys
from hudi_table_services.options.keys import writing as keys
from hudi_table_services.options.keys.base_files import BLOOM_MAX_ENTRIES, SMALL_ROW_GROUP
from hudi_table_services.options.keys.bucket_index import HASH_FIELD, NUM_BUCKETS
from hudi_table_services.options.keys.empty_commits import ALLOW_EMPTY_COMMIT
from hudi_table_services.options.keys.key_generation import RECORD_KEY
from hudi_table_services.options.keys.log_files import LOG_BLOCK_FORMAT, LOG_BLOCK_SIZE, TABLE_TYPE
from hudi_table_services.options.keys.time_partitions import partition_options
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.metadata_settings import metadata_table_settings
from hudi_table_services.options.option import AnyOption, OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.registry import KNOWN_OPTIONS
from hudi_table_services.options.shared import (
    base_file_options,
    failed_writes_policy,
    known_options,
    staging_path,
    with_fields,
)
from hudi_table_services.options.writing_checks import inapplicable_options, refuse_contradictions
from hudi_table_services.options.writing_values import (
    IndexType,
    InsertDupPolicy,
    PendingClusteringOptions,
    WriteOptions,
)

_SIZES_FILES = (
    WriteOperation.UPSERT,
    WriteOperation.INSERT,
    WriteOperation.BULK_INSERT,
    WriteOperation.INSERT_OVERWRITE,
    WriteOperation.INSERT_OVERWRITE_TABLE,
)
"""Operations that create files for new rows. Commits of other operations record no limits of file sizes."""

DEFAULT_LIMITS = FileSizeLimits(
    small_file_limit_bytes=keys.SMALL_FILE_LIMIT.default_value,
    max_file_size_bytes=keys.MAX_FILE_SIZE.default_value,
)
"""The limits of file sizes in a table whose writes record no limits."""


def resolve_options(request: UpsertRequest) -> WriteOptions:
    """Check all keys of a write request and convert them to typed options.

    Raises:
        InvalidRequestError: an option is invalid or contradicts another option. The message names the key, its value
            and the allowed values, or both keys of a contradiction.
        UnsupportedTableError: this release does not support the table version.
    """
    options = with_fields(request.options, _fields(request))
    prefix = options.get(keys.METADATA_KEY_PREFIX.key, keys.METADATA_KEY_PREFIX.default)
    stored_only = {key: value for key, value in options.items() if _is_only_stored(key, prefix)}
    others = {key: value for key, value in options.items() if key not in stored_only}
    named, warnings = known_options(others, OptionGroup.WRITES)
    reader = OptionReader(named)
    index_type = reader[keys.INDEX_TYPE]
    operation, file_sizing = WriteOperation(reader[keys.OPERATION].upper()), _file_sizing(reader)
    resolved = WriteOptions(
        operation=operation,
        ordering_fields=reader[keys.ORDERING_FIELDS],
        table_version=_table_version(reader),
        table_type=reader[TABLE_TYPE],
        database_name=reader[keys.DATABASE_NAME],
        file_sizing=file_sizing,
        index_type=index_type,
        bucket_count=reader[NUM_BUCKETS],
        bucket_hash_fields=reader[HASH_FIELD],
        update_partition_path=_update_partition_path(reader, index_type),
        combine_before_insert=reader[keys.COMBINE_BEFORE_INSERT],
        combine_before_upsert=reader[keys.COMBINE_BEFORE_UPSERT],
        combine_before_delete=reader[keys.COMBINE_BEFORE_DELETE],
        insert_dup_policy=_insert_dup_policy(reader),
        record_merge_mode=_merge_mode(reader),
        base_files=base_file_options(reader),
        small_row_group_bytes=reader[SMALL_ROW_GROUP],
        log_block=reader[LOG_BLOCK_FORMAT],
        log_block_bytes=reader[LOG_BLOCK_SIZE],
        metadata=metadata_table_settings(reader),
        concurrency_mode=reader[keys.CONCURRENCY_MODE],
        failed_writes_policy=failed_writes_policy(reader),
        lock=LockOptions.of(named),
        conflict_strategy=reader[keys.CONFLICT_STRATEGY],
        retries_on_conflict=reader[keys.RETRIES_ON_CONFLICT],
        pending_clustering=_pending_clustering(reader),
        partitions_to_delete=reader[keys.PARTITIONS_TO_DELETE],
        staging_path=staging_path(reader),
        timestamps_without_zone=_without_zone(request),
        allows_empty_commits=reader[ALLOW_EMPTY_COMMIT],
        extra_metadata={**stored_only, **_limits_to_record(operation, file_sizing)},
        hoodie_options=named,
        warnings=warnings,
    )
    if request.skip_unchanged and resolved.operation is not WriteOperation.UPSERT:
        raise InvalidRequestError(
            f"Operation {resolved.operation.value.lower()} does not look for unchanged rows.",
            hint="Remove skip_unchanged (--skip-unchanged), or use the operation upsert.",
        )
    refuse_contradictions(resolved, reader)
    if request.source is not None and request.source.table:
        _check_load(request, request.source, resolved)
    return resolved.with_warnings(inapplicable_options(resolved, reader))


def _check_load(request: UpsertRequest, source: SourceSpec, resolved: WriteOptions) -> None:
    refuse_as_load(request, source.begin, resolved.operation.value.lower())
    if source.mode == SourceMode.CHANGED_GROUPS.value and resolved.ordering_fields:
        raise InvalidRequestError(
            f"A load of changed groups cannot have the ordering field {resolved.ordering_fields[0]!r}. The load "
            "computes each group again from the whole source, so the newer load must win.",
            hint="Leave the ordering field out.",
        )


def _without_zone(request: UpsertRequest) -> TimestampsWithoutZone | None:
    text = request.timestamps_without_zone
    return TimestampsWithoutZone(text) if text else None


def _fields(request: UpsertRequest) -> dict[AnyOption, object]:
    return {
        keys.TABLE_NAME: request.table_name,
        RECORD_KEY: ",".join(request.record_key),
        **partition_options(request.partition_by, len(request.record_key)),
        keys.ORDERING_FIELDS: request.ordering_field,
        # The default value of `operation` is left out, so that it does not contradict an operation in the options.
        keys.OPERATION: "" if request.operation == keys.OPERATION.default else request.operation,
    }


def _pending_clustering(reader: OptionReader) -> PendingClusteringOptions:
    return PendingClusteringOptions(
        strategy=reader[clustering_keys.UPDATES_STRATEGY],
        rolls_back=reader[clustering_keys.ROLLBACK_ON_CONFLICT],
        wait_seconds=reader[clustering_keys.WAIT_SECONDS],
        expires_after_minutes=reader[clustering_keys.EXPIRATION_MINUTES],
    )


def _is_only_stored(key: str, prefix: str) -> bool:
    """Whether an option is only stored in the commit's metadata: its key has the prefix and is not a known option."""
    return bool(prefix) and key.startswith(prefix) and key not in KNOWN_OPTIONS


def _table_version(reader: OptionReader) -> TableVersion | None:
    if keys.TABLE_VERSION not in reader:
        return None
    text = reader.text(keys.TABLE_VERSION)
    version = TableVersion.parse(text)
    if not version.is_writable:
        raise InvalidRequestError(f"{keys.TABLE_VERSION}={text} cannot be written.", hint="Use 6, 8 or 9.")
    return version


def _file_sizing(reader: OptionReader) -> FileSizingOptions:
    parity = reader[keys.SIZING_PARITY]
    return FileSizingOptions(
        max_file_size_bytes=reader[keys.MAX_FILE_SIZE],
        small_file_limit_bytes=_small_file_limit(reader, parity),
        insert_split_size=reader[keys.INSERT_SPLIT_SIZE],
        insert_auto_split=reader[keys.INSERT_AUTO_SPLIT],
        record_size_estimate_bytes=reader[keys.RECORD_SIZE_ESTIMATE],
        record_size_estimate_is_explicit=keys.RECORD_SIZE_ESTIMATE in reader,
        estimation_threshold=reader[keys.ESTIMATION_THRESHOLD],
        small_file_candidates_limit=reader[keys.SMALL_FILE_CANDIDATES],
        estimator_max_commits=reader[keys.ESTIMATOR_MAX_COMMITS],
        estimator_metadata_bytes=reader[keys.ESTIMATOR_METADATA_SIZE],
        parity=parity,
        footer_bytes_per_record=0.0 if parity else BLOOM_FOOTER_BYTES_PER_RECORD,
        footer_max_records=reader[BLOOM_MAX_ENTRIES],
    )


def _small_file_limit(reader: OptionReader, parity: bool) -> int:
    """Return the size below which files are padded; 0 means no padding.

    The default is at most five sixths of the maximum file size. With parity, the default is at most the maximum file
    size, because Hudi does not pad files above that size.
    """
    largest, limit = reader[keys.MAX_FILE_SIZE], reader[keys.SMALL_FILE_LIMIT]
    if keys.SMALL_FILE_LIMIT in reader:
        return max(0, limit)
    return min(limit, largest if parity else largest * 5 // 6)


def _update_partition_path(reader: OptionReader, index_type: IndexType) -> bool:
    if index_type.uses_record_index:
        return reader[keys.RECORD_INDEX_UPDATES_PARTITION]
    return reader[keys.BLOOM_UPDATES_PARTITION if index_type.uses_footers else keys.SIMPLE_UPDATES_PARTITION]


def _insert_dup_policy(reader: OptionReader) -> InsertDupPolicy:
    policy = reader[keys.INSERT_DUP_POLICY]
    if not reader[keys.INSERT_DROP_DUPLICATES]:
        return policy
    if keys.INSERT_DUP_POLICY in reader and policy is not InsertDupPolicy.DROP:
        raise InvalidRequestError(
            f"{keys.INSERT_DROP_DUPLICATES}=true and {keys.INSERT_DUP_POLICY}={policy.value} contradict each other."
        )
    return InsertDupPolicy.DROP


def _merge_mode(reader: OptionReader) -> RecordMergeMode | None:
    mode, given = _payload_mode(reader), reader[keys.MERGE_MODE]
    if given is None:
        return mode
    if given is RecordMergeMode.CUSTOM:
        raise InvalidRequestError(
            f"{keys.MERGE_MODE}=CUSTOM is not supported.",
            hint="Use EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING.",
        )
    if mode not in (None, given):
        raise InvalidRequestError(
            f"{keys.PAYLOAD_CLASS}={reader[keys.PAYLOAD_CLASS]} and {keys.MERGE_MODE}={given.value} contradict "
            "each other."
        )
    return given


def _payload_mode(reader: OptionReader) -> RecordMergeMode | None:
    payload = reader[keys.PAYLOAD_CLASS]
    if not payload:
        return None
    mode = mode_of_payload(payload)
    if mode is not RecordMergeMode.CUSTOM:
        return mode
    raise InvalidRequestError(
        f"{keys.PAYLOAD_CLASS}={payload} is not supported.",
        hint=f"Use {keys.MERGE_MODE}=EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING.",
    )


def _limits_to_record(operation: WriteOperation, options: FileSizingOptions) -> dict[str, str]:
    """Return the limits of file sizes as extra metadata of a commit, so that reports classify files by these limits.

    The value is a small JSON object with Hudi's keys. Hudi and other readers ignore unknown extra metadata. The
    result is empty if the operation does not size files.
    """
    if operation not in _SIZES_FILES:
        return {}
    limits = {
        keys.MAX_FILE_SIZE.key: options.max_file_size_bytes,
        keys.SMALL_FILE_LIMIT.key: options.small_file_limit_bytes,
    }
    return {FILE_SIZES_KEY: json.dumps(limits, separators=(",", ":"))}


def recorded_limits(extra_metadata: Mapping[str, str], instant_time: str) -> FileSizeLimits | None:
    """Return the limits of file sizes in the extra metadata of a write; None if the metadata has no valid limits.

    A writer without padding has the small-file limit 0. Its files still have a target size, so files below five sixths
    of this size count as small, as in the default of ``hoodie.parquet.small.file.limit``.
    """
    try:
        values = json.loads(extra_metadata.get(FILE_SIZES_KEY, ""))
        largest, small = values[keys.MAX_FILE_SIZE.key], values[keys.SMALL_FILE_LIMIT.key]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    if not all(type(value) is int for value in (largest, small)) or not 0 <= small <= largest or largest < 1:
        return None
    return FileSizeLimits(
        small_file_limit_bytes=small or largest * 5 // 6,
        max_file_size_bytes=largest,
        recorded_by=instant_time,
    )
