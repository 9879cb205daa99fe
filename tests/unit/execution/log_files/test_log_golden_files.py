"""From log files of real Hudi, this project reads exactly the rows that Hudi wrote."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_files.avro_encoder import encode_avro_block
from hudi_table_services.execution.log_files.data_block import ROW, open_data_block, read_keys
from hudi_table_services.execution.log_files.parquet_data_block import ParquetDataBlock, encode_parquet_block
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.delete_block import decode_delete_block
from hudi_table_services.hudi_format.log_blocks import BlockType, decode_records, encode_records
from hudi_table_services.hudi_format.ordering_values import UNCONDITIONAL, OrderingValue, Wrapper
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.log_files.located_blocks import LocatedBlock, read_content
from hudi_table_services.storage.log_files.slice_log import read_slice_log
from support.log_golden import ARCHIVES, FLAG, LogTable, log_table, plain_row

EACH_VERSION = pytest.mark.parametrize("version", ARCHIVES, ids=lambda version: f"v{version.value}")
KEY = b"\x02\x06r00\x02\x0anorth"
"""Encoded key and partition path of the first row."""
ORDERING = pa.schema([("ts", pa.int64())])


def valid_blocks(table: LogTable) -> Iterator[tuple[LocatedBlock, bytes]]:
    for block in read_slice_log(table.storage, table.file_slice, table.visibility).blocks:
        yield block, read_content(table.storage, block)


def of_kind(table: LogTable, kind: BlockType) -> list[tuple[LocatedBlock, bytes]]:
    return [(block, content) for block, content in valid_blocks(table) if block.block_type == kind]


def target_of(block: LocatedBlock) -> pa.Schema:
    return arrow_schema(from_avro_json(block.schema), with_meta_fields=True)


def rows_of(block: LocatedBlock, content: bytes) -> dict[str, dict[str, Any]]:
    """Rows by key."""
    table = open_data_block(block, content).read(target_of(block))
    return {row["_hoodie_record_key"]: row for row in table.to_pylist()}


@EACH_VERSION
def test_the_rows_of_each_write_are_read(version: TableVersion) -> None:
    table = log_table(version, "updates")
    kinds = []
    for block, content in valid_blocks(table):
        kinds.append(block.block_type)
        write = table.writes[block.instant_time]
        written = {row["id"]: row for row in write["rows"]}
        if block.block_type == BlockType.DELETE:
            check_deletes(block, content, write["operation"], written)
            continue
        found = rows_of(block, content)
        assert {key: plain_row(row) for key, row in found.items()} == {
            key: row for key, row in written.items() if not row[FLAG]
        }
        for key, row in found.items():
            assert row["_hoodie_commit_time"] == block.instant_time
            assert row["_hoodie_partition_path"] == "north"
            assert row["_hoodie_record_key"] == key
            assert row["_hoodie_file_name"] == table.file_slice.file_group_id.file_id
    data, delete, parquet = BlockType.AVRO_DATA, BlockType.DELETE, BlockType.PARQUET_DATA
    assert kinds == [data, delete, data, delete, parquet, data]


def check_deletes(
    block: LocatedBlock, content: bytes, operation: str, written: Mapping[str, Mapping[str, Any]]
) -> None:
    deletes = {record.record_key: record for record in decode_delete_block(content, block.what)}
    if operation == "delete":
        assert deletes.keys() == written.keys()
        assert {record.ordering for record in deletes.values()} == {UNCONDITIONAL}
        return
    expected = {key: OrderingValue(Wrapper.LONG, row["ts"]) for key, row in written.items() if row[FLAG]}
    assert {key: record.ordering for key, record in deletes.items()} == expected


@EACH_VERSION
def test_log_compactions_contain_the_newest_rows(version: TableVersion) -> None:
    table = log_table(version, "compacted_logs")
    (compacted, content), (deletes, deleted), (last, last_content) = valid_blocks(table)
    _, *replaced, _ = table.writes.values()
    newest = {
        row["id"]: row for write in replaced for row in sorted(write["rows"], key=lambda row: row["ts"])
    }
    found = {key: plain_row(row) for key, row in rows_of(compacted, content).items()}
    assert found == {key: row for key, row in newest.items() if not row[FLAG]}
    records = decode_delete_block(deleted, deletes.what)
    assert {record.record_key for record in records} == {key for key, row in newest.items() if row[FLAG]}
    assert list(rows_of(last, last_content)) == [row["id"] for row in table.writes[last.instant_time]["rows"]]


@EACH_VERSION
def test_keys_are_read_first_and_then_the_chosen_rows(version: TableVersion) -> None:
    table = log_table(version, "updates")
    for located, content in valid_blocks(table):
        if located.block_type == BlockType.DELETE:
            continue
        block = open_data_block(located, content)
        keys = read_keys(block, located.what, ORDERING)
        assert keys.column_names == ["_hoodie_record_key", "ts", ROW]
        rows = block.read(target_of(located))
        assert keys["ts"].to_pylist() == rows["ts"].to_pylist()
        order = np.array(keys[ROW].to_pylist()[::-1])
        assert block.read(target_of(located), order).equals(rows.take(pa.array(order)))


@EACH_VERSION
def test_avro_blocks_are_written_byte_by_byte_like_those_of_hudi(version: TableVersion) -> None:
    compared = 0
    for name in ("updates", "compacted_logs"):
        for block, content in valid_blocks(log_table(version, name)):
            if block.block_type == BlockType.AVRO_DATA:
                rows = open_data_block(block, content).read(target_of(block))
                assert encode_avro_block(rows, block.schema) == content
                compared += 1
    assert compared == 5


@EACH_VERSION
def test_parquet_blocks_have_the_columns_of_hudi(version: TableVersion) -> None:
    ((block, content),) = of_kind(log_table(version, "updates"), BlockType.PARQUET_DATA)
    rows = open_data_block(block, content).read(target_of(block))
    own = ParquetDataBlock(encode_parquet_block(rows, block.schema, ParquetFormat()), "own")
    assert own.read(target_of(block)).equals(rows)


def test_a_row_without_a_key_is_an_error() -> None:
    (block, content), *_ = valid_blocks(log_table(TableVersion.V9, "updates"))
    first, *others = decode_records(content)
    assert first.count(KEY) == 1
    damaged = encode_records([first.replace(KEY, b"\x00\x02\x0anorth"), *others])
    with pytest.raises(MalformedMetadataError, match="1 rows have no record key"):
        read_keys(open_data_block(block, damaged), block.what, ORDERING)


def test_a_block_of_deletes_contains_no_rows() -> None:
    (deletes, _), *_ = of_kind(log_table(TableVersion.V9, "updates"), BlockType.DELETE)
    with pytest.raises(UnsupportedTableError, match="contains no rows"):
        open_data_block(deletes, b"")
