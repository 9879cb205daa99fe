"""Changes of the record index and of the bloom filters."""

from collections.abc import Iterator
from datetime import timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.record_schema import record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import (
    DeletedKey,
    FileBloomFilter,
    MetadataRecord,
    RecordLocation,
    RecordType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.bloom_records import (
    BaseFileBloom,
    bloom_filter_records,
    deleted_bloom_filters,
)
from hudi_table_services.planning.metadata_table.instant_times import instant_millis, one_millisecond_before
from hudi_table_services.planning.metadata_table.record_locations import (
    NewKeys,
    record_index_changes,
    record_locations,
    replaced_locations,
)
from support.metadata_table.metadata_golden import RELEASES, golden_table

UTC = timezone.utc
GROUP = FileGroupId("south", "c9e8e769-e182-4f8e-8c0f-c5235b98bf98-0")
VERSIONS = pytest.mark.parametrize("version", list(RELEASES), ids=lambda version: f"v{version}")


def golden_records(version: TableVersion, record_type: RecordType) -> list[MetadataRecord]:
    found = []
    for _, reader in golden_table(version).hfiles():
        read = RecordFormat(reader.schema)
        found += [
            record for entry in reader.entries() if (record := read.decode(entry)).record_type is record_type
        ]
    return found


@VERSIONS
def test_locations_are_those_that_hudi_stores(version: TableVersion) -> None:
    times = {file.split("_")[2].partition(".")[0] for file in listed_files(version)}
    checked = 0
    for record in golden_records(version, RecordType.RECORD_INDEX):
        assert isinstance(record.payload, RecordLocation)
        group = FileGroupId(record.payload.partition_path, record.payload.file_id)
        ours = [
            next(record_locations([NewKeys(group, [record.key])], instant_millis(time, UTC))).payload
            for time in times
        ]
        assert ours.count(record.payload) == 1
        checked += 1
    assert checked >= 4


def listed_files(version: TableVersion) -> set[str]:
    table = golden_table(version)
    names = {name for files in table.expected["files"].values() for name in files}
    for record in golden_records(version, RecordType.FILES):
        names |= set(record.payload.files)  # type: ignore[union-attr]
    return names


@VERSIONS
def test_bloom_filters_are_those_that_hudi_stores(version: TableVersion) -> None:
    files = [(path, name) for path in ("north", "south") for name in sorted(listed_files(version))]
    stored = {r.key: r for r in golden_records(version, RecordType.BLOOM_FILTER)}
    checked = 0
    for path, name in files:
        (key,) = (change.key for change in deleted_bloom_filters([(path, [name])]))
        if key not in stored:
            continue
        payload = stored[key].payload
        assert isinstance(payload, FileBloomFilter)
        bloom = BaseFileBloom(
            partition_path=path,
            base_file=BaseFile.from_file_name(name),
            text=payload.bloom_filter.decode(),
            type_code=payload.type_code,
        )
        (ours,) = bloom_filter_records([bloom])
        assert (ours.key, ours.payload) == (key, payload)
        checked += 1
    assert checked >= 1


@given(st.lists(st.text(min_size=1), unique=True), st.booleans())
def test_every_new_key_gets_a_record_that_can_be_stored(keys: list[str], as_text: bool) -> None:
    schema = RecordFormat(record_schema(TableVersion.V9))
    found = list(record_locations([NewKeys(GROUP, keys)], 5, stores_ids_as_text=as_text))
    assert [r.key for r in found] == keys
    for record in found:
        assert schema.decode(schema.encode(record)) == record
        assert isinstance(record.payload, RecordLocation)
        assert (record.payload.file_id, record.payload.is_plain_text) == (GROUP.file_id, as_text)


def test_each_key_is_read_only_when_its_record_is_taken() -> None:
    def endless() -> Iterator[str]:
        number = 0
        while True:
            yield str(number := number + 1)

    found = record_index_changes([NewKeys(GROUP, endless())], ["gone"], 5)
    assert [next(found).key for _ in range(3)] == ["1", "2", "3"]


def test_deleted_keys_follow_the_new_ones() -> None:
    found = list(record_index_changes([NewKeys(GROUP, ["new"])], iter(["gone"]), 5))
    assert [type(change) for change in found] == [MetadataRecord, DeletedKey]


@given(st.sets(st.text()), st.sets(st.text()))
def test_replaced_keys_are_deleted_unless_they_were_written_again(
    replaced: set[str], written: set[str]
) -> None:
    assert {change.key for change in replaced_locations(replaced, written)} == replaced - written


def test_an_id_that_is_not_a_uuid_is_refused_unless_ids_are_stored_as_text() -> None:
    group = NewKeys(FileGroupId("a", "00000001-bucket"), ["k"])
    with pytest.raises(UnsupportedTableError, match="00000001-bucket"):
        list(record_locations([group], 5))
    assert len(list(record_locations([group], 5, stores_ids_as_text=True))) == 1


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("20261123051449619", UTC, 1795410889619),
        ("20261123051449619", timezone(timedelta(hours=2)), 1795410889619 - 7_200_000),
        ("20261123051449", UTC, 1795410889999),
        ("20261123051449619001", UTC, 1795410889619),
        ("19700101000000000", UTC, 0),
        # This hour occurs twice; Java takes the first, which is summer time.
        ("20261025023000000", ZoneInfo("Europe/Berlin"), 1792888200000),
        # This time does not exist; Java shifts it forward by the hour that is missing.
        ("20260329023000000", ZoneInfo("Europe/Berlin"), 1774747800000),
    ],
)
def test_an_instant_time_is_read_in_the_time_zone_of_the_timeline(text: str, zone, expected: int) -> None:
    assert instant_millis(text, zone) == expected


@pytest.mark.parametrize("text", ["00000000000000010", "2026", "x", "20261323051449619"])
def test_digits_that_are_not_a_valid_time_are_refused(text: str) -> None:
    with pytest.raises(MalformedMetadataError, match="is not the time"):
        instant_millis(text, UTC)


@given(st.datetimes(), st.integers(0, 999))
def test_one_millisecond_before_is_the_greatest_earlier_time(moment, millis: int) -> None:
    text = moment.strftime("%Y").zfill(4) + moment.strftime("%m%d%H%M%S") + f"{millis:03d}"
    if text > "00010101000000000":
        earlier = one_millisecond_before(text)
        assert len(earlier) == 17
        assert earlier < text
        assert instant_millis(text, UTC) - instant_millis(earlier, UTC) == 1
