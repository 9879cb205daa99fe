"""Conversion between contents of records of the metadata table and Avro fields (HoodieMetadataPayload, Hudi 1.2)."""

from collections.abc import Mapping
from typing import Any

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table import stat_values
from hudi_table_services.hudi_format.metadata_table.file_ids import NO_NUMBER, join_file_id, split_file_id
from hudi_table_services.hudi_format.untyped import Untyped
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileBloomFilter,
    ListedFile,
    Listing,
    Payload,
    RecordLocation,
    RecordType,
    SecondaryIndexEntry,
    ValueType,
)

FIELDS: Mapping[RecordType, str] = {
    RecordType.ALL_PARTITIONS: "filesystemMetadata",
    RecordType.FILES: "filesystemMetadata",
    RecordType.COLUMN_STATS: "ColumnStatsMetadata",
    RecordType.BLOOM_FILTER: "BloomFilterMetadata",
    RecordType.RECORD_INDEX: "recordIndexMetadata",
    RecordType.PARTITION_STATS: "ColumnStatsMetadata",
    RecordType.SECONDARY_INDEX: "SecondaryIndexMetadata",
}
"""Maps each record type to the Avro field with the content of the record."""

_AS_NUMBERS, _AS_TEXT = 0, 1


def payload_to_avro(payload: Payload) -> dict[str, Any]:
    """Return the Avro fields of the sub-record that contains a payload."""
    match payload:
        case Listing():
            return {
                name: {"size": file.size_bytes, "isDeleted": file.is_deleted}
                for name, file in payload.files.items()
            }
        case ColumnStats():
            return _stats_to_avro(payload)
        case FileBloomFilter():
            return {
                "type": payload.type_code,
                "timestamp": payload.timestamp,
                "bloomFilter": payload.bloom_filter,
                "isDeleted": payload.is_deleted,
            }
        case RecordLocation():
            return _location_to_avro(payload)
        case SecondaryIndexEntry():
            return {"isDeleted": payload.is_deleted}


def payload_from_avro(record_type: RecordType, fields: Untyped) -> Payload:
    """Return the payload that the sub-record of a record contains.

    Raises:
        MalformedMetadataError: a field has a value of a wrong type, or is null but must not be.
    """
    match record_type:
        case RecordType.ALL_PARTITIONS | RecordType.FILES:
            return Listing({name: _listed(value, name, fields) for name, value in fields.values.items()})
        case RecordType.COLUMN_STATS | RecordType.PARTITION_STATS:
            return _stats_from_avro(fields)
        case RecordType.BLOOM_FILTER:
            return FileBloomFilter(
                type_code=fields.text("type"),
                timestamp=fields.text("timestamp"),
                bloom_filter=_bytes(fields, "bloomFilter"),
                is_deleted=fields.flag("isDeleted"),
            )
        case RecordType.RECORD_INDEX:
            return _location_from_avro(fields)
        case RecordType.SECONDARY_INDEX:
            return SecondaryIndexEntry(fields.flag("isDeleted"))


def _listed(value: Any, name: str, fields: Untyped) -> ListedFile:
    if type(value) is dict:
        size, is_deleted = value.get("size"), value.get("isDeleted")
        if type(size) is int and type(is_deleted) is bool:
            return ListedFile(size, is_deleted)  # true for most records; the checks below are slow
    entry = fields.record(name)
    return ListedFile(entry.integer("size"), entry.flag("isDeleted"))


def _stats_to_avro(stats: ColumnStats) -> dict[str, Any]:
    value_type = stats.value_type
    return {
        "fileName": stats.file_name,
        "columnName": stats.column_name,
        "minValue": stat_values.to_avro(stats.min_value),
        "maxValue": stat_values.to_avro(stats.max_value),
        "valueCount": stats.value_count,
        "nullCount": stats.null_count,
        "totalSize": stats.total_size_bytes,
        "totalUncompressedSize": stats.total_uncompressed_bytes,
        "isDeleted": stats.is_deleted,
        "isTightBound": stats.is_tight_bound,
        "valueType": value_type
        and {"typeOrdinal": value_type.type_id, "additionalInfo": value_type.additional_info},
    }


def _stats_from_avro(fields: Untyped) -> ColumnStats:
    return ColumnStats(
        file_name=fields.optional_text("fileName"),
        column_name=fields.optional_text("columnName"),
        min_value=stat_values.from_avro(fields.values.get("minValue"), fields.what),
        max_value=stat_values.from_avro(fields.values.get("maxValue"), fields.what),
        value_count=fields.optional_integer("valueCount"),
        null_count=fields.optional_integer("nullCount"),
        total_size_bytes=fields.optional_integer("totalSize"),
        total_uncompressed_bytes=fields.optional_integer("totalUncompressedSize"),
        is_deleted=fields.flag("isDeleted"),
        is_tight_bound=fields.flag("isTightBound"),
        value_type=_value_type(fields.record("valueType")) if fields.has("valueType") else None,
    )


def _value_type(fields: Untyped) -> ValueType:
    return ValueType(fields.integer("typeOrdinal"), fields.optional_text("additionalInfo"))


def _location_to_avro(location: RecordLocation) -> dict[str, Any]:
    if location.is_plain_text:
        high, low, number, text = NO_NUMBER, NO_NUMBER, NO_NUMBER, location.file_id
    else:
        high, low, number = split_file_id(location.file_id)
        text = ""
    return {
        "partitionName": location.partition_path,
        "fileIdHighBits": high,
        "fileIdLowBits": low,
        "fileIndex": number,
        "fileId": text,
        "instantTime": location.instant_millis,
        "fileIdEncoding": _AS_TEXT if location.is_plain_text else _AS_NUMBERS,
        "position": location.position,
    }


def _location_from_avro(fields: Untyped) -> RecordLocation:
    encoding = fields.integer("fileIdEncoding")
    if encoding not in (_AS_NUMBERS, _AS_TEXT):
        raise MalformedMetadataError(f"{fields.what}: the file id has the unknown encoding {encoding}.")
    needed = ("fileId",) if encoding == _AS_TEXT else ("fileIdHighBits", "fileIdLowBits", "fileIndex")
    missing = [name for name in ("partitionName", "instantTime", *needed) if not fields.has(name)]
    if missing:
        raise MalformedMetadataError(f"{fields.what}: {', '.join(missing)} must not be null.")
    numbers = (fields.integer(name) for name in ("fileIdHighBits", "fileIdLowBits", "fileIndex"))
    return RecordLocation(
        partition_path=fields.text("partitionName"),
        file_id=fields.text("fileId") if encoding == _AS_TEXT else join_file_id(*numbers),
        instant_millis=fields.integer("instantTime"),
        is_plain_text=encoding == _AS_TEXT,
        position=fields.optional_integer("position"),
    )


def _bytes(fields: Untyped, name: str) -> bytes:
    value = fields.values.get(name)
    if not isinstance(value, bytes):
        raise MalformedMetadataError(f"{fields.what}: {name} contains a {type(value).__name__}, not bytes.")
    return value
