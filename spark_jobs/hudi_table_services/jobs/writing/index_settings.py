"""Derive the settings of the key lookup from operation and index type."""

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_merging.searched_logs import LogReading
from hudi_table_services.execution.writing.record_index import IndexLookup
from hudi_table_services.execution.writing.routing import RoutingRules
from hudi_table_services.hudi_format.bucket_hash import BucketHash
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.schema import DELETED_FLAG, StructType
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.writing_values import InsertDupPolicy, WriteOptions

_LOOKUP_OPERATIONS = (WriteOperation.UPSERT, WriteOperation.DELETE)
"""Operations that always look up keys."""
INSERTS = (WriteOperation.INSERT, WriteOperation.BULK_INSERT)
"""Operations that look up keys only with a bucket index, or if they refuse or drop existing keys."""


def index_lookup(
    options: WriteOptions,
    settings: WriteSettings,
    parallelism: int,
    rule: MergeRule | None = None,
    buckets: BucketHash | None = None,
) -> IndexLookup:
    """Settings of the key lookup, which depend on operation and index type.

    Args:
        rule: rule by which a merge-on-read table merges log files; None for a copy-on-write table.
        buckets: how a bucket index assigns keys to buckets; None if the index type is another one. With a bucket index,
            inserts update the rows of existing keys, because no log file can contain two rows with the same key.
    """
    operation = settings.operation
    is_global = options.index_type.is_global
    checks_duplicates = options.insert_dup_policy is not InsertDupPolicy.NONE
    searches = (
        operation in _LOOKUP_OPERATIONS
        or (operation is WriteOperation.INSERT and checks_duplicates)
        or (operation in INSERTS and buckets is not None)
    )
    return IndexLookup(
        searches_files=searches,
        is_global=is_global,
        combine=_combines(options),
        use_footers=options.index_type.uses_footers,
        ordering_fields=_combine_columns(settings, rule),
        rule=None if operation is WriteOperation.DELETE else rule,
        log_reading=None if rule is None else _log_reading(settings, rule),
        compares_moves=bool(settings.merge_fields),
        rules=RoutingRules(
            deletes=operation is WriteOperation.DELETE,
            honours_deleted_flag=settings.honours_deleted_flag and operation is not WriteOperation.DELETE,
            drops_existing=operation is WriteOperation.INSERT and (checks_duplicates or buckets is None),
            moves_rows=is_global and options.update_partition_path,
            buckets=buckets,
        ),
        parallelism=parallelism,
    )


def _log_reading(settings: WriteSettings, rule: MergeRule) -> LogReading:
    names = (*rule.ordering_fields, DELETED_FLAG)
    needed = StructType(tuple(f for f in settings.writer_schema.fields if f.name in names))
    return LogReading(rule, arrow_schema(needed, with_meta_fields=False))


def _combine_columns(settings: WriteSettings, rule: MergeRule | None) -> tuple[str, ...]:
    """Return the columns that decide which row of the batch wins for a key. For log files, add the delete flag."""
    if rule is None or settings.operation is WriteOperation.DELETE:
        return settings.combine_fields
    flag = (DELETED_FLAG,) if settings.honours_deleted_flag else ()
    return tuple(dict.fromkeys((*rule.ordering_fields, *flag)))


def _combines(options: WriteOptions) -> bool:
    if options.index_type.has_buckets and options.operation in (WriteOperation.UPSERT, *INSERTS):
        return True
    if options.operation is WriteOperation.UPSERT:
        return options.combine_before_upsert
    if options.operation is WriteOperation.DELETE:
        return options.combine_before_delete
    refuses = options.insert_dup_policy is not InsertDupPolicy.NONE
    return options.combine_before_insert or (options.operation is WriteOperation.INSERT and refuses)
