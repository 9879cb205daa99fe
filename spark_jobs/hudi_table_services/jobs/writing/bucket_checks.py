"""Compute the hash of Hudi's bucket index, and check that a write agrees with the file groups of its table.

Hudi stores neither the index type nor the options of the index in the table. The ids of the file groups and the keys in
their files are the only traces (BucketIdentifier, HoodieSimpleBucketIndex; Hudi 0.15 and 1.2).
"""

from collections.abc import Collection, Iterable

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import CorruptTableError, InvalidRequestError, UnsupportedTableError
from hudi_table_services.execution.writing.file_samples import stored_keys
from hudi_table_services.hudi_format.bucket_hash import AMBIGUOUS, BucketHash
from hudi_table_services.hudi_format.bucket_ids import (
    CONSISTENT_HASHING_FOLDER,
    PARTITION_BUCKETS_FOLDER,
    bucket_number,
    has_bucket_ids,
)
from hudi_table_services.hudi_format.key_parts import KeyParser
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType, TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.bucket_index import HASH_FIELD, NUM_BUCKETS
from hudi_table_services.options.keys.writing import INDEX_TYPE
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess

_SEARCHED_WRITES = 10
_SEARCHED_PARTITIONS = 8
_EARLIER_OPTIONS = f"Set {NUM_BUCKETS} and {HASH_FIELD} to the values of the earlier writes of the table."
_WITHOUT_NEW_ROWS = (
    "Write new rows with Hudi. With another index type, jobs can update and delete existing rows."
)


def bucket_hash(
    options: WriteOptions, key_generator: KeyGeneratorConfig, version: TableVersion
) -> BucketHash | None:
    """Return how the write assigns keys to buckets; None if the write uses another index type.

    Both Hudi 0.15 and Hudi 1.x write tables of version 6, but hash some keys differently. Only Hudi 1.x writes tables
    of later versions.

    Raises:
        InvalidRequestError: a hash field is not a key field.
    """
    if not options.index_type.has_buckets:
        return None
    key_fields = key_generator.record_key_fields
    hash_fields = options.bucket_hash_fields or key_fields
    if unknown := [name for name in hash_fields if name not in key_fields]:
        raise InvalidRequestError(
            f"{HASH_FIELD} names {', '.join(unknown)}, but the record key consists of {', '.join(key_fields)}.",
            hint=f"Name fields of the record key, or leave {HASH_FIELD} out.",
        )
    both = (KeyParser.HUDI_0_15, KeyParser.HUDI_1_2)
    return BucketHash(
        bucket_count=options.bucket_count,
        hash_fields=hash_fields,
        key_fields=key_fields if key_generator.names_key_fields else (),
        parsers=both if version <= TableVersion.V6 else both[1:],
    )


def check_bucket_index(
    table: TableAccess,
    partition_paths: Collection[str],
    snapshot: TableSnapshot,
    options: WriteOptions,
    rule: BucketHash,
) -> None:
    """Refuse a write with the bucket index if its options contradict the file groups of the table.

    The function examines the file groups in the partitions of the batch. If these partitions are empty or overwritten,
    it examines other partitions. An overwrite of the whole table can have new options, so no file group is examined.

    Args:
        partition_paths: partitions of the batch.

    Raises:
        InvalidRequestError: the file groups belong to another index, to more buckets, or to other hash fields.
        UnsupportedTableError: the table has a bucket index with consistent hashing, or partitions with different
            numbers of buckets.
        CorruptTableError: a bucket has several file groups, with which Hudi fails.
    """
    if not table.exists:
        return
    _refuse_stored_buckets(table)
    witnesses = _witnesses(table, partition_paths, snapshot, options)
    _check_ids(witnesses, rule)
    for file_group, keys in stored_keys(table.storage, witnesses):
        for key in keys:
            _check_key(key, file_group, rule)


def refuse_bucket_index(table: TableAccess, snapshot: TableSnapshot, options: WriteOptions) -> None:
    """Refuse to add rows to a table with a bucket index if the write uses another index type.

    Hudi finds a key only in the file group of its bucket, and fails if a file id does not begin with the number of a
    bucket.

    Raises:
        UnsupportedTableError: all file ids of the table begin with numbers of buckets, or Hudi has stored the buckets
            of a partition (consistent hashing).
    """
    if table.config.table_type is TableType.MERGE_ON_READ:
        _refuse_consistent_hashing(table)
    writes = snapshot.timeline.completed_writes
    ids = {each.file_group_id.file_id for each in snapshot.all_slices}
    if not ids and writes:  # the partitions of the batch are new
        stats = table.timeline_store.commit_metadata(writes[-1]).write_stats
        ids = {stat.file_id for stat in stats}
    if not has_bucket_ids(ids):
        return
    everywhere = load_snapshot(table.storage, metadata_enable=options.metadata.enable).all_slices
    ids = {each.file_group_id.file_id for each in everywhere}
    if has_bucket_ids(ids):
        raise UnsupportedTableError(
            f"The table has a bucket index, so jobs cannot add rows with {INDEX_TYPE}={options.index_type.value}: its "
            f"{counted(len(ids), 'file id')} begin with numbers of buckets, for example {min(ids)}.",
            hint=f"Set {INDEX_TYPE}=BUCKET, {NUM_BUCKETS} and, if the table's writers set it, {HASH_FIELD}. With other "
            "index types, jobs can only update and delete the rows that the table has.",
        )


