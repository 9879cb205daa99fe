"""An encoded record that is copied with another file name has the same bytes as a record that is encoded again."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.raw_records import (
    begins_with_meta_fields,
    meta_fields,
    with_meta_fields,
)
from hudi_table_services.hudi_format.metadata_table.record_schema import META_FIELDS, record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.table_version import TableVersion
from support.metadata_table.small_metadata_tables import location

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@VERSIONS
@given(before=st.none() | NAMES, after=NAMES)
def test_the_bytes_are_those_of_the_renamed_record(
    version: TableVersion, before: str | None, after: str
) -> None:
    codec = RecordFormat(record_schema(version))
    record = location("key", "file")
    _, value = codec.encode(replace(record, base_file_name=before))
    _, expected = codec.encode(replace(record, base_file_name=after))
    assert with_meta_fields(value, meta_fields(after)) == expected


@VERSIONS
def test_the_schemas_of_this_project_begin_with_the_meta_fields(version: TableVersion) -> None:
    assert begins_with_meta_fields(record_schema(version))
    assert not begins_with_meta_fields(record_schema(version, with_meta_fields=False))


def changed_field(**change: object) -> str:
    document = json.loads(record_schema(TableVersion.V9))
    document["fields"][2] |= change
    return json.dumps(document)


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "[]",
        '{"fields": [1]}',
        changed_field(name="other"),
        changed_field(type="string"),
        changed_field(type=["string", "null"]),
        changed_field(type=["null", "bytes"]),
        changed_field(type=["null", {"type": "fixed", "name": "f", "size": 1}]),
        changed_field(type=["null", "string", "int"]),
    ],
)
def test_schemas_without_the_usual_meta_fields_are_recognized(schema: str) -> None:
    assert not begins_with_meta_fields(schema)


def test_the_string_types_of_meta_fields_may_have_annotations() -> None:
    annotated = {"type": "string", "avro.java.string": "String"}
    assert begins_with_meta_fields(changed_field(type=["null", annotated]))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        bytes(len(META_FIELDS) - 1),
        b"\0\0\2\2x\0\0rest",
        b"\0\0\0\0\4rest",
        b"\0\0\0\0\2\x08abc",
        b"\0\0\0\0\2\x01abc",
        b"\0\0\0\0\2" + b"\xff" * 20,
    ],
)
def test_damaged_records_are_refused(value: bytes) -> None:
    with pytest.raises(MalformedMetadataError, match="meta fields cannot be read"):
        with_meta_fields(value, meta_fields("f"))
