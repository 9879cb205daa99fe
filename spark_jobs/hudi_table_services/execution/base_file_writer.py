"""Write one base file: its marker, row groups of bounded size, and a footer with bloom filter and key range.

The files match those of HoodieParquetWriter and HoodieCreateHandle (Hudi 1.2) in all parts that other writers read.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.execution.metadata_table.written_statistics import StatisticsCollector
from hudi_table_services.execution.numpy_types import Bytes, Offsets
from hudi_table_services.execution.parquet_format import ParquetFormat, dictionary_columns
from hudi_table_services.execution.row_group_copies.encoded_row_groups import EncodedRowGroups
from hudi_table_services.execution.row_group_copies.joined_file import JoinedFile
from hudi_table_services.hudi_format.bloom_filter import SimpleBloomFilter
from hudi_table_services.hudi_format.footer import base_file_footer
from hudi_table_services.hudi_format.markers import MarkerKind, marker_path
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.storage.stores.storage import Storage

COMMIT_TIME, SEQUENCE_NUMBER, RECORD_KEY, PARTITION_PATH, FILE_NAME = META_COLUMNS
_META_VALUE_LENGTH = 40
"""Approximate mean length of a value in the meta columns. File names are longer, and the other values are shorter."""
_KEYS_AT_ONCE = 1 << 17
"""Number of keys of copied row groups that are added to the bloom filter together, because many keys need less time
each than few."""
_CONSTANT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomSettings:
    """Settings for the size of a bloom filter (``hoodie.index.bloom.fpp``, ``…filter.dynamic.max.entries``)."""

    false_positive_rate: float = 1e-9
    max_entries: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileSpec:
    """One base file to be written.

    Attributes:
        expected_rows: upper bound of the number of rows; determines the size of the bloom filter.
        data_schema: Arrow schema of the user's columns.
        avro_schema_json: Avro schema with meta fields for the footer.
        marker_kind: CREATE for a new file group, MERGE for the next slice of an existing file group.
        footer: additional key-value pairs for the footer.
        statistics_columns: columns whose statistics the writer collects, see `StatisticsCollector`. If the list is
            empty, the writer collects no statistics.
    """

    base_file: BaseFile
    partition_path: str
    expected_rows: int
    data_schema: pa.Schema
    avro_schema_json: str
    marker_kind: MarkerKind
    footer: Mapping[str, str] = field(default_factory=dict)
    statistics_columns: tuple[str, ...] = ()

    @property
    def instant_time(self) -> str:
        return self.base_file.instant_time

    @property
    def path(self) -> str:
        name = self.base_file.file_name
        return f"{self.partition_path}/{name}" if self.partition_path else name

    @property
    def marker_path(self) -> str:
        return marker_path(self.base_file.instant_time, self.path, self.marker_kind)


class BaseFileWriter:
    """Streams rows into one base file. The end of the `with` block completes the file; an error deletes it."""

    def __init__(
        self, storage: Storage, spec: BaseFileSpec, parquet: ParquetFormat, bloom: BloomSettings
    ) -> None:
        self._storage = storage
        self._spec = spec
        self._parquet = parquet
        self._bloom = SimpleBloomFilter.sized_for(
            max(1, spec.expected_rows), bloom.false_positive_rate, bloom.max_entries
        )
        self._key_range: tuple[str, str] | None = None
        self._pending: list[pa.Table] = []
        self._pending_bytes = 0
        self._sink: BinaryIO | None = None
        self._joined: JoinedFile | None = None
        self._writer: pq.ParquetWriter | None = None
        self.row_count = 0
        self.data_size_bytes = 0
        """Bytes before the footer; set by `close`."""
        self._collector = StatisticsCollector(spec.statistics_columns) if spec.statistics_columns else None
        self.statistics: FileStatistics | None = None
        """Statistics of the columns that `spec` names; set by `close`. None if `spec` names no columns."""
        storage.write(spec.marker_path, b"")

    def __enter__(self) -> "BaseFileWriter":
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error_type is not None:
            self._abandon()
            return
        try:
            self.close()
        except BaseException:
            self._abandon()
            raise

    def write(self, rows: pa.Table) -> None:
        """Append rows. Their columns are the user's columns, commit time, sequence number and record key.

        The writer adds partition path and file name, which are the same for every row.
        """
        if rows.num_rows == 0:
            return
        self._pending.append(rows)
        self._pending_bytes += rows.nbytes
        self.row_count += rows.num_rows
        if self._pending_bytes >= self._parquet.row_group_bytes:
            self._write_row_group()

    def copy(self, file: pq.ParquetFile, source: EncodedRowGroups, numbers: Sequence[int]) -> frozenset[int]:
        """Copy row groups of another version of this file, if `JoinedFile.can_copy` allows it.

        Call this method before `write`.

        Args:
            file: the other version.
            source: the same file, opened to read its bytes.
            numbers: numbers of the row groups.

        Returns:
            The numbers of the copied row groups.
        """
        empty = self._empty_rows()
        constant = (FILE_NAME, constant_text(self._spec.base_file.file_name, 1))
        self._joined = JoinedFile(self._open_sink(), self._parquet, empty.schema, constant)
        copied = frozenset(number for number in numbers if self._joined.can_copy(source, number))
        keys: list[pa.Array] = []
        for number in sorted(copied):
            columns = [RECORD_KEY]
            if self._collector is not None:
                columns += self._collector.columns_to_read(file.metadata, number)
            rows = file.read_row_group(number, columns, use_threads=False)
            keys += rows[RECORD_KEY].chunks
            if sum(map(len, keys)) >= _KEYS_AT_ONCE:
                self._index_keys(pa.chunked_array(keys))
                keys.clear()
            if self._collector is not None:
                self._collector.add(rows)
            self._joined.copy(source, number)
            self.row_count += rows.num_rows
        self._index_keys(pa.chunked_array(keys, pa.string()))
        return copied

    def close(self) -> None:
        """Write the last row group and the footer. Afterwards the file is complete on storage."""
        self._write_row_group()
        writer = self._writer or self._open(self._empty_rows())
        low, high = self._key_range or (None, None)
        footer = base_file_footer(self._spec.avro_schema_json, self._bloom, low, high)
        writer.add_key_value_metadata({**footer, **self._spec.footer})
        assert self._sink is not None  # noqa: S101 - `_open` sets it
        if self._joined is None:
            self.data_size_bytes = self._sink.tell()
            writer.close()
        else:
            self._close_joined(writer, self._joined)
        self._sink.close()
        if self._collector is not None:
            self.statistics = self._collector.statistics(
                self._spec.partition_path, self._spec.base_file.file_name
            )

    def _close_joined(self, writer: pq.ParquetWriter, joined: JoinedFile) -> None:
        joined.begin_footer()
        writer.close()
        footer = joined.finish(self.row_count)
        self.data_size_bytes = joined.data_bytes
        if self._collector is not None:
            self._collector.footers[:] = [footer]

    def _abandon(self) -> None:
        """Delete the partial file now, because no other job deletes the file if the commit was already rolled back."""
        with suppress(HudiTableServiceError, OSError):  # a failed deletion must not mask the original error
            if self._sink is not None:
                self._sink.close()
        with suppress(HudiTableServiceError):
            self._storage.delete(self._spec.path)

    def _empty_rows(self) -> pa.Table:
        names = [pa.field(name, pa.string()) for name in (COMMIT_TIME, SEQUENCE_NUMBER, RECORD_KEY)]
        return self._with_constants(pa.schema([*names, *self._spec.data_schema]).empty_table())

    def _write_row_group(self) -> None:
        if not self._pending:
            return
        # The chunks of the columns are not joined: only the borders of pages depend on them.
        table = pa.concat_tables(self._pending)
        self._pending, self._pending_bytes = [], 0
        self._index_keys(table[RECORD_KEY])
        table = self._with_constants(table)
        if self._collector is not None:
            self._collector.add(table)
        writer = self._writer or self._open(table)
        writer.write_table(table, row_group_size=max(1, table.num_rows))

    def _open(self, first_rows: pa.Table) -> pq.ParquetWriter:
        sink = self._joined or self._open_sink()
        footers = None if self._collector is None else self._collector.footers
        self._writer = self._parquet.open_writer(
            sink, first_rows.schema, dictionary_columns(first_rows), footers
        )
        return self._writer

    def _open_sink(self) -> BinaryIO:
        self._sink = self._storage.open_writer(self._spec.path)
        return self._sink

    def _with_constants(self, rows: pa.Table) -> pa.Table:
        size = rows.num_rows
        constants = {
            PARTITION_PATH: constant_text(self._spec.partition_path, size),
            FILE_NAME: constant_text(self._spec.base_file.file_name, size),
        }
        columns: list[pa.Array | pa.ChunkedArray] = []
        fields: list[pa.Field] = []
        for name in META_COLUMNS:
            column = constants.get(name)
            columns.append(rows[name] if column is None else column)
            fields.append(pa.field(name, pa.string() if column is None else _CONSTANT))
        for own in self._spec.data_schema:
            columns.append(rows[own.name])
            fields.append(own)
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def _index_keys(self, keys: pa.ChunkedArray) -> None:
        # Without many small chunks, because the bloom filter hashes a large chunk three times as fast.
        for chunk in _joined(keys).chunks:
            if len(chunk) == 0:
                continue
            offsets, data = utf8_buffers(chunk)
            self._bloom.add_keys(offsets, data)
            bounds = pc.min_max(chunk)
            low, high = bounds["min"].as_py(), bounds["max"].as_py()
            if self._key_range is not None:
                low, high = min(low, self._key_range[0]), max(high, self._key_range[1])
            self._key_range = (low, high)


def _joined(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column in as few chunks as the offsets of its type allow."""
    return pa.table({"": column}).combine_chunks().column(0)