def index_buckets_of(slices: Iterable[FileSlice]) -> dict[FileGroupId, int]:
    """Map file groups to the numbers of their buckets. File groups whose ids have no number are left out."""
    found = ((each.file_group_id, bucket_number(each.file_group_id.file_id)) for each in slices)
    return {group: number for group, number in found if number is not None}


def _refuse_stored_buckets(table: TableAccess) -> None:
    _refuse_consistent_hashing(table)
    if table.storage.list_folder(PARTITION_BUCKETS_FOLDER).folders:
        raise UnsupportedTableError(
            f"The partitions of the table have different numbers of buckets ({PARTITION_BUCKETS_FOLDER}).",
            hint=_WITHOUT_NEW_ROWS,
        )


def _refuse_consistent_hashing(table: TableAccess) -> None:
    if table.storage.list_folder(CONSISTENT_HASHING_FOLDER).folders:
        raise UnsupportedTableError(
            f"The table has a bucket index with consistent hashing ({CONSISTENT_HASHING_FOLDER}), so jobs cannot add "
            "rows.",
            hint=_WITHOUT_NEW_ROWS,
        )


def _witnesses(
    table: TableAccess, partition_paths: Collection[str], snapshot: TableSnapshot, options: WriteOptions
) -> tuple[FileSlice, ...]:
    """Return file slices that stay in the table after the write, from partitions of the batch or of recent writes."""
    if options.operation is WriteOperation.INSERT_OVERWRITE_TABLE:
        return ()
    overwritten: Collection[str] = ()
    if options.operation is WriteOperation.INSERT_OVERWRITE:
        overwritten = partition_paths
    elif snapshot.all_slices:
        return snapshot.all_slices
    for instant in reversed(snapshot.timeline.completed_writes[-_SEARCHED_WRITES:]):
        stats = table.timeline_store.commit_metadata(instant).write_stats
        paths = sorted({stat.partition_path for stat in stats} - set(overwritten))[-_SEARCHED_PARTITIONS:]
        found = (
            load_snapshot(table.storage, paths, metadata_enable=options.metadata.enable) if paths else None
        )
        if found is not None and found.all_slices:
            return found.all_slices
    return ()


def _check_ids(slices: Collection[FileSlice], rule: BucketHash) -> None:
    owners: dict[tuple[str, int], str] = {}
    for group in sorted(each.file_group_id for each in slices):
        number = bucket_number(group.file_id)
        if number is None:
            raise InvalidRequestError(
                f"{INDEX_TYPE}=BUCKET does not fit the table: the id of its file group {group} does not begin with the "
                "number of a bucket.",
                hint=f"Leave {INDEX_TYPE} out. To change the index of a table, overwrite the whole table.",
            )
        if number >= rule.bucket_count:
            raise InvalidRequestError(
                f"{NUM_BUCKETS}={rule.bucket_count} does not fit the table: its file group {group} belongs to bucket "
                f"{number}, and the first bucket has the number 0.",
                hint=_EARLIER_OPTIONS,
            )
        other = owners.setdefault((group.partition_path, number), group.file_id)
        if other != group.file_id:
            raise CorruptTableError(
                f"Bucket {number} of the partition {group.partition_path!r} has two file groups, {other} and "
                f"{group.file_id}. A bucket may have only one.",
                hint="Roll back the write that added the second file group, or overwrite the partition.",
            )


def _check_key(key: str, group: FileGroupId, rule: BucketHash) -> None:
    bucket = rule.bucket_of(key)
    if bucket not in (AMBIGUOUS, bucket_number(group.file_id)):
        raise InvalidRequestError(
            f"{NUM_BUCKETS}={rule.bucket_count} and the hash fields {', '.join(rule.hash_fields)} do not fit the "
            f"table: its file group {group} has the key {key!r}, which belongs to bucket {bucket} with these options.",
            hint=_EARLIER_OPTIONS,
        )
