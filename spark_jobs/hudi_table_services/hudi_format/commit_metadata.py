"""Commit metadata: JSON in table version 6, Avro from version 8 on (HoodieCommitMetadata, Hudi 0.15 and 1.2).

A replace commit is a commit that also names the file groups that it replaced.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hudi_table_services.hudi_format import write_stat_codec
from hudi_table_services.hudi_format.avro_container import (
    MAGIC,
    AvroSchema,
    container_record_name,
    decode_container,
    encode_container,
)
from hudi_table_services.hudi_format.json_text import decode_json_object, encode_json
from hudi_table_services.hudi_format.timeline_schemas import COMMIT_METADATA, REPLACE_COMMIT_METADATA
from hudi_table_services.hudi_format.untyped import Untyped
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation

_WHAT = "commit metadata"
_OPERATION = "operationType"
_REPLACED = "partitionToReplaceFileIds"
_CACHED_COMMITS = 4


def encode_commit_metadata(metadata: CommitMetadata, version: TableVersion) -> bytes:
    """Encode the content of a completed commit, delta commit or replace commit, or of an inflight workload profile.

    Args:
        metadata: belongs to a replace commit if `partition_to_replace_file_ids` is not None.
        version: version of the table, which decides between JSON and Avro.
    """
    if not version.stores_commit_metadata_as_avro:
        return encode_json(_json_record(metadata))
    replaces = metadata.partition_to_replace_file_ids is not None
    return encode_container(REPLACE_COMMIT_METADATA if replaces else COMMIT_METADATA, commit_record(metadata))


@lru_cache(maxsize=_CACHED_COMMITS)
def decode_commit_metadata(data: bytes) -> CommitMetadata:
    """Decode JSON or Avro, detected from the data. Unknown top-level fields are skipped.

    The last few results are cached, because jobs read the newest commit many times.

    An unknown operation is read as `WriteOperation.UNKNOWN`.

    Raises:
        MalformedMetadataError: the data is empty or is neither JSON nor Avro, or a field has an impossible value.
    """
    if not data.startswith(MAGIC):
        return commit_of_record(decode_json_object(data, _WHAT))
    return commit_of_record(decode_container(_schema_of(data), data))


def decode_operation(data: bytes) -> WriteOperation:
    """Decode only the write operation of a commit, which takes much less time than `decode_commit_metadata`.

    Raises:
        MalformedMetadataError: the data is empty, or is neither JSON nor Avro.
    """
    if not data.startswith(MAGIC):
        return commit_of_record(decode_json_object(data, _WHAT)).operation_type
    schema = _schema_of(data)
    # Avro skips the fields of the file that the schema of the reader lacks.
    fields = [field for field in schema["fields"] if field["name"] == _OPERATION]
    record = decode_container({**schema, "fields": fields}, data)
    return _operation(Untyped(record, _WHAT).optional_text(_OPERATION))


def _schema_of(data: bytes) -> AvroSchema:
    is_plain = container_record_name(data) == COMMIT_METADATA["name"]
    return COMMIT_METADATA if is_plain else REPLACE_COMMIT_METADATA


def _json_record(metadata: CommitMetadata) -> dict[str, object]:
    record: dict[str, object] = {
        "partitionToWriteStats": {
            path: [write_stat_codec.json_record(stat) for stat in stats]
            for path, stats in metadata.partition_to_write_stats.items()
        },
        "compacted": metadata.compacted,
        "extraMetadata": dict(metadata.extra_metadata),
        "operationType": metadata.operation_type.value,
    }
    return record | _replaced(metadata)


def commit_record(metadata: CommitMetadata) -> dict[str, object]:
    """Return the Avro record. The record is a replace commit if the metadata names replaced file groups."""
    record: dict[str, object] = {
        "partitionToWriteStats": {
            path: [write_stat_codec.avro_record(stat) for stat in stats]
            for path, stats in metadata.partition_to_write_stats.items()
        },
        "compacted": metadata.compacted,
        "extraMetadata": dict(metadata.extra_metadata),
        # The field is null in every real file, although the schema's default is 1.
        "version": None,
        "operationType": metadata.operation_type.value,
    }
    return record | _replaced(metadata)


def _replaced(metadata: CommitMetadata) -> dict[str, object]:
    replaced = metadata.partition_to_replace_file_ids
    return {} if replaced is None else {_REPLACED: {path: list(ids) for path, ids in replaced.items()}}


def commit_of_record(values: Mapping[str, Any]) -> CommitMetadata:
    """Build the metadata from a decoded record. Raises MalformedMetadataError if a value has an impossible type."""
    record = Untyped(values, _WHAT)
    return CommitMetadata(
        operation_type=_operation(record.optional_text(_OPERATION)),
        partition_to_write_stats={
            path: tuple(write_stat_codec.write_stat(stat, path) for stat in stats)
            for path, stats in record.record_lists("partitionToWriteStats").items()
        },
        extra_metadata=record.text_map("extraMetadata"),
        compacted=record.flag("compacted"),
        partition_to_replace_file_ids=_replaced_file_ids(record),
    )


def _operation(text: str | None) -> WriteOperation:
    try:
        return WriteOperation(text or WriteOperation.UNKNOWN)
    except ValueError:
        return WriteOperation.UNKNOWN


def _replaced_file_ids(record: Untyped) -> Mapping[str, tuple[str, ...]] | None:
    if not record.has(_REPLACED):
        return None
    return record.text_lists(_REPLACED)
