"""Commit metadata in both forms: JSON of table version 6 and Avro of versions 8 and 9."""

import contextlib
import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError
from hudi_table_services.hudi_format.avro_container import encode_container
from hudi_table_services.hudi_format.commit_metadata import (
    decode_commit_metadata,
    decode_operation,
    encode_commit_metadata,
)
from hudi_table_services.hudi_format.timeline_schemas import CLEAN_METADATA, COMMIT_METADATA
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat

VERSIONS = (TableVersion.V6, TableVersion.V8, TableVersion.V9)

TEXT = st.text(max_size=8)
COUNT = st.integers(0, 2**62)
OPTIONAL_COUNT = st.none() | COUNT
PARTITION = st.text(max_size=6)
EXTRA = st.fixed_dictionaries(
    {},
    optional={
        "logVersion": st.integers(1, 9),
        "logOffset": COUNT,
        "baseFile": TEXT,
        "logFiles": st.lists(TEXT, max_size=2),
        "cdcStats": st.dictionaries(TEXT, COUNT, min_size=1, max_size=2),
        "totalLogRecords": st.integers(1, 2**40),
        "numUpdates": st.integers(1, 2**40),
        "totalLogFiles": COUNT,
        "tempPath": TEXT,
    },
)


@st.composite
def write_stats(draw: st.DrawFn, partition_path: str) -> WriteStat:
    return WriteStat(
        file_id=draw(TEXT),
        partition_path=partition_path,
        path=draw(st.text(max_size=10)),
        prev_commit=draw(st.text(min_size=1, max_size=8)),
        num_writes=draw(COUNT),
        num_inserts=draw(COUNT),
        num_update_writes=draw(COUNT),
        num_deletes=draw(COUNT),
        file_size_bytes=draw(COUNT),
        prev_base_file=draw(st.none() | TEXT),
        total_write_errors=draw(COUNT),
        min_event_time=draw(OPTIONAL_COUNT),
        max_event_time=draw(OPTIONAL_COUNT),
        total_create_time_ms=draw(COUNT),
        total_upsert_time_ms=draw(COUNT),
        total_scan_time_ms=draw(COUNT),
        extra=draw(EXTRA),
    )


@st.composite
def commits(draw: st.DrawFn) -> CommitMetadata:
    paths = draw(st.lists(PARTITION, unique=True, max_size=3))
    replaced = st.dictionaries(PARTITION, st.lists(TEXT, max_size=2).map(tuple), max_size=2)
    return CommitMetadata(
        operation_type=draw(st.sampled_from(WriteOperation)),
        partition_to_write_stats={
            path: tuple(draw(st.lists(write_stats(path), max_size=2))) for path in paths
        },
        extra_metadata=draw(st.dictionaries(TEXT, st.text(max_size=20), max_size=3)),
        compacted=draw(st.booleans()),
        partition_to_replace_file_ids=draw(st.none() | replaced),
    )


def stat(**changes: Any) -> WriteStat:
    values: dict[str, Any] = {
        "file_id": "f1-0",
        "partition_path": "a",
        "path": "a/f1-0_0-1-2_20261121051545305.parquet",
        "num_writes": 3,
        "num_inserts": 3,
        "file_size_bytes": 434743,
    }
    return WriteStat(**values | changes)


def commit(*stats: WriteStat, **changes: Any) -> CommitMetadata:
    values: dict[str, Any] = {
        "operation_type": WriteOperation.UPSERT,
        "partition_to_write_stats": {"a": stats},
        "extra_metadata": {"schema": "{}"},
    }
    return CommitMetadata(**values | changes)


def avro_record(data: bytes) -> tuple[str, Mapping[str, Any]]:
    reader = fastavro.reader(io.BytesIO(data))
    (record,) = reader
    assert isinstance(reader.writer_schema, dict)
    assert isinstance(record, dict)
    return reader.writer_schema["name"], record


@given(commits(), st.sampled_from(VERSIONS))
def test_commits_are_unchanged_after_encoding_and_decoding(
    metadata: CommitMetadata, version: TableVersion
) -> None:
    assert decode_commit_metadata(encode_commit_metadata(metadata, version)) == metadata


