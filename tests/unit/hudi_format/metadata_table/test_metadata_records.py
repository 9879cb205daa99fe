"""Records of the metadata table are read as written, with the schema of each table version."""

import json
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.record_schema import META_FIELDS, record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.hudi_format.metadata_table.stat_values import (
    decimal_bytes,
    decimal_of_bytes,
    decimal_wrapper,
)
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileBloomFilter,
    ListedFile,
    Listing,
    MetadataRecord,
    RecordLocation,
    RecordType,
    SecondaryIndexEntry,
    StatKind,
    StatValue,
    ValueType,
)
from hudi_table_services.model.table_version import TableVersion

VERSIONS = (TableVersion.V6, TableVersion.V8, TableVersion.V9)
FORMATS = {version: RecordFormat(record_schema(version)) for version in VERSIONS}
INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
TEXT, BYTES = st.text(max_size=12), st.binary(max_size=12)
PLAIN_VALUES: dict[StatKind, st.SearchStrategy[Any]] = {
    StatKind.BOOLEAN: st.booleans(),
    StatKind.INT: INT,
    StatKind.LONG: LONG,
    StatKind.FLOAT: st.floats(width=32, allow_nan=False),
    StatKind.DOUBLE: st.floats(allow_nan=False),
    StatKind.BYTES: BYTES,
    StatKind.STRING: TEXT,
    StatKind.DATE: INT,
    StatKind.DECIMAL: BYTES,
    StatKind.TIME_MICROS: LONG,
    StatKind.TIMESTAMP_MICROS: LONG,
}


def stat_values(version: TableVersion) -> st.SearchStrategy[StatValue | None]:
    kinds = dict(PLAIN_VALUES)
    if version >= TableVersion.V8:
        kinds[StatKind.LOCAL_DATE] = INT
    plain = st.one_of(st.builds(StatValue, st.just(kind), values) for kind, values in kinds.items())
    if version < TableVersion.V9:
        return st.none() | plain
    items = st.lists(st.none() | plain, max_size=3).map(tuple)
    return st.none() | plain | st.builds(StatValue, st.just(StatKind.ARRAY), items)


def column_stats(version: TableVersion) -> st.SearchStrategy[ColumnStats]:
    later: dict[str, st.SearchStrategy[Any]] = {}
    if version >= TableVersion.V8:
        later["is_tight_bound"] = st.booleans()
    if version >= TableVersion.V9:
        later["value_type"] = st.none() | st.builds(ValueType, st.integers(0, 30), st.none() | TEXT)
    counts = st.none() | LONG
    return st.builds(
        ColumnStats,
        file_name=st.none() | TEXT,
        column_name=st.none() | TEXT,
        min_value=stat_values(version),
        max_value=stat_values(version),
        value_count=counts,
        null_count=counts,
        total_size_bytes=counts,
        total_uncompressed_bytes=counts,
        is_deleted=st.booleans(),
        **later,
    )


def locations(version: TableVersion) -> st.SearchStrategy[RecordLocation]:
    later = {"position": st.none() | LONG} if version >= TableVersion.V8 else {}
    as_numbers = st.builds(lambda value, number: f"{value}-{number}", st.uuids(), st.integers(0, 2**31 - 1))
    return st.one_of(
        st.builds(
            RecordLocation,
            partition_path=TEXT,
            file_id=file_ids,
            instant_millis=LONG,
            is_plain_text=st.just(is_plain_text),
            **later,
        )
        for file_ids, is_plain_text in ((as_numbers | st.uuids().map(str), False), (TEXT.filter(bool), True))
    )


def records(version: TableVersion) -> st.SearchStrategy[MetadataRecord]:
    listing = st.builds(
        Listing, st.dictionaries(TEXT, st.builds(ListedFile, LONG, st.booleans()), max_size=4)
    )
    bloom = st.builds(
        FileBloomFilter, type_code=TEXT, timestamp=TEXT, bloom_filter=BYTES, is_deleted=st.booleans()
    )
    payloads: dict[RecordType, st.SearchStrategy[Any]] = {
        RecordType.ALL_PARTITIONS: listing,
        RecordType.FILES: listing,
        RecordType.COLUMN_STATS: column_stats(version),
        RecordType.BLOOM_FILTER: bloom,
        RecordType.RECORD_INDEX: locations(version),
    }
    if version >= TableVersion.V8:
        payloads[RecordType.PARTITION_STATS] = column_stats(version)
        payloads[RecordType.SECONDARY_INDEX] = st.builds(SecondaryIndexEntry, st.booleans())
    return st.one_of(
        st.builds(
            MetadataRecord,
            key=TEXT,
            record_type=st.just(record_type),
            payload=payload,
            base_file_name=st.none() | TEXT,
        )
        for record_type, payload in payloads.items()
    )


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
def test_records_are_read_as_written(version: TableVersion, data: st.DataObject) -> None:
    record = data.draw(records(version))
    assert FORMATS[version].decode(FORMATS[version].encode(record)) == record


@given(record=records(TableVersion.V6))
def test_a_later_schema_has_a_place_for_every_record_of_an_older_version(record: MetadataRecord) -> None:
    for version in VERSIONS:
        assert FORMATS[version].decode(FORMATS[version].encode(record)) == record


def later_schema() -> str:
    """The schema of version 9 with a further field in the record and in its statistics, and a further kind of value."""
    schema = json.loads(record_schema(TableVersion.V9))
    extra = {"name": "later", "type": ["null", "string"], "default": None}
    statistics = next(field for field in schema["fields"] if field["name"] == "ColumnStatsMetadata")["type"][
        1
    ]
    statistics["fields"][3]["type"].append(
        {"type": "record", "name": "LaterWrapper", "fields": [{"name": "value", "type": "int"}]}
    )
    statistics["fields"].insert(2, extra)
    schema["fields"].append(extra)
    return json.dumps(schema)