def footer_bytes(data_schema: pa.Schema, avro_schema_json: str, parquet: ParquetFormat) -> int:
    """Return the size of the footer of a base file with one row, in bytes.

    The result leaves out the statistics of the user's columns. In files with more rows, the bloom filter is larger.
    """
    fields = [
        *(pa.field(name, pa.string()) for name in META_COLUMNS),
        *(f.with_nullable(True) for f in data_schema),
    ]
    columns = [pa.nulls(1, field.type) for field in fields]
    columns[: len(META_COLUMNS)] = [pa.array(["0" * _META_VALUE_LENGTH]) for _ in META_COLUMNS]
    row = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    bloom = SimpleBloomFilter.sized_for(1, 1e-9, 1)
    sink = pa.BufferOutputStream()
    writer = parquet.open_writer(sink, row.schema, dictionary_columns(row))
    writer.write_table(row)
    writer.add_key_value_metadata(base_file_footer(avro_schema_json, bloom, "", ""))
    data_bytes = sink.tell()
    writer.close()
    return int(sink.getvalue().size - data_bytes)


def constant_text(value: str, row_count: int) -> pa.DictionaryArray:
    """Return a column with the same string in every row. The column is dictionary-encoded."""
    indices = pa.array(np.zeros(row_count, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([value], pa.string()))


def utf8_buffers(keys: pa.StringArray) -> tuple[Offsets, Bytes]:
    """Return the offsets (row count + 1) and the UTF-8 bytes of a string array without nulls, without copying them."""
    _, offset_buffer, data_buffer = keys.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int32)[keys.offset : keys.offset + len(keys) + 1]
    data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    return offsets, data


def new_record_columns(
    rows: pa.RecordBatch | pa.Table, commit_time: str, sequence_prefix: str, first_sequence: int
) -> tuple[pa.Array, pa.Array]:
    """Return the commit times and the sequence numbers (``<instant>_<task>_<row>``) of rows that this commit writes."""
    size = rows.num_rows
    numbers = pc.cast(pa.array(np.arange(first_sequence, first_sequence + size)), pa.string())
    sequence = pc.binary_join_element_wise(pa.scalar(f"{commit_time}_{sequence_prefix}"), numbers, "_")
    return pa.repeat(pa.scalar(commit_time), size), sequence
