"""Decoders refuse hostile files that would need unbounded time or memory. The refusal takes little time and memory."""

import base64
import io
import json
import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import fastavro
import pytest

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.avro_container import decode_container
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.bloom_filter import decode_bloom_filter
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.hudi_format.lock_file import decode_lock_file
from hudi_table_services.hudi_format.partition_metadata import decode_partition_metadata
from hudi_table_services.hudi_format.table_properties import decode_properties
from hudi_table_services.hudi_format.table_service_plans import decode_clean_plan, decode_requested_replace

GOLDEN = Path(__file__).parents[2] / "golden"
MIB = 1 << 20
SYNC = b"m" * 16
ENDLESS = 1 << 55


def varint(number: int) -> bytes:
    encoded, left = bytearray(), (number << 1) ^ (number >> 63)
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*encoded, left])


def sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def container(schema: object, block: bytes, *, codec: bytes = b"null") -> bytes:
    """A container file of one block with any schema."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    meta = sized(b"avro.schema") + sized(text) + sized(b"avro.codec") + sized(codec)
    return b"Obj\x01" + varint(2) + meta + varint(0) + SYNC + varint(1) + sized(block) + SYNC


def record(*types: object, name: str = "r") -> dict[str, object]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)],
    }


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


@cache
def deflate_bomb() -> bytes:
    """A file with one block of 256 MiB of zeros. A decoder may need twice its limit while its buffer grows."""
    return container(record("string"), raw_deflate(bytes(256 * MIB)), codec=b"deflate")


def doubling(levels: int) -> object:
    """Nested records, each with the previous record twice: a short schema with 2**`levels` empty values."""
    inner: object = record("null", name="r0")
    for level in range(1, levels):
        inner = record(inner, f"r{level - 1}", name=f"r{level}")
    return inner


def nested_schema(levels: int) -> bytes:
    return b'{"type":"array","items":' * levels + b'"int"' + b"}" * levels


EXTRA = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "extraMetadata", "type": {"type": "map", "values": "string"}}],
}
"""Every kind of record in these tests has a field `extraMetadata`, so no decoder skips this field."""

AVRO_FILES: dict[str, Callable[[], bytes]] = {
    "items without bytes": lambda: container(
        record({"type": "array", "items": "null"}), varint(ENDLESS) + varint(0)
    ),
    "empty records in an array": lambda: container(
        record({"type": "array", "items": record(name="empty")}), varint(ENDLESS) + varint(0)
    ),
    "empty fixed in an array": lambda: container(
        record({"type": "array", "items": {"type": "fixed", "name": "none", "size": 0}}),
        varint(ENDLESS) + varint(0),
    ),
    "a record inside itself": lambda: container(record(["null", "r"]), varint(1) * 1_000_000 + varint(0)),
    "an array of itself": lambda: container(
        record({"type": "array", "items": "r"}), varint(1) * 1_000_000 + varint(0)
    ),
    "records that double": lambda: container(doubling(40), b""),
    "records that double, with bytes": lambda: container(record("int", doubling(40), name="top"), varint(1)),
    "levels of schema": lambda: container(
        b'{"type":"record","name":"r","fields":[{"name":"f","type":' + nested_schema(500) + b"}]}", b"\x00"
    ),
    "too many levels of schema": lambda: container(nested_schema(100_000), b""),
    "a text longer than all memory": lambda: container(
        EXTRA, varint(1) + sized(b"k") + varint(ENDLESS) + b"text"
    ),
    "many texts in an array": lambda: container(
        record({"type": "array", "items": "string"}), varint(ENDLESS) + sized(b"x")
    ),
    "many pairs in a map": lambda: container(
        record({"type": "map", "values": "null"}), varint(ENDLESS) + sized(b"x")
    ),
    "a header longer than all memory": lambda: (
        b"Obj\x01" + varint(1) + sized(b"avro.schema") + varint(ENDLESS)
    ),
    "a header of many pairs": lambda: b"Obj\x01" + varint(ENDLESS) + sized(b"k") + sized(b"v"),
    "a block longer than all memory": lambda: (
        container(record("int"), b"")[: -len(SYNC) - 1] + varint(ENDLESS)
    ),
    "a block of negative length": lambda: (
        container(record("int"), b"")[: -len(SYNC) - 1] + varint(-5) + b"12345"
    ),
    "a compressed block that is huge": deflate_bomb,
}
OTHER_FILES: dict[str, tuple[Callable[[bytes], object], Callable[[], bytes]]] = {
    "levels of JSON": (decode_commit_metadata, lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "a long number in JSON": (decode_commit_metadata, lambda: b'{"version":' + b"9" * 5_000_000 + b"}"),
    "a lock of many digits": (
        decode_lock_file,
        lambda: b'{"expired":false,"owner":"x","validUntil":' + b"9" * 5_000_000 + b"}",
    ),
    "levels of the table's schema": (
        lambda data: from_avro_json(data.decode()),
        lambda: nested_schema(100_000),
    ),
    "a depth of many digits": (
        decode_partition_metadata,
        lambda: b"partitionDepth=" + b"9" * 5_000_000,
    ),
    "a bloom filter of 256 MiB in 20 bytes": (
        lambda data: decode_bloom_filter(base64.b64encode(data).decode(), "SIMPLE"),
        lambda: struct.pack(">iiBi", -1, 3, 1, 2**31 - 1) + b"1234567",
    ),
    "a bloom filter of endless rows": (
        lambda data: decode_bloom_filter(base64.b64encode(data).decode(), "DYNAMIC_V0"),
        lambda: (
            struct.pack(">iiBi", -1, 3, 1, 8)
            + struct.pack(">iii", 1, 1, 2**31 - 1)
            + (struct.pack(">iiBi", -1, 3, 1, 8) + b"\x00") * 100
        ),
    ),
}


def refuse(decode: Callable[[bytes], object], data: bytes, most_mib: int) -> None:
    tracemalloc.start()
    begun = time.monotonic()
    try:
        with pytest.raises(CorruptTableError):
            decode(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most_mib * MIB + 2 * len(data)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("make", AVRO_FILES.values(), ids=AVRO_FILES)
@pytest.mark.parametrize("decode", [decode_commit_metadata, decode_clean_plan, decode_requested_replace])
def test_avro_files_of_unbounded_cost_are_refused(
    decode: Callable[[bytes], object], make: Callable[[], bytes]
) -> None:
    refuse(decode, make(), most_mib=140)


@pytest.mark.parametrize(("decode", "make"), OTHER_FILES.values(), ids=OTHER_FILES)
def test_other_files_of_unbounded_cost_are_refused(
    decode: Callable[[bytes], object], make: Callable[[], bytes]
) -> None:
    refuse(decode, make(), most_mib=40)


def test_a_property_of_very_many_lines_is_read_in_linear_time() -> None:
    begun = time.monotonic()
    pairs = decode_properties(b"hoodie.table.name=" + b"abcdefghij\\\n" * 300_000)
    assert len(pairs["hoodie.table.name"]) == 3_000_000
    assert time.monotonic() - begun < 5


def test_a_compressed_file_of_usual_size_is_decoded() -> None:
    files = [p for p in (GOLDEN / "hudi-1.2.0" / "v9").rglob("*.commit") if p.stat().st_size]
    assert files
    for path in files:
        plain = path.read_bytes()
        reader = fastavro.reader(io.BytesIO(plain))
        packed = io.BytesIO()
        fastavro.writer(packed, reader.writer_schema, list(reader), codec="deflate")
        assert decode_commit_metadata(packed.getvalue()) == decode_commit_metadata(plain)


@pytest.mark.parametrize("codec", [b"snappy", b"bzip2", b"xz", b"zstandard", b"\xff"])
def test_codecs_that_hudi_does_not_write_are_refused(codec: bytes) -> None:
    with pytest.raises(CorruptTableError, match="Hudi does not write the codec"):
        decode_commit_metadata(container(record("int"), b"\x02", codec=codec))


def test_the_limit_of_a_compressed_block_is_64_mib() -> None:
    schema, wanted = record("bytes"), {"type": "record", "name": "r", "namespace": "x", "fields": []}
    for size, is_read in ((64 * MIB - 5, True), (64 * MIB, False)):
        data = container(schema, raw_deflate(varint(size) + bytes(size)), codec=b"deflate")
        if is_read:
            assert decode_container(wanted, data) == {}
        else:
            with pytest.raises(CorruptTableError, match="after decompression"):
                decode_container(wanted, data)


@pytest.mark.parametrize("logical", ["uuid", "decimal", "date", "timestamp-millis"])
def test_a_logical_type_does_not_convert_a_text(logical: str) -> None:
    schema = record({"type": "string", "logicalType": logical, "precision": 4})
    schema["fields"][0]["name"] = "operationType"  # type: ignore[index]
    data = container(schema, sized(b"12345678-1234-1234-1234-123456789012"))
    assert decode_commit_metadata(data).operation_type.value == "UNKNOWN"
