"""A base file with copied row groups has the rows, the statistics and the footer of a file without copies."""

import gc
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.execution.base_file_reader import open_base_file, rows_of_row_group
from hudi_table_services.execution.base_file_writer import (
    COMMIT_TIME,
    FILE_NAME,
    RECORD_KEY,
    SEQUENCE_NUMBER,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.execution.row_group_copies.encoded_row_groups import open_encoded
from hudi_table_services.hudi_format.footer import decode_key_footer
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.parquet.footers import TAIL_BYTES, ParquetFooter, footer_length
from hudi_table_services.hudi_format.parquet.thrift_compact import BINARY, I16, I64, Field, Struct
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.storage.stores.memory import MemoryStorage
from judges.rows import ALL_TYPES, KEY, as_table, some_rows

GROUPS, GROUP_ROWS = 5, 60
COLUMNS = tuple(field.name for field in ALL_TYPES if not pa.types.is_nested(field.type))
FIRST, SECOND = "20260101000000000", "20260102000000000"
CODECS = ["zstd", "snappy", "gzip", "lz4", "none"]


def group_rows(number: int) -> pa.Table:
    """Rows with all types; the key is the number of the row in the file."""
    data = as_table(some_rows(range(GROUP_ROWS), number))
    keys = [f"{number:02}-{row:04}" for row in range(GROUP_ROWS)]
    texts = {
        COMMIT_TIME: [FIRST] * GROUP_ROWS,
        SEQUENCE_NUMBER: [f"{number}_{row}" for row in range(GROUP_ROWS)],
        RECORD_KEY: keys,
    }
    columns = {name: data[name] for name in data.schema.names}
    columns[KEY] = pa.chunked_array([keys]).cast(data.schema.field(KEY).type)
    return pa.table({**{name: pa.array(each, pa.string()) for name, each in texts.items()}, **columns})


def spec_of(time: str, data_schema: pa.Schema) -> BaseFileSpec:
    return BaseFileSpec(
        base_file=BaseFile(file_id="f-0", write_token="0-0-0", instant_time=time),
        partition_path="a",
        expected_rows=(GROUPS + 1) * GROUP_ROWS,
        data_schema=data_schema,
        avro_schema_json="{}",
        marker_kind=MarkerKind.MERGE,
        statistics_columns=COLUMNS,
    )


def data_schema_of(rows: pa.Table) -> pa.Schema:
    return rows.schema.remove(0).remove(0).remove(0)


@dataclass
class Table:
    """A storage with one version of a base file that has five row groups."""

    storage: MemoryStorage
    rows: list[pa.Table]
    codec: str = "zstd"

    @classmethod
    def new(cls, codec: str = "zstd", groups: int = GROUPS) -> "Table":
        table = cls(MemoryStorage(uuid4().hex), [group_rows(number) for number in range(groups)], codec)
        table.write(FIRST, table.rows)
        return table

    @property
    def data_schema(self) -> pa.Schema:
        return data_schema_of(self.rows[0])

    @property
    def path(self) -> str:
        return spec_of(FIRST, self.data_schema).path

    def parquet(self, codec: str = "") -> ParquetFormat:
        return ParquetFormat(codec=codec or self.codec, row_group_bytes=1)

    def write(self, time: str, groups: Sequence[pa.Table]) -> BaseFileWriter:
        """Write a file with one row group for each table."""
        spec = spec_of(time, self.data_schema)
        with BaseFileWriter(self.storage, spec, self.parquet(), BloomSettings()) as writer:
            for rows in groups:
                writer.write(rows)
        return writer

    def write_with_copies(
        self,
        numbers: Sequence[int],
        added: Sequence[pa.Table],
        codec: str = "",
        schema: pa.Schema | None = None,
    ) -> tuple[BaseFileWriter, frozenset[int]]:
        """Write the next version: copied row groups, then the other row groups and the added rows."""
        spec = spec_of(SECOND, schema or self.data_schema)
        with (
            open_base_file(self.storage, self.path) as current,
            open_encoded(self.storage, self.path) as source,
            BaseFileWriter(self.storage, spec, self.parquet(codec), BloomSettings()) as writer,
        ):
            copied = writer.copy(current, source, numbers)
            for number in range(len(self.rows)):
                if number not in copied:
                    for rows in rows_of_row_group(current, number, spec.data_schema):
                        writer.write(rows)
            for rows in added:
                writer.write(rows)
        return writer, copied

    def read(self, time: str) -> pq.ParquetFile:
        return pq.ParquetFile(io.BytesIO(self.storage.read(spec_of(time, self.data_schema).path)))


def facts(statistics: FileStatistics | None) -> dict[str, tuple[object, ...]]:
    """Statistics that do not depend on the encoding."""
    assert statistics is not None
    return {
        each.column: (each.min_value, each.max_value, each.value_count, each.null_count, each.has_nan)
        for each in statistics.ranges
    }


def assert_same_file(found: pq.ParquetFile, expected: pq.ParquetFile) -> None:
    assert found.schema.equals(expected.schema)
    assert found.read().equals(expected.read())
    assert found.metadata.num_rows == expected.metadata.num_rows
    assert decode_key_footer(found.metadata.metadata) == decode_key_footer(expected.metadata.metadata)
    for number in range(expected.metadata.num_row_groups):
        ours, theirs = found.metadata.row_group(number), expected.metadata.row_group(number)
        assert (ours.num_rows, ours.total_byte_size) == (theirs.num_rows, theirs.total_byte_size)
        for place in range(expected.metadata.num_columns):
            assert ours.column(place).statistics == theirs.column(place).statistics
            assert ours.column(place).encodings == theirs.column(place).encodings


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("copies", [(0,), (0, 1, 2, 3, 4), (0, 1), (1, 3)], ids=str)
def test_the_file_is_the_same_as_without_copies(copies: tuple[int, ...], codec: str) -> None:
    table = Table.new(codec)
    added = [group_rows(GROUPS)]
    writer, copied = table.write_with_copies(copies, added)
    assert copied == set(copies)
    joined, size = table.read(SECOND), writer.data_size_bytes
    in_order = [*copies, *(number for number in range(GROUPS) if number not in copies)]
    expected = table.write(SECOND, [*(table.rows[number] for number in in_order), *added])
    assert_same_file(joined, table.read(SECOND))
    assert writer.row_count == expected.row_count == (GROUPS + 1) * GROUP_ROWS
    assert facts(writer.statistics) == facts(expected.statistics)
    assert abs(size - expected.data_size_bytes) < 100  # only the positions of row groups in the file differ
    assert set(joined.read([FILE_NAME])[FILE_NAME].to_pylist()) == {f"f-0_0-0-0_{SECOND}.parquet"}


def test_a_file_may_consist_of_copies_only() -> None:
    table = Table.new()
    table.write_with_copies(range(GROUPS), [])
    joined = table.read(SECOND)
    table.write(SECOND, table.rows)
    assert_same_file(joined, table.read(SECOND))


def test_copies_of_copies_have_the_same_rows() -> None:
    table = Table.new(groups=1)
    rng = random.Random(1)
    expected = list(table.rows)
    for number in range(1, 12):
        table.rows = [group_rows(each) for each in range(number)]
        added = group_rows(number)
        copies = [each for each in range(number) if rng.random() < 0.7]
        table.write_with_copies(copies, [added])
        expected.append(added)
        table.storage.write(table.path, table.storage.read(spec_of(SECOND, table.data_schema).path))
    rows = table.read(FIRST).read().drop_columns(["_hoodie_partition_path", FILE_NAME])
    wanted = pa.concat_tables(expected).select(rows.schema.names).cast(rows.schema)
    assert rows.sort_by(RECORD_KEY).equals(wanted.sort_by(RECORD_KEY))


def test_another_codec_is_not_copied() -> None:
    table = Table.new("zstd")
    _, copied = table.write_with_copies(range(GROUPS), [], codec="snappy")
    assert copied == frozenset()
    group = table.read(SECOND).metadata.row_group(0)
    assert {group.column(place).compression for place in range(group.num_columns)} == {"SNAPPY"}


def test_another_schema_is_not_copied() -> None:
    table = Table.new()
    wider = table.data_schema.append(pa.field("added", pa.int64()))
    _, copied = table.write_with_copies(range(GROUPS), [], schema=wider)
    assert copied == frozenset()
    assert table.read(SECOND).read(["added"])["added"].null_count == GROUPS * GROUP_ROWS


def with_footer(data: bytes, footer: ParquetFooter) -> bytes:
    """Return the file with another footer."""
    length = footer_length(data[-TAIL_BYTES:])
    return data[: -TAIL_BYTES - length] + footer.end_of_file()


def footer_of(data: bytes) -> ParquetFooter:
    length = footer_length(data[-TAIL_BYTES:])
    return ParquetFooter.decode(data[-TAIL_BYTES - length : -TAIL_BYTES])


def change_row_groups(table: Table, change: Callable[[int, Struct], None]) -> None:
    """Change the description of each row group of the first version, without a change of its pages."""
    data = table.storage.read(table.path)
    footer = footer_of(data)
    for number, group in enumerate(footer.fields[4].value.values):
        change(number, group)
    table.storage.write(table.path, with_footer(data, footer))


def test_ordinals_of_an_older_pyarrow_are_left_out() -> None:
    """Readers in Rust refuse a file in which some row groups have an ordinal and others have none."""
    table = Table.new()
    change_row_groups(table, lambda number, group: group.update({7: Field(I16, number)}))
    _, copied = table.write_with_copies((0, 1), [group_rows(GROUPS)])
    assert copied == {0, 1}
    data = table.storage.read(spec_of(SECOND, table.data_schema).path)
    assert all(7 not in group.fields for group in footer_of(data).row_groups)


UNKNOWN: dict[str, Callable[[int, Struct], None]] = {
    "of the row group": lambda _, group: group.update({8: Field(I64, 4)}),
    "of a chunk": lambda _, group: group[1].value.values[3].update({10: Field(I64, 4)}),
    "of the metadata of a chunk": lambda _, group: (
        group[1].value.values[3][3].value.update({18: Field(I64, 4)})
    ),
    "bloom filter": lambda _, group: group[1].value.values[3][3].value.update({14: Field(I64, 4)}),
    "another file": lambda _, group: group[1].value.values[3].update({1: Field(BINARY, b"other.parquet")}),
}


@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN)
def test_a_row_group_with_a_field_that_could_be_a_position_is_not_copied(
    change: Callable[[int, Struct], None],
) -> None:
    table = Table.new()
    change_row_groups(table, lambda number, group: change(number, group) if number == 1 else None)
    with open_encoded(table.storage, table.path) as source:
        assert [source.is_readable(number) for number in range(3)] == [True, False, True]


