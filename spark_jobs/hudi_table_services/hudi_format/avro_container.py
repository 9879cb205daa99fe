"""Avro object container files with one record. Hudi stores plans in them and, from table version 8 on, commits.

Real files use the codec ``null`` and have only the schema in their header. This module also reads ``deflate``. Readers
of every implementation match fields by name, so a file may lack fields of later releases.
"""

import hashlib
import io
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import fastavro

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.avro_limits import bounded_schema

MAGIC = b"Obj\x01"
_LONG = fastavro.parse_schema("long")
_HEADER = fastavro.parse_schema(
    {
        "type": "record",
        "name": "header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
        ],
    }
)
_MAX_INFLATED_BYTES = 64 << 20
_CACHED_SCHEMAS = 64

AvroSchema = Mapping[str, Any]
AvroRecord = Mapping[str, Any]


def encode_container(schema: AvroSchema, record: AvroRecord, notes: Mapping[str, str] | None = None) -> bytes:
    """Encode one record as a container file.

    Equal records result in equal bytes, because the sync marker is derived from the record.

    Args:
        notes: key-value pairs for the header, in addition to the schema. Every Avro reader skips unknown keys.
    """
    parsed = fastavro.parse_schema(dict(schema))
    body = io.BytesIO()
    fastavro.schemaless_writer(body, parsed, dict(record))
    encoded = body.getvalue()
    marker = hashlib.sha256(encoded).digest()[:16]
    container = io.BytesIO()
    fastavro.writer(container, parsed, [], codec="null", sync_marker=marker, metadata=dict(notes or {}))
    # Assemble the single block here, because the library would encode the record a second time.
    for number in (1, len(encoded)):
        fastavro.schemaless_writer(container, _LONG, number)
    container.write(encoded + marker)
    return container.getvalue()


def decode_container(schema: AvroSchema, data: bytes) -> dict[str, Any]:
    """Return the first record of a container file. Fields that the file lacks get the default values of `schema`.

    Raises:
        MalformedMetadataError: the data is not a container file, is damaged, or has no record; the record has a
            different type from the schema; the file has a codec that Hudi does not write; a block has more than 64 MiB
            after decompression; or the cost of reading with the file's schema is not bounded.
    """
    if not data.startswith(MAGIC):
        raise MalformedMetadataError(
            f"{schema['name']}: the {len(data)} bytes are not an Avro container file."
        )
    try:
        return _first_record(schema, data)
    except Exception as error:  # fastavro raises many kinds of error for damaged bytes
        raise MalformedMetadataError(
            f"{schema['name']}: the Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error


def container_record_name(data: bytes) -> str:
    """Return the name of the record type in a container file, without the namespace.

    Raises:
        MalformedMetadataError: the data is not a container file of records, or is damaged.
    """
    try:
        return _full_name(_Container(data).schema).rpartition(".")[2]
    except Exception as error:  # fastavro raises many kinds of error for damaged bytes
        raise MalformedMetadataError(
            f"The Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error


def container_notes(data: bytes) -> dict[str, str]:
    """Return the key-value pairs in the header of a container file, except the pairs that Avro defines.

    Raises:
        MalformedMetadataError: the data is not a container file, or is damaged.
    """
    try:
        notes = _Container(data).notes
    except Exception as error:  # fastavro raises many kinds of error for damaged bytes
        raise MalformedMetadataError(
            f"The Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error
    return {key: value for key, value in notes.items() if not key.startswith("avro.")}


class _Container:
    """Header and first block of a container file. On damaged data every method may raise any exception."""

    def __init__(self, data: bytes) -> None:
        self._source = io.BytesIO(data)
        header = _read(self._source, _HEADER)
        self._codec = header["meta"].get("avro.codec", b"null")
        self._marker = header["sync"]
        self.notes = {key: bytes(value).decode(errors="replace") for key, value in header["meta"].items()}
        self.schema = _written_schema(header["meta"]["avro.schema"])

    def first_block(self) -> bytes:
        """Return the encoded records of the first block; empty if the file has no block."""
        if not self._source.read(1):
            return b""
        self._source.seek(-1, io.SEEK_CUR)
        count, size = _read(self._source, _LONG), _read(self._source, _LONG)
        block = self._source.read(size) if size >= 0 else b""
        if count < 1 or len(block) != size or self._source.read(len(self._marker)) != self._marker:
            raise ValueError("the first block is damaged")
        return self._inflated(block)

    def _inflated(self, block: bytes) -> bytes:
        if self._codec == b"null":
            return block
        if self._codec != b"deflate":
            raise ValueError(f"Hudi does not write the codec {self._codec!r}")
        inflated = zlib.decompressobj(-zlib.MAX_WBITS).decompress(block, _MAX_INFLATED_BYTES + 1)
        if len(inflated) > _MAX_INFLATED_BYTES:
            raise ValueError(f"a block has more than {_MAX_INFLATED_BYTES} bytes after decompression")
        return inflated


def _first_record(schema: AvroSchema, data: bytes) -> dict[str, Any]:
    container = _Container(data)
    reader_schema = _reader_schema(schema, container.schema)
    block = container.first_block()
    if not block:
        raise ValueError("the file has no record")
    record = fastavro.schemaless_reader(io.BytesIO(block), container.schema, reader_schema)
    if not isinstance(record, dict):
        raise ValueError("the file has no record")
    return record


def _reader_schema(schema: AvroSchema, written: AvroSchema) -> Any:
    written_name = _full_name(written)
    if written_name.startswith(f"{schema['namespace']}.") and written_name != _full_name(schema):
        raise ValueError(f"the file contains a {written_name}")
    # Avro resolution requires equal names. Hudi accepts any name for the top record of a foreign file, so the reader's
    # schema gets the name from the file.
    namespace, _, name = written_name.rpartition(".")
    return fastavro.parse_schema({**schema, "name": name, "namespace": namespace})


def _full_name(schema: AvroSchema) -> str:
    name, namespace = str(schema["name"]), schema.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name


@lru_cache(maxsize=_CACHED_SCHEMAS)
def _written_schema(text: bytes) -> Any:
    """Parse the schema in a file's header. The result is cached, because all files of a writer have one schema."""
    schema = bounded_schema(json.loads(text))
    if not isinstance(schema, dict) or schema["type"] != "record":
        raise ValueError("the file's schema is not a record")
    return fastavro.parse_schema(schema)


def _read(source: io.BytesIO, schema: Any) -> Any:
    return fastavro.schemaless_reader(source, schema, None)
