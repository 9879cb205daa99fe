"""Data files that have a size and, for base files, a real Parquet footer, but take at most one block of the disk."""

import io
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scale.shapes import BYTES_OF_A_ROW

SCHEMA_JSON = (
    '{"type":"record","name":"scale_record","namespace":"hoodie.scale","fields":['
    '{"name":"id","type":"string"},{"name":"day","type":"string"},{"name":"amount","type":"double"}]}'
)
_META_COLUMNS = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
_TRAILER_BYTES = 8


@cache
def footer_of(size_bytes: int) -> bytes:
    """Return the Parquet footer of a base file of this length, with its row count, as the last bytes of the file."""
    rows = size_bytes // BYTES_OF_A_ROW
    names = [*(f"_hoodie_{name}" for name in _META_COLUMNS), "id", "day"]
    columns = {name: pa.repeat("x", rows) for name in names}
    table = pa.table({**columns, "amount": pa.repeat(1.0, rows)})
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, table.schema, compression="snappy") as writer:
        writer.write_table(table, row_group_size=rows)
        writer.add_key_value_metadata({"parquet.avro.schema": SCHEMA_JSON})
    data = sink.getvalue()
    length = int.from_bytes(data[-_TRAILER_BYTES:-4], "little") + _TRAILER_BYTES
    return data[-length:]


def write_base_file(path: Path, size_bytes: int) -> None:
    """Create a base file without rows: a hole, and the footer at the end."""
    footer = footer_of(size_bytes)
    with path.open("wb") as file:
        file.truncate(size_bytes)
        file.seek(size_bytes - len(footer))
        file.write(footer)


def write_log_file(path: Path, size_bytes: int) -> None:
    """Create a log file that consists of one hole. No plan reads the content of a log file in table version 9."""
    with path.open("wb") as file:
        file.truncate(size_bytes)
