"""Typed access to table properties; table versions; write stats of a commit."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.model.table_config import RecordMergeMode, TableConfig
from hudi_table_services.model.table_version import TableType, TableVersion, TimelineLayout
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat

PAYLOADS = "org.apache.hudi.common.model."


def config(**properties: str) -> TableConfig:
    """Make a configuration; names of arguments are keys without ``hoodie.`` and with ``__`` for each dot."""
    return TableConfig({f"hoodie.{key.replace('__', '.')}": value for key, value in properties.items()})


def test_defaults_are_those_of_hudi() -> None:
    empty = TableConfig({})
    assert empty.table_type is TableType.COPY_ON_WRITE
    assert empty.base_file_format == "PARQUET"
    assert empty.populates_meta_fields
    assert not empty.hive_style_partitioning
    assert not empty.drops_partition_columns
    assert not empty.timeline_timezone_is_utc
    assert empty.database_name == ""
    assert empty.record_key_fields == empty.partition_fields == empty.ordering_fields == ()
    assert empty.metadata_partitions == empty.inflight_metadata_partitions == ()
    assert empty.create_schema_json is None
    assert empty.partition_time_format == ""


def test_properties_are_read_with_their_types() -> None:
    read = config(
        table__name="t",
        database__name="d",
        table__type="MERGE_ON_READ",
        table__recordkey__fields="a, b",
        table__partition__fields="day:TIMESTAMP,region:SIMPLE",
        keygen__timebased__output__dateformat="yyyy/MM",
        table__metadata__partitions="files,column_stats",
        table__timeline__timezone="utc",
        populate__meta__fields="False",
        datasource__write__hive_style_partitioning="TRUE",
    )
    assert (read.table_name, read.database_name, read.table_type) == ("t", "d", TableType.MERGE_ON_READ)
    assert read.record_key_fields == ("a", "b")
    assert read.partition_fields == ("day", "region")
    assert read.partition_time_format == "yyyy/MM"
    assert read.metadata_partitions == ("files", "column_stats")
    assert read.timeline_timezone_is_utc
    assert read.hive_style_partitioning
    assert not read.populates_meta_fields


@pytest.mark.parametrize("name", ["", None])
def test_a_table_without_a_name_is_refused(name: str | None) -> None:
    with pytest.raises(MalformedMetadataError, match=r"hoodie\.table\.name"):
        _ = (TableConfig({}) if name is None else config(table__name=name)).table_name


def test_an_unknown_table_type_is_refused() -> None:
    with pytest.raises(MalformedMetadataError, match="MERGE_ON_WRITE"):
        _ = config(table__type="MERGE_ON_WRITE").table_type


def test_the_ordering_field_has_two_names() -> None:
    assert config(table__precombine__field="ts").ordering_fields == ("ts",)
    assert config(table__ordering__fields="ts,seq").ordering_fields == ("ts", "seq")


@pytest.mark.parametrize(
    ("properties", "mode"),
    [
        ({}, RecordMergeMode.COMMIT_TIME_ORDERING),
        ({"table__precombine__field": "ts"}, RecordMergeMode.EVENT_TIME_ORDERING),
        ({"record__merge__mode": "CUSTOM"}, RecordMergeMode.CUSTOM),
        (
            {"record__merge__mode": "COMMIT_TIME_ORDERING", "table__ordering__fields": "ts"},
            RecordMergeMode.COMMIT_TIME_ORDERING,
        ),
        (
            {"compaction__payload__class": f"{PAYLOADS}OverwriteWithLatestAvroPayload"},
            RecordMergeMode.COMMIT_TIME_ORDERING,
        ),
        (
            {"compaction__payload__class": f"{PAYLOADS}DefaultHoodieRecordPayload"},
            RecordMergeMode.EVENT_TIME_ORDERING,
        ),
        ({"compaction__payload__class": "my.Payload"}, RecordMergeMode.CUSTOM),
    ],
)
def test_the_merge_mode_is_inferred_if_it_is_not_stored(
    properties: dict[str, str], mode: RecordMergeMode
) -> None:
    assert config(**properties).record_merge_mode is mode


def test_an_unknown_merge_mode_is_refused() -> None:
    with pytest.raises(MalformedMetadataError, match="LATER"):
        _ = config(record__merge__mode="LATER").record_merge_mode


ACCESSORS = [name for name, value in vars(TableConfig).items() if isinstance(value, property)]


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "hoodie.table.name",
                "hoodie.table.version",
                "hoodie.table.type",
                "hoodie.record.merge.mode",
                "hoodie.table.partition.fields",
                "hoodie.table.recordkey.fields",
                "hoodie.populate.meta.fields",
            ]
        ),
        st.text(max_size=8),
    )
)
def test_arbitrary_properties_raise_only_errors_of_this_project(properties: dict[str, str]) -> None:
    for accessor in ACCESSORS:
        with contextlib.suppress(CorruptTableError, UnsupportedTableError):
            getattr(TableConfig(properties), accessor)


@pytest.mark.parametrize("version", TableVersion)
def test_versions_are_parsed_from_their_number(version: TableVersion) -> None:
    assert TableVersion.parse(str(int(version))) is version


@pytest.mark.parametrize("text", ["", "7", "10", "-1", "six", "(absent)", "6.0"])
def test_the_error_for_an_unknown_table_version_lists_the_known_versions(text: str) -> None:
    with pytest.raises(UnsupportedTableError, match="writing: 6, 8, 9") as refused:
        TableVersion.parse(text)
    assert ("later release" in refused.value.hint) is (text == "10")


def test_each_table_version_has_its_features() -> None:
    assert [version for version in TableVersion if version.layout is TimelineLayout.V2] == [8, 9]
    assert [version for version in TableVersion if version.stores_commit_metadata_as_avro] == [8, 9]
    assert [version for version in TableVersion if version.has_merge_mode] == [8, 9]
    assert [version for version in TableVersion if version.names_ordering_fields] == [9]
    assert [version for version in TableVersion if version.is_writable] == [6, 8, 9]
    assert [layout.timeline_folder for layout in TimelineLayout] == [".hoodie", ".hoodie/timeline"]


def test_write_stats_of_a_commit_are_listed_in_stored_order() -> None:
    stats = [WriteStat(file_id=f"f{i}-0", partition_path=p, path=f"{p}/f{i}") for i, p in enumerate("bab")]
    commit = CommitMetadata(
        operation_type=WriteOperation.INSERT,
        partition_to_write_stats={"b": (stats[0], stats[2]), "a": (stats[1],)},
    )
    assert commit.write_stats == (stats[0], stats[2], stats[1])
    assert commit.partition_to_replace_file_ids is None
