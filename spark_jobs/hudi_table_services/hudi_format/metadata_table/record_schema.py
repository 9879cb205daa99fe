"""Avro schema of the records of the metadata table, without descriptions (HoodieMetadataRecord; Hudi 0.15, 1.0, 1.2).

Readers need the annotations `avro.java.string` and `logicalType`: without them hudi-rs refuses the table, and the
compaction of Hudi 1.2 fails on decimal columns. The order of fields and of the branches of unions determines the bytes
of a record.

A table of version 8 can have the schema of version 8 or of version 9, because Hudi 1.2 writes the schema of version 9
into tables of version 8, too. But hudi-rs refuses to read a table that has files of both schemas. Therefore, new files
of an existing metadata table repeat the schema of its older files, character for character.
"""

import json
from collections.abc import Mapping
from typing import Any

from hudi_table_services.model.metadata_table import StatKind
from hudi_table_services.model.table_version import TableVersion

NAMESPACE = "org.apache.hudi.avro.model"
RECORD = "HoodieMetadataRecord"
META_FIELDS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)

_Type = Any
_Fields = list[dict[str, _Type]]

_TEXT = {"type": "string", "avro.java.string": "String"}
_DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}
_TIME = {"type": "long", "logicalType": "time-micros"}
_STORED_AS: Mapping[StatKind, _Type] = {
    StatKind.BOOLEAN: "boolean",
    StatKind.INT: "int",
    StatKind.LONG: "long",
    StatKind.FLOAT: "float",
    StatKind.DOUBLE: "double",
    StatKind.BYTES: "bytes",
    StatKind.STRING: _TEXT,
    StatKind.DATE: "int",
    StatKind.DECIMAL: _DECIMAL,
    StatKind.TIME_MICROS: _TIME,
    StatKind.TIMESTAMP_MICROS: "long",
    StatKind.LOCAL_DATE: "int",
}


def record_schema(version: TableVersion, *, with_meta_fields: bool = True) -> str:
    """Return the schema of a table version, as JSON. The first files of a metadata table get this schema.

    Args:
        with_meta_fields: True for log files and base files, False for the extra metadata of commits.
    """
    meta = [_optional(name, "string") for name in META_FIELDS] if with_meta_fields else []
    fields = [
        *meta,
        _required("key", _TEXT),
        _required("type", "int"),
        _required("filesystemMetadata", ["null", _files()]),
        _optional("BloomFilterMetadata", _bloom_filter()),
        _optional("ColumnStatsMetadata", _column_stats(version)),
        _optional("recordIndexMetadata", _record_index(version)),
    ]
    if version >= TableVersion.V8:
        info = _record("HoodieSecondaryIndexInfo", [_required("isDeleted", "boolean")])
        fields.append(_optional("SecondaryIndexMetadata", info))
    schema = {"type": "record", "name": RECORD, "namespace": NAMESPACE, "fields": fields}
    return json.dumps(schema, separators=(",", ":"))


def wrappers(version: TableVersion) -> list[_Type]:
    """Return the branches of the union type that stores a smallest or greatest value.

    Each branch defines its record type.
    """
    kinds = _kinds(version)
    records = [_array_wrapper(kinds) if kind is StatKind.ARRAY else _plain_wrapper(kind) for kind in kinds]
    return ["null", *records]


def _kinds(version: TableVersion) -> list[StatKind]:
    """Return the record types in the union of a table version, in the order of the branches."""
    first_versions = {StatKind.LOCAL_DATE: TableVersion.V8, StatKind.ARRAY: TableVersion.V9}
    return [kind for kind in StatKind if version >= first_versions.get(kind, version)]


def _plain_wrapper(kind: StatKind) -> _Type:
    return _record(kind.value, [_required("value", _STORED_AS[kind])])


def _array_wrapper(kinds: list[StatKind]) -> _Type:
    names = [kind.value for kind in kinds if kind is not StatKind.ARRAY]
    items = {"type": "array", "items": ["null", *names]}
    return _record(StatKind.ARRAY.value, [_optional("wrappedValues", items)])


def _files() -> _Type:
    info = _record("HoodieMetadataFileInfo", [_required("size", "long"), _required("isDeleted", "boolean")])
    return {"type": "map", "values": info, "avro.java.string": "String"}


def _bloom_filter() -> _Type:
    fields = [
        _required("type", _TEXT),
        _required("timestamp", _TEXT),
        _required("bloomFilter", "bytes"),
        _required("isDeleted", "boolean"),
    ]
    return _record("HoodieMetadataBloomFilter", fields)


def _column_stats(version: TableVersion) -> _Type:
    counts = ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")
    fields = [
        _optional("fileName", _TEXT),
        _optional("columnName", _TEXT),
        {"name": "minValue", "type": wrappers(version), "default": None},
        {"name": "maxValue", "type": ["null", *(kind.value for kind in _kinds(version))], "default": None},
        *(_optional(name, "long") for name in counts),
        _required("isDeleted", "boolean"),
    ]
    if version >= TableVersion.V8:
        fields.append({"name": "isTightBound", "type": "boolean", "default": False})
    if version >= TableVersion.V9:
        info = [_required("typeOrdinal", "int"), _optional("additionalInfo", _TEXT)]
        fields.append(_optional("valueType", _record("HoodieValueTypeInfo", info)))
    return _record("HoodieMetadataColumnStats", fields)


def _record_index(version: TableVersion) -> _Type:
    fields = [
        _optional("partitionName", _TEXT),
        _optional("fileIdHighBits", "long"),
        _optional("fileIdLowBits", "long"),
        _optional("fileIndex", "int"),
        _optional("fileId", _TEXT),
        _optional("instantTime", "long"),
        {"name": "fileIdEncoding", "type": "int", "default": 0},
    ]
    if version >= TableVersion.V8:
        fields.append(_optional("position", "long"))
    return _record("HoodieRecordIndexInfo", fields)


def _record(name: str, fields: _Fields) -> _Type:
    return {"type": "record", "name": name, "fields": fields}


def _required(name: str, avro_type: _Type) -> dict[str, _Type]:
    return {"name": name, "type": avro_type}


def _optional(name: str, avro_type: _Type) -> dict[str, _Type]:
    return {"name": name, "type": ["null", avro_type], "default": None}
