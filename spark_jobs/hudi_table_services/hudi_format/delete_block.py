"""Content of a DELETE block (HoodieDeleteBlock, HoodieDeleteRecordList; Hudi 0.14 to 1.2).

::

    content version (int32, 3) | length (int32) | Avro list of delete records

A delete record contains key, partition path and ordering value. Versions 1 and 2 are Java objects, which only releases
before 0.14 wrote.
"""

import io
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import fastavro

from hudi_table_services.errors import InvalidDataError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_limits import bounded_schema
from hudi_table_services.hudi_format.ordering_values import (
    NAMESPACE,
    OrderingValue,
    from_avro,
    to_avro,
    union_schema,
)

_HEADER = struct.Struct(">ii")
_VERSION = 3
_JAVA_VERSIONS = (1, 2)
_RECORD = {
    "type": "record",
    "name": "HoodieDeleteRecord",
    "fields": [
        {"name": "recordKey", "type": ["null", "string"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        {"name": "orderingVal", "type": union_schema()},
    ],
}
_LIST = fastavro.parse_schema(
    bounded_schema(
        {
            "type": "record",
            "name": "HoodieDeleteRecordList",
            "namespace": NAMESPACE,
            "fields": [{"name": "deleteRecordList", "type": {"type": "array", "items": _RECORD}}],
        }
    )
)


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    """Deletion of one key.

    Attributes:
        partition_path: the partition of the block's file; None if the writer did not store the path.
        ordering: None deletes unconditionally, as `UNCONDITIONAL` does. Only decoded records may have None.
    """

    record_key: str
    partition_path: str | None
    ordering: OrderingValue | None


def encode_delete_block(records: Iterable[DeleteRecord]) -> bytes:
    """Encode the content of a DELETE block.

    Raises:
        InvalidDataError: an ordering value is null (Hudi 0.15 would fail on every read), or does not fit its type.
        MalformedMetadataError: the ordering values have different types (hudi-rs and Hudi would fail on every read).
    """
    items, types = [], set()
    for record in records:
        if record.ordering is None:
            raise InvalidDataError(
                f"The delete of the key {record.record_key!r} has no ordering value.",
                hint="Fill the ordering column of this row, or delete the row unconditionally.",
            )
        types.add(record.ordering.type_name)
        items.append(
            {
                "recordKey": record.record_key,
                "partitionPath": record.partition_path,
                "orderingVal": to_avro(record.ordering),
            }
        )
    if len(types) > 1:
        raise MalformedMetadataError(
            f"A DELETE block cannot contain ordering values of several types: {', '.join(sorted(types))}.",
            hint="Write one block for each type.",
        )
    return encode_items(items)


def encode_items(items: list[dict[str, Any]]) -> bytes:
    """Encode delete records that are already Avro records."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _LIST, {"deleteRecordList": items})
    return _HEADER.pack(_VERSION, len(out.getvalue())) + out.getvalue()


def decode_delete_block(content: bytes, what: str) -> tuple[DeleteRecord, ...]:
    """Return the delete records, in their order.

    Args:
        what: name of the block, for error messages.

    Raises:
        MalformedMetadataError: the content is damaged, or a key is null.
        UnsupportedTableError: a release before 0.14 wrote the block.
    """
    return tuple(_record(item, what) for item in decode_items(content, what))


def decode_items(content: bytes, what: str) -> list[dict[str, Any]]:
    """Return the delete records as Avro records with keys that are not null. Raise as `decode_delete_block` does."""
    if len(content) < _HEADER.size:
        raise MalformedMetadataError(
            f"{what}: the content of a DELETE block has {len(content)} bytes, too few for its header."
        )
    version, length = _HEADER.unpack_from(content)
    if version in _JAVA_VERSIONS:
        raise UnsupportedTableError(
            f"{what}: the content of a DELETE block has version {version}, which contains Java objects of releases "
            "before Hudi 0.14.",
            hint="Compact the table with Hudi 0.14 or later first.",
        )
    if version != _VERSION:
        raise MalformedMetadataError(
            f"{what}: the content of a DELETE block has the unknown version {version}; supported: {_VERSION}."
        )
    if length != len(content) - _HEADER.size:
        raise MalformedMetadataError(
            f"{what}: a DELETE block declares {length} bytes, but has {len(content) - _HEADER.size}."
        )
    items = _items(content[_HEADER.size :], what)
    if any(item["recordKey"] is None for item in items):
        raise MalformedMetadataError(f"{what}: a key in a DELETE block is null.")
    return items


def _items(data: bytes, what: str) -> list[dict[str, Any]]:
    source = io.BytesIO(data)
    try:
        decoded: Any = fastavro.schemaless_reader(source, _LIST, None, return_record_name=True)
        items: list[dict[str, Any]] = decoded["deleteRecordList"]
    except Exception as error:  # fastavro raises many kinds of error for damaged bytes
        raise MalformedMetadataError(f"{what}: a DELETE block cannot be read: {error!r:.200}") from error
    if source.tell() != len(data):
        raise MalformedMetadataError(
            f"{what}: a DELETE block has {len(data) - source.tell()} bytes after its keys."
        )
    return items


def _record(item: dict[str, Any], what: str) -> DeleteRecord:
    try:
        ordering = from_avro(item["orderingVal"])
    except MalformedMetadataError as error:
        raise MalformedMetadataError(f"{what}: {error.message}") from error
    return DeleteRecord(item["recordKey"], item["partitionPath"], ordering)
