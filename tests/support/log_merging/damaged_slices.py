"""One file slice with real log files that tests damage, and the product's merge of this slice.

The file slice has a base file and two log files. Each log file has a data block and two delete blocks.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_merging.merged_slice import open_merged_slice
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.hudi_format.log_blocks import MAGIC, BlockType
from hudi_table_services.hudi_format.log_headers import BlockHead, scan_log
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.schema import LONG, STRING, Field, StructType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.file_slices import Visibility, visibility_of
from hudi_table_services.storage.stores.storage import Storage
from support.compaction.written_table import NORTH, Deleted, WrittenTable, new_storage

SMALL = StructType((Field("id", STRING), Field("ts", LONG), Field("s", STRING)))
Rows = dict[str, tuple[int, str]]
"""Key → ordering value and text."""

Record = tuple[str, int, str] | Deleted


def _row(key: str, ts: int) -> dict[str, object]:
    return {"id": key, "ts": ts, "s": f"{key}-{ts}"}


BASE = ("a", "b", "c", "d", "e", "f")
LOGS: Sequence[Sequence[Sequence[tuple[str, int] | Deleted]]] = (
    (
        (("a", 2), ("b", 2), ("new", 2), ("c", 2)),
        (Deleted("d"), Deleted("new")),
        (Deleted("e", 2), Deleted("a", 1)),
    ),
    ((("b", 3), ("d", 4), ("f", 3), ("last", 3)), (Deleted("c"),), (Deleted("f", 4),)),
)
"""For each log file its blocks: rows, unconditional deletes, and deletes with ordering values."""


@dataclass(frozen=True)
class Merged:
    """What a reader gets.

    Attributes:
        skipped: file and position of each file whose end was skipped.
        records: number of records in the blocks that were merged.
    """

    rows: Rows
    skipped: tuple[tuple[str, int], ...]
    records: int


class DamagedSlice:
    """A slice whose log files a test replaces by damaged ones."""

    def __init__(self, version: TableVersion, *, as_parquet: bool) -> None:
        table = WrittenTable(new_storage(), version, schema=SMALL)
        table.insert({NORTH: [_row(key, 1) for key in BASE]})
        for blocks in LOGS:
            records = [
                each if isinstance(each, Deleted) else _row(*each) for block in blocks for each in block
            ]
            table.log({NORTH: records}, as_parquet=as_parquet)
        snapshot = table.snapshot
        (self._slice,) = snapshot.all_slices
        self._reader = SliceReader(
            table.storage,
            self._slice,
            merge_rule(snapshot.config),
            visibility_of(snapshot),
            SMALL,
        )
        self.files = [(f"north/{log.file_name}", log.size_bytes) for log in self._slice.log_files]

    def data(self, number: int) -> bytes:
        return self._reader.storage.read(self.files[number][0])

    def read(self, number: int = 0, data: bytes | None = None) -> Merged:
        """Merge the slice, with other bytes in one of its log files."""
        path = self.files[number][0]
        return self._reader.read(path, self.data(number) if data is None else data)


@dataclass(frozen=True)
class SliceReader:
    """Reads one slice of a table, with other bytes in one of its log files."""

    storage: Storage
    file_slice: FileSlice
    rule: MergeRule
    visibility: Visibility
    schema: StructType

    def read(self, path: str, data: bytes) -> Merged:
        original = self.storage.read(path)
        name = path.rpartition("/")[2]
        logs = tuple(
            log._replace(size_bytes=len(data)) if log.file_name == name else log
            for log in self.file_slice.log_files
        )
        self.storage.write(path, data)
        try:
            return self._merge(replace(self.file_slice, log_files=logs))
        finally:
            self.storage.write(path, original)

    def _merge(self, file_slice: FileSlice) -> Merged:
        columns = arrow_schema(self.schema, with_meta_fields=False)
        merging = LogMerging(self.rule, self.visibility)
        with open_merged_slice(self.storage, file_slice, merging, columns) as merged:
            rows = [row for batch in merged.rows() for row in batch.to_pylist()]
            found = {row["_hoodie_record_key"]: (row.get("ts"), row.get("s")) for row in rows}
            assert len(found) == len(rows), "a key occurs twice"
            return Merged(found, merged.log.skipped, merged.blocks.record_count)


def expected_rows(version: TableVersion, present: Sequence[int]) -> Rows:
    """Rows that Hudi returns if each log file has only its first `present` blocks (rules of event time).

    The model merges the records of one key in their order, and then merges the result with the base row.
    """
    found: Rows = {key: (1, f"{key}-1") for key in BASE}
    states: dict[str, tuple[int, str] | Deleted] = {}
    for blocks, count in zip(LOGS, present, strict=True):
        for block in blocks[:count]:
            for record in block:
                key = record.key if isinstance(record, Deleted) else record[0]
                new = record if isinstance(record, Deleted) else (record[1], f"{key}-{record[1]}")
                states[key] = _step(version, states.get(key), new)
    for key, state in states.items():
        if isinstance(state, Deleted):
            always = version is TableVersion.V6 or state.ts is None
            if key in found and (always or (state.ts or 0) >= found[key][0]):
                del found[key]
        elif key not in found or state[0] >= found[key][0]:
            found[key] = state
    return found


def _step(
    version: TableVersion, state: tuple[int, str] | Deleted | None, new: tuple[int, str] | Deleted
) -> tuple[int, str] | Deleted:
    if state is None:
        return new
    if isinstance(new, Deleted):
        if isinstance(state, Deleted):
            return state if version is not TableVersion.V6 and state.ts is None else new
        return new if new.ts is None or state[0] <= new.ts else state
    if isinstance(state, Deleted):
        wins = version is TableVersion.V6 or state.ts is None or new[0] >= state.ts
        return new if wins else state
    return new if new[0] >= state[0] else state


# ---------------------------------------------------------------- positions in a file


def heads_of(data: bytes) -> tuple[BlockHead, ...]:
    return scan_log(lambda offset, length: data[offset : offset + length], len(data)).heads


def block_ends(data: bytes) -> list[int]:
    """Position after each block."""
    return [*[head.position for head in heads_of(data)[1:]], len(data)]


def length_fields(data: bytes) -> Iterator[tuple[str, int, struct.Struct]]:
    """Yield name, position and layout of each length and count in a log file."""
    for head, end in zip(heads_of(data), block_ends(data), strict=True):
        at = head.position + len(MAGIC)
        yield "size of the block", at, struct.Struct(">q")
        at += 8 + 4 + 4
        yield "number of headers", at, struct.Struct(">i")
        at += 4
        for number in range(len(head.headers)):
            yield f"length of header {number}", at + 4, struct.Struct(">i")
            (length,) = struct.unpack_from(">i", data, at + 4)
            at += 8 + length
        yield "length of the content", at, struct.Struct(">q")
        content = head.content_position
        if head.block_type == BlockType.DELETE:
            yield "length of the delete records", content + 4, struct.Struct(">i")
        if head.block_type == BlockType.AVRO_DATA:
            yield "number of records", content + 4, struct.Struct(">i")
            yield "length of the first record", content + 8, struct.Struct(">i")
        if head.block_type == BlockType.PARQUET_DATA:
            yield "length of the Parquet footer", content + head.content_bytes - 8, struct.Struct("<i")
        yield "number of footers", end - 12, struct.Struct(">i")
        yield "size of all preceding parts", end - 8, struct.Struct(">q")
