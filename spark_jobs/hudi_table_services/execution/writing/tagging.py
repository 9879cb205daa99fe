"""Index lookup: find incoming rows whose keys are in the table, and rows that are superseded inside the batch.

A task reads the key columns of some base files and compares them with the keys of the incoming rows, so the table's
keys are never shuffled. The results are the same as in HoodieSimpleIndex, HoodieBloomIndex and their global forms (Hudi
1.2), although the data flow is different.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.execution.arrow_schema import conform
from hudi_table_services.execution.base_file_writer import RECORD_KEY, utf8_buffers
from hudi_table_services.execution.log_merging.searched_logs import SearchedLogs
from hudi_table_services.execution.numpy_types import Flags, Integers
from hudi_table_services.execution.ordering_columns import is_smaller
from hudi_table_services.execution.staging import (
    KEY_COLUMN,
    StagedBatch,
    StagedFileWriter,
    StagedReader,
)
from hudi_table_services.execution.writing.batch_winners import winners, winners_by_rule
from hudi_table_services.hudi_format.footer import decode_key_footer
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.storage.stores.storage import Storage

_BLOOM_CHECK_LIMIT = 20_000
"""Maximum number of keys to test with a bloom filter. For more keys, reading the key column costs less."""

_NO_ROWS = np.empty(0, dtype=np.int64)
_TAG_SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64()),
        pa.field("target", pa.int32()),
        pa.field("base_row", pa.int64()),
        pa.field("loses", pa.bool_()),
        pa.field("deleted", pa.bool_()),
    ]
)
"""Columns of a tag. A tag records that a file slice has the key of a staged row, or that the row is superseded.

