"""Encode base files as Parquet files that are compact and that Hudi merges correctly.

List elements are named ``element``, decimals are FIXED_LEN_BYTE_ARRAY, timestamps are INT64 microseconds. With any
other encoding of lists, decimals or timestamps, a rewrite by Hudi corrupts the rows without an error
(docs/on-disk.md).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.model.schema import META_COLUMNS

SEQUENCE_NUMBER = META_COLUMNS[1]
_DICTIONARY_SAMPLE_ROWS = 20_000
_DICTIONARY_MAX_DISTINCT_RATIO = 0.4
_ALWAYS_PLAIN = ("_hoodie_commit_seqno", "_hoodie_record_key")
_ALWAYS_DICTIONARY = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetFormat:
    """Encoding settings of base files.

    Attributes:
        codec: ``zstd``, ``snappy``, ``gzip``, ``lz4`` or ``none``.
        codec_level: level of the codec; None for the library's default.
        row_group_bytes: maximum size of the Arrow data for one row group, which limits the memory of a writer.
        writes_page_index: whether to store the value range of every page, so that readers of sorted files can skip
            pages.
    """

    codec: str = "zstd"
    codec_level: int | None = None
    row_group_bytes: int = 64 << 20
    writes_page_index: bool = False

    def open_writer(
        self,
        sink: object,
        schema: pa.Schema,
        dictionary_columns: list[str],
        footers: list[pq.FileMetaData] | None = None,
    ) -> pq.ParquetWriter:
        """Open a file for writing.

        Args:
            footers: list to which the writer adds the footer when it closes the file.
        """
        return pq.ParquetWriter(
            sink,
            schema,
            compression=self.codec,
            compression_level=self.codec_level,
            use_dictionary=dictionary_columns,
            use_compliant_nested_type=True,
            store_schema=False,
            coerce_timestamps=None,
            write_statistics=True,
            write_page_index=self.writes_page_index,
            store_decimal_as_integer=False,
            version="2.6",
            data_page_version="1.0",
            metadata_collector=footers,
        )


def dictionary_columns(sample: pa.Table) -> list[str]:
    """Return the leaf columns to encode with a dictionary, chosen by the share of distinct values in the first rows."""
    chosen: list[str] = []
    head = sample.slice(0, _DICTIONARY_SAMPLE_ROWS)
    for field in sample.schema:
        if field.name in _ALWAYS_DICTIONARY:
            chosen.append(field.name)
        elif field.name not in _ALWAYS_PLAIN:
            chosen.extend(_dictionary_leaves(field.name, head[field.name]))
    return chosen


def _dictionary_leaves(path: str, column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_dictionary(column.type):
        return [path]
    if pa.types.is_nested(column.type):
        # Encode all leaves of a nested column with a dictionary, because nested columns usually have few leaves. If a
        # dictionary grows too large, Parquet changes to plain encoding.
        return _leaf_paths(path, column.type)
    if pa.types.is_boolean(column.type) or len(column) == 0:
        return []
    distinct = pc.count_distinct(column, mode="all").as_py()
    return [path] if distinct <= max(1, len(column) * _DICTIONARY_MAX_DISTINCT_RATIO) else []


def _leaf_paths(path: str, data_type: pa.DataType) -> list[str]:
    if pa.types.is_struct(data_type):
        return [leaf for child in data_type for leaf in _leaf_paths(f"{path}.{child.name}", child.type)]
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        return _leaf_paths(f"{path}.list.element", data_type.value_type)
    if pa.types.is_map(data_type):
        key = _leaf_paths(f"{path}.key_value.key", data_type.key_type)
        return key + _leaf_paths(f"{path}.key_value.value", data_type.item_type)
    return [path]


def encoded_bytes_per_row(table: pa.Table, parquet: ParquetFormat) -> float:
    """Return the mean bytes per row that the rows need in a base file, without the footer.

    Args:
        table: the user's columns and the record key. This function adds a sequence number; the other meta columns need
            almost no space.
    """
    sink = pa.BufferOutputStream()
    numbers = pc.cast(pa.array(np.arange(table.num_rows)), pa.string())
    sequence = pc.binary_join_element_wise(pa.scalar("00000000000000000_0"), numbers, "_")
    table = table.append_column(SEQUENCE_NUMBER, sequence)
    with parquet.open_writer(sink, table.schema, dictionary_columns(table)) as writer:
        writer.write_table(table)
    metadata = pq.ParquetFile(pa.BufferReader(sink.getvalue())).metadata
    compressed = sum(
        metadata.row_group(i).column(j).total_compressed_size
        for i in range(metadata.num_row_groups)
        for j in range(metadata.num_columns)
    )
    return float(compressed / table.num_rows)
