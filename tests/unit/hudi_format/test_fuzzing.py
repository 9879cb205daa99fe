"""For arbitrary bytes, every decoder quickly returns a value or reports that the table is corrupt."""

import io
import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format import table_service_plans as plans
from hudi_table_services.hudi_format.avro_container import container_record_name
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.bloom_filter import decode_bloom_filter
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.hudi_format.footer import decode_key_footer
from hudi_table_services.hudi_format.lock_file import decode_lock_file
from hudi_table_services.hudi_format.markers import decode_markers_file, parse_marker, parse_marker_path
from hudi_table_services.hudi_format.partition_metadata import decode_partition_metadata
from hudi_table_services.hudi_format.table_properties import checksum_is_valid, decode_properties
from hudi_table_services.hudi_format.workload_profile import replaced_by_profile
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.instant import Instant, is_instant_name
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TimelineLayout

GOLDEN = Path(__file__).parents[2] / "golden"
SCALE = int(os.environ.get("FUZZ_SCALE", "1"))
"""Factor by which long manual runs multiply the number of examples."""
ALLOWED = (CorruptTableError, UnsupportedTableError)
FUZZED = settings(
    max_examples=25 * SCALE,
    deadline=2000 if SCALE == 1 else 10_000,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=SCALE == 1,
    database=None,
)


FOOTER_KEYS = (
    b"org.apache.hudi.bloomfilter",
    b"hoodie_bloom_filter_type_code",
    b"hoodie_min_record_key",
    b"hoodie_max_record_key",
)


def text_of(data: bytes) -> str:
    return data.decode(errors="replace")


def bloom(data: bytes) -> None:
    for code in ("SIMPLE", "DYNAMIC_V0"):
        with suppress(ALLOWED):
            decode_bloom_filter(text_of(data), code)


def footer(data: bytes) -> None:
    """Decode footer values that are separated by blanks, in the order of `FOOTER_KEYS`."""
    found = decode_key_footer(dict(zip(FOOTER_KEYS, data.split(b" "), strict=False)))
    found.bloom_filter()


def properties(data: bytes) -> None:
    pairs = decode_properties(data)
    checksum_is_valid(pairs)
    config = TableConfig(pairs)
    for name, attribute in vars(TableConfig).items():
        if isinstance(attribute, property):
            with suppress(ALLOWED):
                getattr(config, name)


def commit(data: bytes) -> None:
    metadata = decode_commit_metadata(data)
    replaced_by_profile(metadata)
    assert all(isinstance(stat.path, str) for stat in metadata.write_stats)


def instant_name(data: bytes) -> None:
    for layout in TimelineLayout:
        is_instant_name(text_of(data))
        with suppress(ALLOWED):
            Instant.from_file_name(text_of(data), layout)


BYTES: dict[str, Callable[[bytes], object]] = {
    "properties": properties,
    "partition metadata": decode_partition_metadata,
    "commit": commit,
    "requested replace": plans.decode_requested_replace,
    "compaction plan": plans.decode_compaction_plan,
    "clean plan": plans.decode_clean_plan,
    "clean": plans.decode_clean_metadata,
    "rollback plan": plans.decode_rollback_plan,
    "rollback": plans.decode_rollback_metadata,
    "savepoint": plans.decode_savepoint_metadata,
    "restore plan": plans.decode_restore_plan,
    "restore": plans.decode_restore_metadata,
    "container": container_record_name,
    "lock": decode_lock_file,
}
TEXTS: dict[str, Callable[[bytes], object]] = {
    "instant": instant_name,
    "base file": lambda data: BaseFile.from_file_name(text_of(data)),
    "log file": lambda data: LogFile.from_file_name(text_of(data)),
    "marker": lambda data: parse_marker(text_of(data)),
    "marker path": lambda data: parse_marker_path(text_of(data)),
    "markers file": lambda data: decode_markers_file(text_of(data)),
    "bloom filter": bloom,
    "key footer": footer,
    "avro schema": lambda data: from_avro_json(text_of(data)),
}
DECODERS = BYTES | TEXTS
EACH = pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS)


def decode_or_refuse(decode: Callable[[bytes], object], data: bytes) -> None:
    with suppress(ALLOWED):
        decode(data)


@cache
def golden() -> tuple[bytes, ...]:
    """Files of real Hudi releases, and related texts: names, footers, schemas and locks."""
    files = sorted(path for path in GOLDEN.rglob("*") if path.is_file() and path.suffix not in (".py", ".md"))
    whole = [path.read_bytes() for path in files if path.parent.name != "golden"]
    names = [path.name.encode() for path in files]
    footers = [
        b" ".join(_footer(data).get(key.decode(), "").encode() for key in FOOTER_KEYS)
        for data in whole
        if _footer(data)
    ]
    schemas = [found for data in whole for found in re.findall(rb'\{"type":"record".*?\}\]\}', data)]
    others = [
        b"a1-0_0-1-0_20260101000000000.parquet",
        b".a1-0_20260101000000000.log.1_0-1-0",
        b".hoodie/.temp/20260101000000000/a/a1-0_0-1-0_20260101000000000.parquet.marker.MERGE",
        b"a/x.parquet.marker.CREATE",
        b"a/x.parquet.marker.CREATE\nb/y.parquet.marker.APPEND\n",
        b'{"expired":false,"validUntil":1700000000000,"owner":"0a1b"}',
        *(_footer(data)["org.apache.hudi.bloomfilter"].encode() for data in whole if _footer(data)),
    ]
    return tuple(sorted({data for data in (*whole, *names, *footers, *schemas, *others) if data}))


