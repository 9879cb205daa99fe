"""Encode and decode Parquet files of the timeline history (HoodieLSMTimelineInstant, Hudi 1.2)."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.model.archival import HistoryEntry

_SCHEMA = pa.schema(
    [
        pa.field("instantTime", pa.string()),
        pa.field("completionTime", pa.string()),
        pa.field("action", pa.string()),
        pa.field("metadata", pa.binary()),
        pa.field("plan", pa.binary()),
        pa.field("version", pa.int32(), nullable=False),
    ]
)
_COMPLETION_TIME = "completionTime"
_COLUMNS = [field.name for field in _SCHEMA if field.name != "version"]
_TEXT = '["null",{"type":"string","avro.java.string":"String"}],"default":null'
_BYTES = '["null","bytes"],"default":null'
_AVRO_SCHEMA = (
    '{"type":"record","name":"HoodieLSMTimelineInstant","namespace":"org.apache.hudi.avro.model","fields":['
    f'{{"name":"instantTime","type":{_TEXT}}},{{"name":"completionTime","type":{_TEXT}}},'
    f'{{"name":"action","type":{_TEXT}}},{{"name":"metadata","type":{_BYTES}}},{{"name":"plan","type":{_BYTES}}},'
    '{"name":"version","type":"int","default":1}]}'
)
ENTRIES_OF_A_ROW_GROUP = 256
"""A merged file can contain thousands of entries, and each of them can contain the metadata of hundreds of files. Small
row groups avoid a second copy of all entries while the file is written."""

_FOOTER = {"parquet.avro.schema": _AVRO_SCHEMA, "writer.model.name": "avro"}


def encode_history(entries: Sequence[HistoryEntry]) -> bytes:
    """Encode entries as one file, sorted by requested time, as Hudi sorts them.

    At most `ENTRIES_OF_A_ROW_GROUP` entries are in the memory of Arrow at once.
    """
    ordered = sorted(entries, key=lambda entry: entry.requested_time)
    sink = io.BytesIO()
    # Every codec compresses this file well, because each instant repeats its Avro schema. Hudi uses gzip. Level 1 takes
    # a fifth of the time of the default level, and makes files that are a tenth larger.
    options: dict[str, Any] = {
        "compression": "gzip",
        "compression_level": 1,
        "use_dictionary": False,
        "store_schema": False,
    }
    with pq.ParquetWriter(sink, _SCHEMA, **options) as writer:
        for start in range(0, max(1, len(ordered)), ENTRIES_OF_A_ROW_GROUP):
            rows = [_row(entry) for entry in ordered[start : start + ENTRIES_OF_A_ROW_GROUP]]
            writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
        writer.add_key_value_metadata(_FOOTER)
    return sink.getvalue()


def _row(entry: HistoryEntry) -> dict[str, Any]:
    return {
        "instantTime": entry.requested_time,
        "completionTime": entry.completion_time,
        "action": entry.action,
        "metadata": entry.metadata,
        "plan": entry.plan,
        "version": 1,
    }


def decode_history(data: bytes) -> tuple[HistoryEntry, ...]:
    """Decode the entries of a file written by Hudi or by this project.

    Raises:
        MalformedMetadataError: the data is not a file of the timeline history, or is damaged.
    """
    with _malformed():
        return _entries(pq.read_table(io.BytesIO(data), columns=_COLUMNS))


def decode_history_since(stream: BinaryIO, time: str) -> tuple[HistoryEntry, ...]:
    """Decode the entries that completed at or after a time, or whose completion time is unknown.

    The footer shows which row groups can contain such entries; the other row groups are not read. Of a row group
    without such entries, only the completion times are read.

    Args:
        stream: a seekable file written by Hudi or by this project.

    Raises:
        MalformedMetadataError: the file is not a file of the timeline history, or is damaged.
    """
    found: list[HistoryEntry] = []
    with _malformed():
        file = pq.ParquetFile(stream, pre_buffer=False)
        index = file.schema_arrow.get_field_index(_COMPLETION_TIME)
        for group in range(file.num_row_groups):
            if _ends_before(file.metadata.row_group(group).column(index).statistics, time):
                continue
            times = file.read_row_group(group, columns=[_COMPLETION_TIME]).column(0)
            is_wanted = pc.or_(pc.is_null(times), pc.fill_null(pc.greater_equal(times, time), False))
            if pc.any(is_wanted).as_py():
                found += _entries(file.read_row_group(group, columns=_COLUMNS).filter(is_wanted))
    return tuple(found)


def _ends_before(statistics: Any, time: str) -> bool:
    """Return whether the statistics of a row group show that all its completion times are known and before `time`."""
    is_known = statistics is not None and statistics.has_min_max and statistics.has_null_count
    return bool(is_known and not statistics.null_count and statistics.max < time)


def _entries(table: pa.Table) -> tuple[HistoryEntry, ...]:
    return tuple(
        HistoryEntry(
            requested_time=row["instantTime"],
            completion_time=row[_COMPLETION_TIME],
            action=row["action"],
            metadata=row["metadata"],
            plan=row["plan"],
        )
        for row in table.to_pylist()
    )


@contextmanager
def _malformed() -> Iterator[None]:
    try:
        yield
    except (KeyError, OSError, pa.ArrowException) as error:
        raise MalformedMetadataError(f"A file of the timeline history cannot be read: {error}") from error