@given(record=records(TableVersion.V9))
def test_records_with_fields_of_a_later_schema_are_read_and_written(record: MetadataRecord) -> None:
    later = RecordFormat(later_schema())
    assert later.decode(later.encode(record)) == record


def stats(**values: Any) -> MetadataRecord:
    fields = ("file_name", "column_name", "min_value", "max_value", "value_count", "null_count")
    sizes = ("total_size_bytes", "total_uncompressed_bytes")
    payload = ColumnStats(**{**dict.fromkeys((*fields, *sizes)), **values})
    return MetadataRecord(key="k", record_type=RecordType.COLUMN_STATS, payload=payload)


@pytest.mark.parametrize(
    ("record", "version"),
    [
        (stats(is_tight_bound=True), TableVersion.V6),
        (stats(value_type=ValueType(3)), TableVersion.V8),
        (stats(min_value=StatValue(StatKind.LOCAL_DATE, 1)), TableVersion.V6),
        (stats(min_value=StatValue(StatKind.ARRAY, ())), TableVersion.V8),
        (stats(value_count=2**63), TableVersion.V9),
        (stats(min_value=StatValue(StatKind.INT, 2**31)), TableVersion.V9),
        (stats(file_name="\ud800"), TableVersion.V9),
        (
            MetadataRecord(key="k", record_type=RecordType.SECONDARY_INDEX, payload=SecondaryIndexEntry()),
            TableVersion.V6,
        ),
    ],
    ids=str,
)
def test_a_record_without_a_place_in_the_schema_is_refused(
    record: MetadataRecord, version: TableVersion
) -> None:
    with pytest.raises(MalformedMetadataError, match="does not fit the schema"):
        FORMATS[version].encode(record)


@given(value=st.binary(max_size=80), key=st.binary(max_size=8))
def test_arbitrary_bytes_are_decoded_or_refused(value: bytes, key: bytes) -> None:
    try:
        record = FORMATS[TableVersion.V9].decode((key, value))
    except MalformedMetadataError:
        return
    assert isinstance(record, MetadataRecord)


@given(record=records(TableVersion.V9), data=st.data())
def test_a_damaged_record_is_decoded_or_refused(record: MetadataRecord, data: st.DataObject) -> None:
    key, value = FORMATS[TableVersion.V9].encode(record)
    place = data.draw(st.integers(0, len(value) - 1))
    flipped = bytes([*value[:place], value[place] ^ data.draw(st.integers(1, 255)), *value[place + 1 :]])
    for damaged in (flipped, value[:place], value + b"\0"):
        try:
            FORMATS[TableVersion.V9].decode((key, damaged))
        except MalformedMetadataError:
            continue
    with pytest.raises(MalformedMetadataError):
        FORMATS[TableVersion.V9].decode((key, value[:-1]))


def test_a_key_that_is_not_text_is_an_error() -> None:
    _, value = FORMATS[TableVersion.V9].encode(stats())
    with pytest.raises(MalformedMetadataError, match="UTF-8"):
        FORMATS[TableVersion.V9].decode((b"\xff", value))


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "[]",
        '"string"',
        "{",
        "9" * 100_000,
        '{"type":"record"}',
        '{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":"null"}}]}',
        '{"type":"record","name":"r","fields":[{"name":"a","type":["null","r"]}]}',
        '{"a":' * 100_000,
    ],
    ids=["empty", "list", "text", "cut", "number", "no fields", "items of zero bytes", "in itself", "levels"],
)
def test_a_schema_that_cannot_be_used_is_an_error(schema: str) -> None:
    with pytest.raises(MalformedMetadataError):
        RecordFormat(schema)


def test_a_record_is_refused_if_its_schema_gives_known_fields_other_types() -> None:
    fields = [{"name": name, "type": "long"} for name in ("type", "ColumnStatsMetadata", "_hoodie_file_name")]
    odd = RecordFormat(json.dumps({"type": "record", "name": "r", "fields": fields}))
    with pytest.raises(MalformedMetadataError, match="instead of dict"):
        odd.decode((b"k", b"\x06\x02\x02"))


def test_the_schema_of_commits_has_no_meta_fields() -> None:
    whole, without = (
        json.loads(record_schema(TableVersion.V9, with_meta_fields=flag)) for flag in (True, False)
    )
    assert [field["name"] for field in whole["fields"][:5]] == list(META_FIELDS)
    assert without["fields"] == whole["fields"][5:]


@given(number=st.integers(-(10**37), 10**37), scale=st.integers(0, 20))
def test_decimals_are_read_as_written(number: int, scale: int) -> None:
    value = Decimal(f"{number}e-{scale}")
    encoded = decimal_bytes(value, scale)
    with localcontext(prec=5):
        assert decimal_bytes(value, scale) == encoded
        assert decimal_of_bytes(encoded, scale).as_tuple() == value.as_tuple()
    assert len(encoded) == 1 or encoded[0] not in (0, 255) or (encoded[0] ^ encoded[1]) & 0x80


def test_a_decimal_with_more_digits_after_the_point_than_its_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="digits"):
        decimal_bytes(Decimal("1.234"), 2)


def test_table_version_6_stores_decimals_with_15_digits_after_the_point() -> None:
    assert decimal_wrapper(Decimal("-50.00")) == StatValue(
        StatKind.DECIMAL, (-50 * 10**15).to_bytes(8, "big", signed=True)
    )