def test_a_footer_with_bytes_after_its_structure_cannot_be_copied() -> None:
    table = Table.new()
    data = table.storage.read(table.path)
    length = footer_length(data[-TAIL_BYTES:])
    signed = data[:-TAIL_BYTES] + bytes(28) + (length + 28).to_bytes(4, "little") + b"PAR1"
    table.storage.write(table.path, signed)
    assert table.read(FIRST).read().num_rows == GROUPS * GROUP_ROWS
    with (
        pytest.raises(MalformedMetadataError, match="28 bytes follow"),
        open_encoded(table.storage, table.path),
    ):
        pass


def test_a_truncated_file_is_an_error() -> None:
    table = Table.new()
    data = table.storage.read(table.path)
    table.storage.write(table.path, data[: len(data) // 2])
    with (
        pytest.raises(MalformedMetadataError, match="does not end with PAR1"),
        open_encoded(table.storage, table.path),
    ):
        pass


def test_a_file_with_a_wrong_number_of_rows_is_deleted() -> None:
    table = Table.new()
    spec = spec_of(SECOND, table.data_schema)

    def write() -> None:
        with (
            open_base_file(table.storage, table.path) as current,
            open_encoded(table.storage, table.path) as source,
            BaseFileWriter(table.storage, spec, table.parquet(), BloomSettings()) as writer,
        ):
            writer.copy(current, source, [0])
            writer.row_count += 1

    with pytest.raises(AssertionError, match="60 instead of 61 rows"):
        write()
    gc.collect()
    assert not table.storage.exists(spec.path)


def test_a_failed_copy_leaves_no_file() -> None:
    table = Table.new()
    spec = spec_of(SECOND, table.data_schema)
    with (
        open_base_file(table.storage, table.path) as current,
        open_encoded(table.storage, table.path) as source,
    ):
        source.file.close()
        with (
            pytest.raises(ValueError, match="closed"),
            BaseFileWriter(table.storage, spec, table.parquet(), BloomSettings()) as writer,
        ):
            writer.copy(current, source, [0])
    assert not table.storage.exists(spec.path)
