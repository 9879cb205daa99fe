"""Files and manifests of the timeline history: laws of the codecs, and Hudi's layout."""

import io
import json
import random
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.execution.history_files import (
    ENTRIES_OF_A_ROW_GROUP,
    decode_history,
    decode_history_since,
    encode_history,
)
from hudi_table_services.hudi_format.history_manifest import HistoryFile, decode_manifest, encode_manifest
from hudi_table_services.model.archival import HistoryEntry

times = st.integers(10**16, 10**17 - 1).map(str)
entries = st.builds(
    lambda requested, completed, action, metadata, plan: HistoryEntry(
        requested_time=requested, completion_time=completed, action=action, metadata=metadata, plan=plan
    ),
    times,
    times,
    st.sampled_from(["commit", "clean", "replacecommit"]),
    st.none() | st.binary(max_size=200),
    st.none() | st.binary(max_size=200),
)


@given(st.lists(entries, max_size=8))
def test_decoded_entries_equal_the_encoded_entries_in_order_of_time(written: list[HistoryEntry]) -> None:
    assert list(decode_history(encode_history(written))) == sorted(written, key=lambda e: e.requested_time)


@given(st.lists(entries, max_size=8), times)
def test_the_entries_since_a_time_are_those_that_completed_then_or_later(
    written: list[HistoryEntry], time: str
) -> None:
    found = decode_history_since(io.BytesIO(encode_history(written)), time)
    assert [*found] == [e for e in decode_history(encode_history(written)) if e.completion_time >= time]


def test_an_entry_without_completion_time_belongs_to_every_period() -> None:
    entry = HistoryEntry(requested_time="1", completion_time=None, action="commit", metadata=b"m")
    other = replace(entry, completion_time="2")
    assert decode_history_since(io.BytesIO(encode_history([entry, other])), "9") == (entry,)


def test_row_groups_without_wanted_entries_are_not_read() -> None:
    late = 2 * ENTRIES_OF_A_ROW_GROUP
    written = [
        HistoryEntry(
            requested_time=f"{number:017d}",
            completion_time="9" if number == late else "2",
            action="commit",
            metadata=random.Random(number).randbytes(1_000),
        )
        for number in range(3 * ENTRIES_OF_A_ROW_GROUP)
    ]
    encoded = encode_history(written)
    source = _CountingBytes(encoded)
    assert decode_history_since(source, "9") == (written[late],)
    assert len(encoded) / 3 < source.bytes_read < len(encoded) / 2
    source = _CountingBytes(encoded)
    assert decode_history_since(source, "99") == ()
    assert source.bytes_read < len(encoded) / 5


class _CountingBytes(io.BytesIO):
    bytes_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        self.bytes_read += len(found)
        return found


@pytest.mark.parametrize(
    ("count", "row_groups"),
    [(1, 1), (ENTRIES_OF_A_ROW_GROUP, 1), (ENTRIES_OF_A_ROW_GROUP + 1, 2), (3 * ENTRIES_OF_A_ROW_GROUP, 3)],
)
def test_a_file_of_many_entries_has_several_row_groups(count: int, row_groups: int) -> None:
    written = [
        HistoryEntry(
            requested_time=f"{number:017d}",
            completion_time="2",
            action="commit",
            metadata=b"m" * (number % 7),
        )
        for number in range(count)
    ]
    encoded = encode_history(written[::-1])
    assert pq.ParquetFile(io.BytesIO(encoded)).metadata.num_row_groups == row_groups
    assert list(decode_history(encoded)) == written


def test_a_file_has_the_columns_and_the_footer_of_hudi() -> None:
    entry = HistoryEntry(requested_time="1", completion_time="2", action="commit", metadata=b"m")
    file = pq.ParquetFile(io.BytesIO(encode_history([entry])))
    assert [
        (c.name, c.physical_type, c.max_definition_level)
        for c in (file.schema.column(i) for i in range(len(file.schema)))
    ] == [
        ("instantTime", "BYTE_ARRAY", 1),
        ("completionTime", "BYTE_ARRAY", 1),
        ("action", "BYTE_ARRAY", 1),
        ("metadata", "BYTE_ARRAY", 1),
        ("plan", "BYTE_ARRAY", 1),
        ("version", "INT32", 0),
    ]
    schema = json.loads(file.metadata.metadata[b"parquet.avro.schema"])
    assert schema["name"] == "HoodieLSMTimelineInstant"
    assert b"ARROW:schema" not in file.metadata.metadata


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1PAR1", b"{}" * 50])
def test_data_that_is_not_a_history_file_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMetadataError):
        decode_history(data)
    with pytest.raises(MalformedMetadataError):
        decode_history_since(io.BytesIO(data), "1")


files = st.builds(
    lambda first, last, level, size: HistoryFile(first=first, last=last, level=level, size_bytes=size),
    times,
    times,
    st.integers(0, 9),
    st.integers(0, 10**12),
)


@given(st.lists(files, max_size=5))
def test_a_decoded_manifest_equals_the_encoded_manifest(written: list[HistoryFile]) -> None:
    assert list(decode_manifest(encode_manifest(written))) == written


def test_a_manifest_has_the_layout_of_hudi() -> None:
    listed = [HistoryFile(first="1", last="2", level=n, size_bytes=3378 + n) for n in range(2)]
    assert encode_manifest(listed).decode() == (
        '{\n  "files" : [ {\n    "fileName" : "1_2_0.parquet",\n    "fileLen" : 3378\n  }, {\n'
        '    "fileName" : "1_2_1.parquet",\n    "fileLen" : 3379\n  } ]\n}'
    )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": [1]}', '{"files": [{"fileName": "../x"}]}'])
def test_text_that_is_not_a_manifest_is_malformed(text: str) -> None:
    with pytest.raises(MalformedMetadataError):
        decode_manifest(text.encode())
