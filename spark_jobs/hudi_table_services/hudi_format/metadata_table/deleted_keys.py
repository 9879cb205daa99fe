"""Content of a DELETE block: keys of deleted records (HoodieDeleteBlock, HoodieDeleteRecordList; Hudi 0.15 and 1.2).

::

    content version (int32, 3) | length (int32) | Avro list: key, partition of the metadata table, ordering value 0
"""

import io
import struct
from collections.abc import Sequence
from typing import Any

import fastavro

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.avro_limits import bounded_schema
from hudi_table_services.hudi_format.metadata_table.record_schema import NAMESPACE, wrappers
from hudi_table_services.model.metadata_table import StatKind
from hudi_table_services.model.table_version import TableVersion

_HEADER = struct.Struct(">ii")
_VERSION = 3
_ORDERING_VALUE = (f"{NAMESPACE}.{StatKind.INT.value}", {"value": 0})
_RECORD = {
    "type": "record",
    "name": "HoodieDeleteRecord",
    "fields": [
        {"name": "recordKey", "type": ["null", "string"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        {"name": "orderingVal", "type": wrappers(TableVersion.V9)},
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


def encode_deleted_keys(keys: Sequence[str], partition: str) -> bytes:
    """Encode the content of a block that deletes records of one partition of the metadata table."""
    out = io.BytesIO()
    records = [{"recordKey": key, "partitionPath": partition, "orderingVal": _ORDERING_VALUE} for key in keys]
    fastavro.schemaless_writer(out, _LIST, {"deleteRecordList": records})
    return _HEADER.pack(_VERSION, len(out.getvalue())) + out.getvalue()


def decode_deleted_keys(content: bytes, what: str) -> tuple[str, ...]:
    """Return the deleted keys, in their order.

    Raises:
        MalformedMetadataError: the content is damaged, or a key is null.
        UnsupportedTableError: the content has a version that Hudi 0.15 and later do not write.
    """
    if len(content) < _HEADER.size:
        raise MalformedMetadataError(
            f"{what}: the content of a DELETE block has {len(content)} bytes, too few for its header."
        )
    version, length = _HEADER.unpack_from(content)
    if version != _VERSION:
        raise UnsupportedTableError(
            f"{what}: the content of a DELETE block has version {version}; supported: {_VERSION}."
        )
    if length != len(content) - _HEADER.size:
        raise MalformedMetadataError(
            f"{what}: a DELETE block declares {length} bytes, but has {len(content) - _HEADER.size}."
        )
    keys = [record["recordKey"] for record in _records(content[_HEADER.size :], what)]
    if None in keys:
        raise MalformedMetadataError(f"{what}: a key in a DELETE block is null.")
    return tuple(keys)


def _records(data: bytes, what: str) -> list[dict[str, Any]]:
    source = io.BytesIO(data)
    try:
        decoded = fastavro.schemaless_reader(source, _LIST, None)
    except Exception as error:  # fastavro raises many kinds of error for damaged bytes
        raise MalformedMetadataError(f"{what}: a DELETE block cannot be read: {error!r}") from error
    if source.tell() != len(data) or not isinstance(decoded, dict):
        raise MalformedMetadataError(
            f"{what}: a DELETE block has {len(data) - source.tell()} bytes after its keys."
        )
    records: list[dict[str, Any]] = decoded["deleteRecordList"]
    return records