@given(commits(), st.sampled_from(VERSIONS))
def test_the_operation_is_that_of_the_whole_commit(metadata: CommitMetadata, version: TableVersion) -> None:
    assert decode_operation(encode_commit_metadata(metadata, version)) is metadata.operation_type


@given(commits(), st.sampled_from(VERSIONS))
def test_equal_commits_are_encoded_to_equal_bytes(metadata: CommitMetadata, version: TableVersion) -> None:
    assert encode_commit_metadata(metadata, version) == encode_commit_metadata(metadata, version)


@given(st.binary(max_size=80) | st.binary(max_size=80).map(lambda data: b"Obj\x01" + data))
def test_arbitrary_bytes_are_refused_as_corrupt(data: bytes) -> None:
    for decode in (decode_commit_metadata, decode_operation):
        with pytest.raises(CorruptTableError):
            decode(data)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            st.sampled_from(["partitionToWriteStats", "a", "fileId", "numWrites", "runtimeStats"]), values
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "partitionToWriteStats",
                "compacted",
                "extraMetadata",
                "operationType",
                "partitionToReplaceFileIds",
            ]
        ),
        JSON_VALUES,
    )
)
def test_json_of_any_shape_is_decoded_or_refused_as_corrupt(document: dict[str, object]) -> None:
    with contextlib.suppress(CorruptTableError):
        decode_commit_metadata(json.dumps(document).encode())


@given(st.sampled_from(VERSIONS), st.data())
def test_damaged_bytes_are_decoded_or_refused_as_corrupt(version: TableVersion, data: st.DataObject) -> None:
    content = bytearray(encode_commit_metadata(commit(stat()), version))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    for decode in (decode_commit_metadata, decode_operation):
        with contextlib.suppress(CorruptTableError):
            decode(bytes(content[:cut]))


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"\xff{}", b"[" * 100_000], ids=range(6))
def test_data_that_is_not_a_commit_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMetadataError, match="commit metadata"):
        decode_commit_metadata(data)


def test_another_kind_of_record_is_refused() -> None:
    clean = {
        "startCleanTime": "1",
        "timeTakenInMillis": 1,
        "totalFilesDeleted": 0,
        "earliestCommitToRetain": "",
        "partitionMetadata": {},
    }
    with pytest.raises(MalformedMetadataError, match="HoodieCleanMetadata"):
        decode_commit_metadata(encode_container(CLEAN_METADATA, clean))


