"""Properties of a metadata table and definitions of indexes."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.index_definitions import (
    decode_index_definitions,
    encode_index_definitions,
)
from hudi_table_services.hudi_format.metadata_table.properties import encode_metadata_table_properties
from hudi_table_services.hudi_format.table_properties import checksum_is_valid, decode_properties
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_version import TableVersion
from support.metadata_table.metadata_golden import golden_table

TEXT = st.text(max_size=10)
DEFINITIONS = st.dictionaries(
    TEXT,
    st.builds(
        IndexDefinition,
        name=TEXT,
        index_type=TEXT,
        function=TEXT,
        source_fields=st.lists(TEXT, max_size=3).map(tuple),
        options=st.dictionaries(TEXT, TEXT, max_size=3),
        version=st.none() | TEXT,
    ),
    max_size=3,
)


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9])
def test_properties_are_those_of_hudi(version: TableVersion) -> None:
    written = encode_metadata_table_properties("golden", version, saved_at=dt.datetime.now(dt.timezone.utc))
    found = decode_properties(written)
    assert found == decode_properties(golden_table(version).contents["metadata.properties"])
    assert checksum_is_valid(found)


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])
def test_index_definitions_are_written_as_hudi_wrote_them(version: TableVersion) -> None:
    data = golden_table(version).contents["index.json"]
    definitions = decode_index_definitions(data)
    assert encode_index_definitions(definitions) == data
    assert definitions["secondary_index_names"].source_fields == ("name",)
    assert definitions["column_stats"].version == ("V2" if version is TableVersion.V9 else None)


@given(definitions=DEFINITIONS)
def test_index_definitions_are_read_as_written(definitions: dict[str, IndexDefinition]) -> None:
    assert decode_index_definitions(encode_index_definitions(definitions)) == definitions


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"indexDefinitions":[]}',
        b'{"indexDefinitions":{"a":1}}',
        b'{"indexDefinitions":{"a":{"sourceFields":[1]}}}',
        b'{"indexDefinitions":{"a":{"sourceFields":"x"}}}',
        b'{"indexDefinitions":{"a":{"indexOptions":{"x":1}}}}',
        b'{"indexDefinitions":{"a":{"version":2}}}',
    ],
)
def test_damaged_index_definitions_are_an_error(data: bytes) -> None:
    with pytest.raises(MalformedMetadataError):
        decode_index_definitions(data)