def _footer(data: bytes) -> dict[str, str]:
    if b'"org.apache.hudi.bloomfilter"' not in data:
        return {}
    found: dict[str, str] = json.loads(data)["footer"]
    return found


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Golden bytes with a few pieces removed, replaced, repeated or inserted."""
    data = bytearray(draw(st.sampled_from(golden())))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        length = draw(st.sampled_from((0, 1, 1, 2, 8, 64)))
        piece = draw(
            st.one_of(
                st.just(b""),
                st.binary(min_size=1, max_size=12),
                st.sampled_from((b"\xff" * 9 + b"\x01", b"\xfe\xff\xff\xff\x0f", b"\x00", b"-", b"9" * 30)),
                st.just(bytes(data[place : place + 40])),
            )
        )
        data[place : place + length] = piece
    return bytes(data)


JSON_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(("\ud800", "record", "null", "UPSERT", "CLUSTER"))
)
JSON_NAMES = st.sampled_from(
    (
        "partitionToWriteStats", "extraMetadata", "operationType", "partitionToReplaceFileIds", "compacted",
        "fileId", "path", "prevCommit", "numWrites", "expired", "validUntil", "owner", "type", "name", "fields",
        "items", "values", "symbols", "size", "logicalType", "precision", "scale", "namespace", "airflow.replaces",
        "schema", "",
    )
)  # fmt: skip
JSON = st.recursive(
    JSON_LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(JSON_NAMES, inner, max_size=5),
    max_leaves=12,
)


def test_there_are_golden_bytes_for_every_decoder() -> None:
    def is_read(decode: Callable[[bytes], object], data: bytes) -> bool:
        try:
            decode(data)
        except ALLOWED:
            return False
        return True

    assert {name for name, d in DECODERS.items() if not any(is_read(d, data) for data in golden())} == set()


@EACH
@FUZZED
@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_are_decoded_or_refused(decode: Callable[[bytes], object], data: bytes) -> None:
    decode_or_refuse(decode, data)
    decode_or_refuse(decode, b"Obj\x01" + data)


@EACH
@FUZZED
@given(data=mutated())
def test_mutations_of_golden_bytes_are_decoded_or_refused(
    decode: Callable[[bytes], object], data: bytes
) -> None:
    decode_or_refuse(decode, data)


@EACH
@FUZZED
@given(value=JSON)
def test_json_of_any_shape_is_decoded_or_refused(decode: Callable[[bytes], object], value: Any) -> None:
    decode_or_refuse(decode, json.dumps(value).encode())


AVRO_TYPES = st.recursive(
    st.sampled_from(("null", "int", "long", "string", "bytes", "double", "boolean", "inner", "x.inner")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda values: {"type": "map", "values": values}, inner)
        | st.builds(
            lambda types: {
                "type": "record",
                "name": "inner",
                "fields": [{"name": f"f{n}", "type": kind} for n, kind in enumerate(types)],
            },
            st.lists(inner, max_size=3),
        )
        | st.builds(
            lambda base, logical: {
                "type": base, "logicalType": logical, "precision": 4, "size": 3, "name": "inner"
            },
            st.sampled_from(("int", "long", "bytes", "string", "fixed")),
            st.sampled_from(("date", "uuid", "decimal", "timestamp-millis", "time-micros")),
        )
    ),
    max_leaves=6,
)  # fmt: skip


def varint(number: int) -> bytes:
    encoded, left = bytearray(), (number << 1) ^ (number >> 63)
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*encoded, left])


def container(schema: object, block: bytes, *, codec: str = "null", count: int = 1) -> bytes:
    """A container file of one block with any schema."""
    text, marker = json.dumps(schema).encode(), b"m" * 16
    meta = io.BytesIO()
    for key, value in ((b"avro.schema", text), (b"avro.codec", codec.encode())):
        meta.write(varint(len(key)) + key + varint(len(value)) + value)
    header = b"Obj\x01" + varint(2) + meta.getvalue() + varint(0) + marker
    return header + varint(count) + varint(len(block)) + block + marker


COMMIT_FIELDS = (
    "partitionToWriteStats", "extraMetadata", "operationType", "partitionToReplaceFileIds", "compacted", "version",
    "clusteringPlan", "operations", "filesToBeDeletedPerPartition", "startCleanTime", "partitionMetadata",
    "instantToRollback", "savepointedBy", "strategy", "unknown",
)  # fmt: skip


@EACH
@FUZZED
@given(
    fields=st.dictionaries(st.sampled_from(COMMIT_FIELDS), AVRO_TYPES, max_size=4),
    block=st.binary(max_size=60),
)
def test_avro_with_any_schema_is_decoded_or_refused(
    decode: Callable[[bytes], object], fields: dict[str, object], block: bytes
) -> None:
    schema = {
        "type": "record",
        "name": "spark_schema",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }
    decode_or_refuse(decode, container(schema, block))
