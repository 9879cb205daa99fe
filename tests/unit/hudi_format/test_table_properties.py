"""hoodie.properties and partition metadata are written and read as in Java."""

import contextlib
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError
from hudi_table_services.hudi_format.partition_metadata import (
    PartitionMetadata,
    decode_partition_metadata,
    encode_partition_metadata,
)
from hudi_table_services.hudi_format.table_properties import (
    checksum_is_valid,
    decode_properties,
    encode_properties,
    table_checksum,
)

GOLDEN = Path(__file__).parents[2] / "golden"
TABLES = sorted(path.parent for path in GOLDEN.glob("hudi-*/v*/*/hoodie.properties"))
NOW = datetime(2026, 11, 21, 9, 4, 5, 678000, tzinfo=timezone(timedelta(hours=1)))

TEXT = st.text(max_size=12) | st.text(" =:#!\\\t\n\r\f\u0085é\U0001f600", max_size=8)


def table_id(path: Path) -> str:
    return "-".join(path.parts[-3:])


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_the_computed_checksum_equals_the_checksum_of_golden_properties(table: Path) -> None:
    properties = decode_properties((table / "hoodie.properties").read_bytes())
    stored = properties["hoodie.table.checksum"]
    assert stored == table_checksum(
        properties.get("hoodie.database.name", ""), properties["hoodie.table.name"]
    )
    assert checksum_is_valid(properties)


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_golden_properties_are_written_with_the_same_lines(table: Path) -> None:
    data = (table / "hoodie.properties").read_bytes()
    again = encode_properties(decode_properties(data), saved_at=NOW)
    assert {line for line in again.splitlines() if line[:1] != b"#"} == {
        line for line in data.splitlines() if line[:1] != b"#"
    }


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_golden_partition_metadata_is_unchanged_after_decoding_and_encoding(table: Path) -> None:
    data = (table / "partition_metadata").read_bytes()
    decoded = decode_partition_metadata(data)
    assert decoded.depth == 1
    assert list((table / "timeline").glob(f"{decoded.commit_time}*"))
    again = encode_partition_metadata(decoded.commit_time, decoded.depth, NOW)
    assert without_date(again) == without_date(data)
    assert len(again) == len(data)


def without_date(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return [*lines[:1], *lines[2:]]


@given(st.dictionaries(TEXT, TEXT, max_size=6))
def test_properties_are_unchanged_after_encoding_and_decoding(properties: dict[str, str]) -> None:
    properties["hoodie.table.name"] = "t"
    decoded = decode_properties(encode_properties(properties, saved_at=NOW))
    del decoded["hoodie.table.checksum"]
    assert decoded == {key: value for key, value in properties.items() if key != "hoodie.table.checksum"}


def test_comments_and_escapes_are_the_same_as_in_java() -> None:
    properties = {"hoodie.table.name": "t", "a b": " c d", "schema": '{"a":"é=#!\\"}', "smile": "\U0001f600"}
    assert encode_properties(properties, saved_at=NOW).decode("ascii").splitlines() == [
        "#Properties saved on 2026-11-21T08:04:05.678000Z",
        "#Sat Nov 21 08:04:05 UTC 2026",
        "hoodie.table.name=t",
        "a\\ b=\\ c d",
        'schema={"a"\\:"\\u00E9\\=\\#\\!\\\\"}',
        "smile=\\uD83D\\uDE00",
        f"hoodie.table.checksum={table_checksum('', 't')}",
    ]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=b", {"a": "b"}),
        ("a:b\r\nc d\n  e\t=\tf", {"a": "b", "c": "d", "e": "f"}),
        ("a", {"a": ""}),
        ("a=b=c:d", {"a": "b=c:d"}),
        ("a=1\na=2", {"a": "2"}),
        ("# x\n ! y\n\n \t\na=b", {"a": "b"}),
        ("a=one\\\n   two\\\r\n#three", {"a": "onetwo#three"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a\\=b\\:\\ c=d", {"a=b: c": "d"}),
        ("a=\\q\\u0041\\t", {"a": "qA\t"}),
        ("a=b \xe9\x85c", {"a": "b \xe9\x85c"}),
        ("a=b\\", {"a": "b"}),
    ],
)
def test_properties_texts_are_parsed_as_in_java(text: str, pairs: dict[str, str]) -> None:
    assert decode_properties(text.encode("latin-1")) == pairs


@given(st.binary(max_size=60) | st.text("\\u01aF=:# \n\r", max_size=30).map(str.encode))
def test_arbitrary_bytes_are_decoded_or_refused_as_corrupt(data: bytes) -> None:
    for decode in (decode_properties, decode_partition_metadata):
        with contextlib.suppress(CorruptTableError):
            decode(data)


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\uzzzz", "a=\\uD83D"])
def test_an_invalid_escape_is_refused(text: str) -> None:
    with pytest.raises(MalformedMetadataError):
        decode_properties(text.encode())


def test_the_checksum_of_a_table_without_database_starts_with_a_dot() -> None:
    assert table_checksum("", "services") == "3123344287"
    assert table_checksum("default", "services") == "2460878513"


def test_a_wrong_checksum_is_invalid_and_a_missing_one_is_valid() -> None:
    assert checksum_is_valid({"hoodie.table.name": "t"})
    assert not checksum_is_valid({"hoodie.table.name": "t", "hoodie.table.checksum": "1"})


def test_a_stale_checksum_is_replaced() -> None:
    properties = {"hoodie.table.checksum": "1", "hoodie.table.name": "t", "hoodie.database.name": "d"}
    decoded = decode_properties(encode_properties(properties, saved_at=NOW))
    assert list(decoded)[-1] == "hoodie.table.checksum"
    assert checksum_is_valid(decoded)


def test_properties_without_a_table_name_are_refused() -> None:
    with pytest.raises(MalformedMetadataError, match=r"hoodie\.table\.name"):
        encode_properties({"a": "b"}, saved_at=NOW)


@given(st.from_regex(r"\d{17}", fullmatch=True), st.integers(0, 12))
def test_partition_metadata_is_unchanged_after_encoding_and_decoding(commit_time: str, depth: int) -> None:
    decoded = decode_partition_metadata(encode_partition_metadata(commit_time, depth, NOW))
    assert decoded == PartitionMetadata(commit_time=commit_time, depth=depth)


@pytest.mark.parametrize("depth", ["", "-1", "one", "²", "1.5"])
def test_a_depth_that_is_not_a_number_is_refused(depth: str) -> None:
    with pytest.raises(MalformedMetadataError, match="partitionDepth"):
        decode_partition_metadata(f"commitTime=1\npartitionDepth={depth}\n".encode("latin-1", "replace"))
