"""Avro object container files with one record: how Hudi stores plans and, from table version 8 on, commits.

Real files use the codec ``null`` and keep only the schema in their header; ``deflate`` is read too. Readers of every
implementation resolve by field name, so a file may lack fields of later releases.
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
_MOST_INFLATED_BYTES = 64 << 20
_REMEMBERED = 64

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
        MalformedMetadataError: not a container file, damaged, without a record, or of another kind of record; with
            a codec that Hudi does not write, more than 64 MiB in a compressed block, or a schema without bounds.
    """
    if not data.startswith(MAGIC):
        raise MalformedMetadataError(
            f"{schema['name']}: {len(data)} bytes that are not an Avro container file."
        )
    try:
        return _first_record(schema, data)
    except Exception as error:  # fastavro reports damage with whatever error the damaged bytes lead to
        raise MalformedMetadataError(
            f"{schema['name']}: Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error


def container_record_name(data: bytes) -> str:
    """Name, without namespace, of the kind of record in a container file.

    Raises:
        MalformedMetadataError: not a container file of records, or damaged.
    """
    try:
        return _full_name(_Container(data).schema).rpartition(".")[2]
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
        notes = _Container(data).notes
    except Exception as error:  # as above
        raise MalformedMetadataError(
            f"Avro container file of {len(data)} bytes cannot be read: {error!r}"
        ) from error
    return {key: value for key, value in notes.items() if not key.startswith("avro.")}


class _Container:
    """Header and first block of a container file. Every method may raise anything at all."""

    def __init__(self, data: bytes) -> None:
        self._source = io.BytesIO(data)
        header = _read(self._source, _HEADER)
        self._codec = header["meta"].get("avro.codec", b"null")
        self._marker = header["sync"]
        self.notes = {key: bytes(value).decode(errors="replace") for key, value in header["meta"].items()}
        self.schema = _written_schema(header["meta"]["avro.schema"])

    def first_block(self) -> bytes:
        """The records of the first block; empty: there is none."""
        if not self._source.read(1):
            return b""
        self._source.seek(-1, io.SEEK_CUR)
        count, size = _read(self._source, _LONG), _read(self._source, _LONG)
        block = self._source.read(size) if size >= 0 else b""
        if count < 1 or len(block) != size or self._source.read(len(self._marker)) != self._marker:
            raise ValueError("its first block is damaged")
        return self._inflated(block)

    def _inflated(self, block: bytes) -> bytes:
        if self._codec == b"null":
            return block
        if self._codec != b"deflate":
            raise ValueError(f"its codec {self._codec!r} is not one that Hudi writes")
        inflated = zlib.decompressobj(-zlib.MAX_WBITS).decompress(block, _MOST_INFLATED_BYTES + 1)
        if len(inflated) > _MOST_INFLATED_BYTES:
            raise ValueError(f"a block has more than {_MOST_INFLATED_BYTES} bytes once decompressed")
        return inflated


def _first_record(schema: AvroSchema, data: bytes) -> dict[str, Any]:
    container = _Container(data)
    reader_schema = _reader_schema(schema, container.schema)
    block = container.first_block()
    if not block:
        raise ValueError("it has no record")
    record = fastavro.schemaless_reader(io.BytesIO(block), container.schema, reader_schema)
    if not isinstance(record, dict):
        raise ValueError("it has no record")
    return record


def _reader_schema(schema: AvroSchema, written: AvroSchema) -> Any:
    written_name = _full_name(written)
    if written_name.startswith(f"{schema['namespace']}.") and written_name != _full_name(schema):
        raise ValueError(f"it holds {written_name}")
    # Hudi reads foreign files whatever their top record is called; resolution would insist on one name.
    namespace, _, name = written_name.rpartition(".")
    return fastavro.parse_schema({**schema, "name": name, "namespace": namespace})


def _full_name(schema: AvroSchema) -> str:
    name, namespace = str(schema["name"]), schema.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name


@lru_cache(maxsize=_REMEMBERED)
def _written_schema(text: bytes) -> Any:
    """Files of one writer share their schema."""
    schema = bounded_schema(json.loads(text))
    if not isinstance(schema, dict) or schema["type"] != "record":
        raise ValueError("it holds no records")
    return fastavro.parse_schema(schema)


def _read(source: io.BytesIO, schema: Any) -> Any:
    return fastavro.schemaless_reader(source, schema, None)