def test_json_has_the_layout_of_hudi() -> None:
    metadata = CommitMetadata(
        operation_type=WriteOperation.INSERT_OVERWRITE,
        partition_to_write_stats={"é": ()},
        partition_to_replace_file_ids={"é": ("f1-0", "f2-0"), "b": ()},
    )
    assert encode_commit_metadata(metadata, TableVersion.V6).decode() == (
        "{\n"
        '  "partitionToWriteStats" : {\n'
        '    "é" : [ ]\n'
        "  },\n"
        '  "compacted" : false,\n'
        '  "extraMetadata" : { },\n'
        '  "operationType" : "INSERT_OVERWRITE",\n'
        '  "partitionToReplaceFileIds" : {\n'
        '    "é" : [ "f1-0", "f2-0" ],\n'
        '    "b" : [ ]\n'
        "  }\n"
        "}"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stat_has_the_fields_that_every_reader_needs(version: TableVersion) -> None:
    data = encode_commit_metadata(commit(stat()), version)
    document = json.loads(data) if version is TableVersion.V6 else avro_record(data)[1]
    (written,) = document["partitionToWriteStats"]["a"]
    assert {name: written[name] for name in ("fileId", "partitionPath", "prevCommit", "path")} == {
        "fileId": "f1-0",
        "partitionPath": "a",
        "prevCommit": "null",
        "path": "a/f1-0_0-1-2_20261121051545305.parquet",
    }
    assert written["fileSizeInBytes"] == written["totalWriteBytes"] == 434743


def test_only_replace_commits_are_encoded_as_replace_commits() -> None:
    plain = encode_commit_metadata(commit(stat()), TableVersion.V9)
    replace = encode_commit_metadata(commit(stat(), partition_to_replace_file_ids={}), TableVersion.V9)
    assert avro_record(plain)[0] == "org.apache.hudi.avro.model.HoodieCommitMetadata"
    assert avro_record(replace)[0] == "org.apache.hudi.avro.model.HoodieReplaceCommitMetadata"


def test_the_version_in_avro_is_null_as_in_real_files() -> None:
    assert avro_record(encode_commit_metadata(commit(), TableVersion.V9))[1]["version"] is None


def test_a_stat_without_a_file_names_no_partition() -> None:
    profile = commit(stat(file_id="", path=""))
    document = json.loads(encode_commit_metadata(profile, TableVersion.V6))
    (written,) = document["partitionToWriteStats"]["a"]
    assert (written["path"], written["partitionPath"]) == (None, None)


def test_unknown_keys_are_ignored_and_unknown_keys_of_a_stat_are_kept() -> None:
    document = {
        "partitionToWriteStats": {"a": [{"fileId": "f1-0", "path": "a/f", "recordsStats": {"val": None}}]},
        "operationType": "UPSERT",
        "totalRecordsWritten": 7,
    }
    (read,) = decode_commit_metadata(json.dumps(document).encode()).write_stats
    assert read.partition_path == "a"
    assert read.extra == {"recordsStats": {"val": None}}
    again = json.loads(encode_commit_metadata(commit(read), TableVersion.V6))
    assert again["partitionToWriteStats"]["a"][0]["recordsStats"] == {"val": None}


def test_extras_that_are_not_in_the_avro_schema_are_left_out() -> None:
    read = decode_commit_metadata(
        encode_commit_metadata(commit(stat(extra={"recordsStats": {"val": None}})), TableVersion.V8)
    )
    assert read == commit(stat())


@pytest.mark.parametrize("operation", [None, "", "SOMETHING_NEW"])
def test_an_operation_of_another_release_is_read_as_unknown(operation: str | None) -> None:
    read = decode_commit_metadata(json.dumps({"operationType": operation}).encode())
    assert read.operation_type is WriteOperation.UNKNOWN


@pytest.mark.parametrize(
    "document",
    [
        {"partitionToWriteStats": []},
        {"partitionToWriteStats": {"a": {}}},
        {"partitionToWriteStats": {"a": ["f1-0"]}},
        {"partitionToWriteStats": {"a": [{"numWrites": "3"}]}},
        {"partitionToWriteStats": {"a": [{"numWrites": True}]}},
        {"partitionToWriteStats": {"a": [{"runtimeStats": 1}]}},
        {"compacted": "true"},
        {"extraMetadata": {"a": 1}},
        {"operationType": 5},
        {"partitionToReplaceFileIds": {"a": "f1-0"}},
        {"partitionToReplaceFileIds": {"a": [1]}},
    ],
)
def test_values_of_the_wrong_type_are_refused(document: dict[str, object]) -> None:
    with pytest.raises(MalformedMetadataError, match="commit metadata"):
        decode_commit_metadata(json.dumps(document).encode())


def test_a_top_record_of_another_name_is_accepted_as_in_hudi() -> None:
    schema = {**COMMIT_METADATA, "name": "commit", "namespace": "my.own"}
    data = encode_container(schema, {"extraMetadata": {"a": "b"}, "operationType": "INSERT"})
    assert decode_commit_metadata(data).extra_metadata == {"a": "b"}


def test_fields_that_an_older_writer_lacks_get_their_defaults() -> None:
    fields = [field for field in COMMIT_METADATA["fields"] if field["name"] != "compacted"]
    data = encode_container({**COMMIT_METADATA, "fields": fields}, {"operationType": "INSERT"})
    assert decode_commit_metadata(data) == CommitMetadata(
        operation_type=WriteOperation.INSERT, partition_to_write_stats={}
    )
