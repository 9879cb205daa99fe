"""Avro object container files with one record: how Hudi stores plans and, from table version 8 on, commits.

Real files use the codec ``null`` and keep only the schema in their header. Readers of every implementation
resolve by field name, so a file may lack fields of later releases.
"""

import hashlib
import io
from collections.abc import Mapping
from typing import Any

import fastavro

from hudi_table_services.errors import MalformedMetadataError

MAGIC = b"Obj\x01"
_LONG = fastavro.parse_schema("long")

AvroSchema = Mapping[str, Any]
AvroRecord = Mapping[str, Any]


def encode_container(schema: AvroSchema, record: AvroRecord, notes: Mapping[str, str] | None = None) -> bytes:
    """One record as a container file. The same record gives the same bytes: the sync marker is derived.

    Args:
        notes: pairs for the header, beside the schema; every Avro reader passes over keys it does not know.
    """
    parsed = fastavro.parse_schema(dict(schema))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, parsed, dict(record))
    encoded = body.getvalue()
    marker = hashlib.sha256(encoded).digest()[:16]
    container = io.BytesIO()
    fastavro.writer(container, parsed, [], codec="null", sync_marker=marker, metadata=dict(notes or {}))
    # The one block is put together here, since the library would encode the record once more.
    for number in (1, len(encoded)):
        fastavro.schemaless_writer(container, _LONG, number)
    container.write(encoded + marker)
    return container.getvalue()


def decode_container(schema: AvroSchema, data: bytes) -> dict[str, Any]:
    """First record of a container file, resolved to the given schema: missing fields take their defaults.

    Raises:
        MalformedMetadataError: not a container file, damaged, without a record, or of another kind of record.
    """
    if not data.startswith(MAGIC):
        raise MalformedMetadataError(
            f"{schema['name']}: {len(data)} bytes that are not an Avro container file."
        )
    try:
        record = next(fastavro.reader(io.BytesIO(data), _reader_schema(schema, data)), None)
    except Exception as error:  # fastavro reports damage with whatever error the damaged bytes lead to
        raise MalformedMetadataError(
            f"{schema['name']}: Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error
    if not isinstance(record, dict):
        raise MalformedMetadataError(f"{schema['name']}: Avro container file without a record.")
    return record


def container_record_name(data: bytes) -> str:
    """Name, without namespace, of the kind of record in a container file.

    Raises:
        MalformedMetadataError: not a container file of records, or damaged.
    """
    try:
        return str(_written_schema(data)["name"]).rpartition(".")[2]
    except Exception as error:  # as above
        raise MalformedMetadataError(
            f"Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error


def container_notes(data: bytes) -> dict[str, str]:
    """Pairs in the header of a container file, without Avro's own.

    Raises:
        MalformedMetadataError: not a container file, or damaged.
    """
    try:
        header = fastavro.reader(io.BytesIO(data)).metadata
    except Exception as error:  # as above
        raise MalformedMetadataError(
            f"Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error
    return {key: str(value) for key, value in header.items() if not key.startswith("avro.")}


def _reader_schema(schema: AvroSchema, data: bytes) -> Any:
    written_name = _full_name(_written_schema(data))
    if written_name.startswith(f"{schema['namespace']}.") and written_name != _full_name(schema):
        raise ValueError(f"it holds {written_name}")
    # Hudi reads foreign files whatever their top record is called; resolution would insist on one name.
    namespace, _, name = written_name.rpartition(".")
    return fastavro.parse_schema({**schema, "name": name, "namespace": namespace})


def _full_name(schema: AvroSchema) -> str:
    name, namespace = str(schema["name"]), schema.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name


def _written_schema(data: bytes) -> AvroSchema:
    written = fastavro.reader(io.BytesIO(data)).writer_schema
    if not isinstance(written, dict) or written.get("type") != "record":
        raise ValueError("it holds no records")
    return written