- ``row``: number of the row in the staged file.
- ``target``: position of the slice in the job's list of targets, or `SUPERSEDED`.
- ``base_row``: number of the stored row in the base file; -1 if only log files have the key.
- ``loses``: whether the stored row wins against the incoming row, so that the write does not move the stored row.
- ``deleted``: whether a log file deletes the stored row.
"""
SUPERSEDED = -1
"""Value of ``target`` if another row of the batch with the same key replaces the row."""


@dataclass(frozen=True, slots=True)
class BaseFileRef:
    """A live base file that may have keys of the batch, with the log files of its slice.

    Attributes:
        path: path of the base file; empty if the slice has only log files.
        key_range: smallest and greatest key of the file by UTF-8 bytes; None if not known. A task does not open a file
            whose range excludes all keys of the batch.
        logs: log files of the slice; None if there are none.
        size_bytes: size of the base file; -1 if not known, 0 without a base file.
    """

    partition_path: str
    file_id: str
    path: str
    key_range: tuple[str, str] | None = None
    logs: SearchedLogs | None = None
    size_bytes: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TagTask:
    """Task that compares the keys of some staged rows with the keys of some base files.

    Attributes:
        storage: the table's storage.
        folder: staging folder for the tags.
        batches: staged batches whose keys are looked up, in input order.
        base_files: files to search. The job's list of targets contains the files of all its tasks; a tag contains a
            position in this list.
        first_target: position of the first of `base_files` in the job's list of targets.
        combine: whether the task also reports the rows that other rows of the batch supersede. A task without base
            files reports only these rows.
        bucket, bucket_count: hash bucket of the keys to look up, and number of buckets. Buckets limit the memory.
        ordering_fields: columns that decide between rows with the same key, first to last; if the values are equal, the
            later row wins.
        rule: rule by which a merge-on-read table combines rows. With a rule, `ordering_fields` contains the columns
            that the rule needs. If the rule is None, the task compares `ordering_fields`.
        use_footers: whether to skip files by key range and bloom filter (BLOOM index).
        compares_moves: whether the task compares `ordering_fields` of incoming and stored rows. If an incoming row has
            a smaller value, the write does not move the stored row (global index with `update.partition.path`).
    """

    storage: Storage
    folder: str
    batches: tuple[StagedBatch, ...]
    base_files: tuple[BaseFileRef, ...] = ()
    first_target: int = 0
    combine: bool = False
    bucket: int = 0
    bucket_count: int = 1
    ordering_fields: tuple[str, ...] = ()
    rule: MergeRule | None = None
    use_footers: bool = False
    compares_moves: bool = False


@dataclass(frozen=True, slots=True)
class TagResult:
    """The tags that one task found: one batch for each staged file that has tags, and totals."""

    batches: tuple[tuple[str, StagedBatch], ...] = ()
    superseded_count: int = 0
    matched_count: int = 0
    files_read: int = 0
    files_pruned: int = 0


@dataclass(slots=True)
class _Tags:
    """Tags found so far. `rows` are positions among the staged rows of this task."""

    rows: list[Integers] = field(default_factory=list)
    targets: list[Integers] = field(default_factory=list)
    base_rows: list[Integers] = field(default_factory=list)
    loses: list[Flags] = field(default_factory=list)
    deleted: list[Flags] = field(default_factory=list)

    def add(self, rows: Integers, target: int, hits: "_Hits | None" = None) -> None:
        """Add tags. If `hits` is None, the tags record that the rows are superseded."""
        count = len(rows)
        nothing = np.zeros(count, dtype=bool)
        self.rows.append(rows)
        self.targets.append(np.full(count, target, dtype=np.int32))
        self.base_rows.append(np.zeros(count, dtype=np.int64) if hits is None else hits.base_rows)
        self.loses.append(nothing if hits is None else hits.loses)
        self.deleted.append(nothing if hits is None else hits.deleted)


def find_tags(task: TagTask) -> TagResult:
    """Find the tags of one task, on an executor. Raise StorageError if a base file cannot be read."""
    incoming = _Incoming.load(task)
    tags = _Tags()
    superseded = matched = files_read = files_pruned = 0
    if task.combine:
        losers = np.flatnonzero(~incoming.is_winner)
        tags.add(losers, SUPERSEDED)
        superseded = len(losers)
    for offset, base_file in enumerate(task.base_files):
        hits = _search(task, base_file, incoming)
        files_read, files_pruned = files_read + (hits is not None), files_pruned + (hits is None)
        if hits is None or len(hits.base_rows) == 0:
            continue
        tags.add(incoming.winner_row[hits.codes], task.first_target + offset, hits)
        matched += int((~hits.deleted).sum())
        if not task.combine:
            _supersede_matched_duplicates(incoming, hits.codes, tags)
    batches = _write_tags(task, incoming, tags)
    return TagResult(batches, superseded, matched, files_read, files_pruned)


@dataclass(frozen=True, slots=True)
class _Hits:
    """Incoming keys that a slice has. `codes` are their numbers among the distinct incoming keys."""

    codes: Integers
    base_rows: Integers
    loses: Flags
    deleted: Flags


@dataclass(slots=True)
class _Incoming:
    """Keys of the task's staged rows.

    Attributes:
        codes: for each row, the number of its key among the distinct keys.
        winner_row: for each distinct key, the row that supersedes the other rows with this key.
    """

    keys: pa.Array
    distinct: pa.Array
    codes: Integers
    is_winner: Flags
    winner_row: Integers
    ordering: pa.Table
    batches: tuple[StagedBatch, ...]
    positions: Integers | None

    @classmethod
    def load(cls, task: TagTask) -> "_Incoming":
        columns = [KEY_COLUMN, *task.ordering_fields]
        reader = StagedReader(task.storage, columns)
        parts: list[pa.Table] = []
        found: list[Integers] = []
        first_row = 0
        for batch in task.batches:
            part = reader.read(batch)
            if task.bucket_count > 1:
                # Filter batch by batch, so that only the keys of one bucket are in memory.
                buckets = key_buckets(part.column(KEY_COLUMN), task.bucket_count)
                in_bucket = np.flatnonzero(buckets == task.bucket)
                part = part.take(pa.array(in_bucket))
                found.append(in_bucket + first_row)
            parts.append(pa.Table.from_batches([part]))
            first_row += batch.row_count
        reader.close()
        table = pa.concat_tables(parts).combine_chunks()
        positions = np.concatenate(found) if found else None
        keys = _one_chunk(table[KEY_COLUMN])
        encoded = pc.dictionary_encode(keys)
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        ordering = table.select(task.ordering_fields)
        if task.rule is None:
            winner_row = winners(codes, len(encoded.dictionary), ordering)
        else:
            winner_row = winners_by_rule(task.rule, table, encoded.dictionary)
        is_winner = np.zeros(len(codes), dtype=bool)
        is_winner[winner_row] = True
        return cls(keys, encoded.dictionary, codes, is_winner, winner_row, ordering, task.batches, positions)

    def original(self, rows: Integers) -> Integers:
        return rows if self.positions is None else self.positions[rows]


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _search(task: TagTask, file: BaseFileRef, incoming: _Incoming) -> _Hits | None:
    """Find incoming keys in one slice. Return None if the key range or footer of its base file excludes all keys."""
    compared = task.ordering_fields if task.compares_moves else ()
    if file.logs is None:
        found = _search_base_file(task, file, incoming, compared)
        return None if found is None else _hits(task, found, incoming)
    columns = file.logs.reading.base_columns
    found = _search_base_file(task, file, incoming, columns.names) if file.path else None
    if found is None:
        found = _BaseHits(_NO_ROWS, _NO_ROWS, columns.empty_table())
    logged = file.logs.find(task.storage, incoming.distinct, conform(found.rows, columns))
    added = pc.index_in(logged.added, value_set=incoming.distinct).to_numpy().astype(np.int64)
    none = np.zeros(len(added), dtype=bool)
    return _Hits(
        np.append(found.codes, added),
        np.append(found.base_rows, np.full(len(added), -1, dtype=np.int64)),
        np.append(np.zeros(len(found.codes), dtype=bool), none),
        np.append(logged.deleted, none),
    )


@dataclass(frozen=True, slots=True)
class _BaseHits:
    """Rows of a base file whose keys are in the batch: their row numbers, and the requested columns."""

    codes: Integers
    base_rows: Integers
    rows: pa.Table


def _hits(task: TagTask, found: _BaseHits, incoming: _Incoming) -> _Hits:
    codes = found.codes
    none = np.zeros(len(codes), dtype=bool)
    loses = none
    if task.compares_moves and task.ordering_fields and len(codes):
        rows = incoming.ordering.take(pa.array(incoming.winner_row[codes]))
        loses = is_smaller(rows, found.rows.select(rows.schema.names).cast(rows.schema))
    return _Hits(codes, found.base_rows, loses, none)


def _search_base_file(
    task: TagTask, base_file: BaseFileRef, incoming: _Incoming, columns: Sequence[str]
) -> _BaseHits | None:
    """Find rows with incoming keys in one base file. Return None if its key range or its footer excludes all keys.

    Args:
        columns: columns of the rows in the result; none if only the row numbers are needed.
    """
    if base_file.key_range is not None and len(_within(incoming.distinct, base_file.key_range)) == 0:
        return None
    with task.storage.open_reader(base_file.path) as source:
        file = pq.ParquetFile(source, pre_buffer=False)
        if task.use_footers and not _may_contain(file, incoming.distinct):
            return None
        table = file.read(columns=list(dict.fromkeys((RECORD_KEY, *columns))), use_threads=False)
    found = pc.index_in(table[RECORD_KEY], value_set=incoming.distinct)
    codes = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    base_rows = np.flatnonzero(codes >= 0)
    rows = table.take(pa.array(base_rows)) if columns else table.slice(0, 0)
    return _BaseHits(codes[base_rows], base_rows.astype(np.int64), rows)


def _may_contain(file: pq.ParquetFile, keys: pa.Array) -> bool:
    """Whether the file may contain one of the keys, according to its key range and bloom filter.

    The result is True for a file without key range and bloom filter.
    """
    footer = decode_key_footer(file.metadata.metadata or {})
    if footer.key_range is not None:
        keys = _within(keys, footer.key_range)
    if len(keys) == 0:
        return False
    if footer.bloom_text is None or len(keys) > _BLOOM_CHECK_LIMIT:
        return True
    bloom = footer.bloom_filter()
    return bloom is None or bool(bloom.contains(*utf8_buffers(keys)).any())


def _within(keys: pa.Array, key_range: tuple[str, str]) -> pa.Array:
    low, high = map(pa.scalar, key_range)
    return keys.filter(pc.and_(pc.greater_equal(keys, low), pc.less_equal(keys, high)))


def _supersede_matched_duplicates(incoming: _Incoming, codes: Integers, tags: _Tags) -> None:
    """In a batch whose rows are not combined, tag all rows of a matched key except one as superseded.

    As a result, only one row updates the stored row.
    """
    if len(incoming.distinct) == len(incoming.codes):
        return
    matched = np.zeros(len(incoming.distinct), dtype=bool)
    matched[codes] = True
    rows = np.flatnonzero(matched[incoming.codes] & ~incoming.is_winner)
    tags.add(rows, SUPERSEDED)


def _write_tags(task: TagTask, incoming: _Incoming, tags: _Tags) -> tuple[tuple[str, StagedBatch], ...]:
    rows = np.concatenate(tags.rows) if tags.rows else np.empty(0, np.int64)
    if len(rows) == 0:
        return ()
    order = np.argsort(rows, kind="stable")
    pointers = incoming.original(rows[order])
    targets = np.concatenate(tags.targets)[order]
    base_rows = np.concatenate(tags.base_rows)[order]
    loses = np.concatenate(tags.loses)[order]
    deleted = np.concatenate(tags.deleted)[order]
    writer = StagedFileWriter(task.storage, f"{task.folder}/tag-{uuid.uuid4().hex}.arrow", _TAG_SCHEMA)
    written: list[tuple[str, StagedBatch]] = []
    for path, low, high, shift in _runs_by_file(task.batches, pointers):
        columns = [
            pa.array(pointers[low:high] + shift),
            pa.array(targets[low:high]),
            pa.array(base_rows[low:high]),
            pa.array(loses[low:high]),
            pa.array(deleted[low:high]),
        ]
        writer.write(pa.record_batch(columns, schema=_TAG_SCHEMA), "")
        written.append((path, writer.batches[-1]))
    writer.close()
    return tuple(written)


def _runs_by_file(batches: Sequence[StagedBatch], pointers: Integers) -> Iterator[tuple[str, int, int, int]]:
    """Divide `pointers`, the sorted positions of rows, by batch.

    Yield for each batch the path of the staged file, the bounds of the batch's range in `pointers`, and a number. The
    sum of this number and the position of a row is the number of the row in the file.
    """
    start = 0
    for batch in batches:
        low, high = np.searchsorted(pointers, [start, start + batch.row_count])
        if low < high:
            yield batch.path, int(low), int(high), batch.first_row - start
        start += batch.row_count


def key_buckets(keys: pa.Array, bucket_count: int) -> Integers:
    """Return the hash bucket of each key, computed from the length and the last 16 bytes of the key."""
    offsets, data = utf8_buffers(keys)
    starts, stops = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    mixed = (stops - starts).astype(np.uint64)
    padded = np.append(data, np.uint8(0))
    for back in range(1, 17):
        position = stops - back
        byte = np.where(position >= starts, padded[np.maximum(position, 0)], 0).astype(np.uint64)
        mixed = mixed * np.uint64(0x100000001B3) ^ byte
    mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(bucket_count)).astype(np.int64)
