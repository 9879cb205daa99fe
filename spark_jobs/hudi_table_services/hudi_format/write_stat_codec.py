"""Conversion of `WriteStat` to and from its JSON and Avro forms (HoodieWriteStat, Hudi 0.15 and 1.2).

Both forms have fields for which `WriteStat` has no attribute. `WriteStat.extra` keeps such a field only if its value
differs from the usual value for base files. Therefore decoding an encoded stat gives an equal stat.
"""

from collections.abc import Mapping
from typing import Any

from hudi_table_services.hudi_format.timeline_schemas import WRITE_STAT
from hudi_table_services.hudi_format.untyped import Untyped
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, WriteStat

_JSON_FIELDS = (
    "fileId",
    "path",
    "cdcStats",
    "prevCommit",
    "numWrites",
    "numDeletes",
    "numUpdateWrites",
    "numInserts",
    "totalWriteBytes",
    "totalWriteErrors",
    "tempPath",
    "partitionPath",
    "totalLogRecords",
    "totalLogFilesCompacted",
    "totalLogSizeCompacted",
    "totalUpdatedRecordsCompacted",
    "totalLogBlocks",
    "totalCorruptLogBlock",
    "totalRollbackBlocks",
    "fileSizeInBytes",
    "minEventTime",
    "maxEventTime",
    "runtimeStats",
    "prevBaseFile",
)
_AVRO_FIELDS = tuple(str(field["name"]) for field in WRITE_STAT["fields"])

# Fields for which `WriteStat` has no attribute, and whose usual value in stats of base files is 0. The usual value of
# totalWriteBytes is the file size. The usual value of all other fields without an attribute is null.
_ZEROS = frozenset(
    {
        "totalLogRecords",
        "totalLogFilesCompacted",
        "totalLogReadTimeMs",
        "totalLogSizeCompacted",
        "totalUpdatedRecordsCompacted",
        "totalLogBlocks",
        "totalCorruptLogBlock",
        "totalRollbackBlocks",
        "numUpdates",
    }
)
_ATTRIBUTES = frozenset(
    {
        "fileId",
        "path",
        "prevCommit",
        "numWrites",
        "numDeletes",
        "numUpdateWrites",
        "numInserts",
        "totalWriteErrors",
        "partitionPath",
        "fileSizeInBytes",
        "minEventTime",
        "maxEventTime",
        "runtimeStats",
        "prevBaseFile",
    }
)


def json_record(stat: WriteStat) -> dict[str, object]:
    """Return the stat with the fields of table version 6 in their order, followed by extra fields of other releases."""
    fields = [*_JSON_FIELDS, *(name for name in stat.extra if name not in _JSON_FIELDS)]
    if stat.prev_base_file is None:
        fields.remove("prevBaseFile")
    return _record(stat, fields)


def avro_record(stat: WriteStat) -> dict[str, object]:
    """Return the stat with exactly the fields of the Avro schema."""
    return _record(stat, _AVRO_FIELDS)


def write_stat(record: Untyped, partition_path: str) -> WriteStat:
    """Build the stat from a decoded record.

    Args:
        record: fields by Hudi's names.
        partition_path: key of the stat in the commit metadata, used if the stat does not name its partition.

    Raises:
        MalformedMetadataError: a field has a value of an impossible type.
    """
    times = record.record("runtimeStats")
    size = record.integer("fileSizeInBytes")
    return WriteStat(
        file_id=record.text("fileId"),
        partition_path=partition_path if not record.has("partitionPath") else record.text("partitionPath"),
        path=record.text("path"),
        prev_commit=record.optional_text("prevCommit") or NEW_FILE_GROUP,
        num_writes=record.integer("numWrites"),
        num_inserts=record.integer("numInserts"),
        num_update_writes=record.integer("numUpdateWrites"),
        num_deletes=record.integer("numDeletes"),
        file_size_bytes=size,
        prev_base_file=record.optional_text("prevBaseFile"),
        total_write_errors=record.integer("totalWriteErrors"),
        min_event_time=record.optional_integer("minEventTime"),
        max_event_time=record.optional_integer("maxEventTime"),
        total_create_time_ms=times.integer("totalCreateTime"),
        total_upsert_time_ms=times.integer("totalUpsertTime"),
        total_scan_time_ms=times.integer("totalScanTime"),
        extra={name: value for name, value in record.values.items() if _is_extra(name, value, size)},
    )


def _is_extra(name: str, value: object, file_size_bytes: int) -> bool:
    return name not in _ATTRIBUTES and value is not None and value != _usual(name, file_size_bytes)


def _usual(name: str, file_size_bytes: int) -> object:
    if name == "totalWriteBytes":
        return file_size_bytes
    return 0 if name in _ZEROS else None


def _record(stat: WriteStat, fields: tuple[str, ...] | list[str]) -> dict[str, object]:
    known = _known(stat)
    usual = {name: _usual(name, stat.file_size_bytes) for name in fields}
    return {name: known.get(name, stat.extra.get(name, usual[name])) for name in fields}


def _known(stat: WriteStat) -> Mapping[str, Any]:
    times = {
        "totalScanTime": stat.total_scan_time_ms,
        "totalUpsertTime": stat.total_upsert_time_ms,
        "totalCreateTime": stat.total_create_time_ms,
    }
    return {
        "fileId": stat.file_id,
        # Stats of a workload profile have no file. Only their key in the metadata names their partition.
        "path": stat.path or None,
        "prevCommit": stat.prev_commit,
        "numWrites": stat.num_writes,
        "numDeletes": stat.num_deletes,
        "numUpdateWrites": stat.num_update_writes,
        "numInserts": stat.num_inserts,
        "totalWriteErrors": stat.total_write_errors,
        "partitionPath": stat.partition_path if stat.path else None,
        "fileSizeInBytes": stat.file_size_bytes,
        "minEventTime": stat.min_event_time,
        "maxEventTime": stat.max_event_time,
        "runtimeStats": times if any(times.values()) else None,
        "prevBaseFile": stat.prev_base_file,
    }
