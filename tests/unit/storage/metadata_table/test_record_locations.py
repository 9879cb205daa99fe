"""The record index locates the rows of tables of real Hudi. It is refused if it does not agree with the timeline."""

import pickle
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import MetadataRecord, RecordLocation, RecordType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.record_locations import (
    RecordIndexGroups,
    open_partitioned_record_index,
    open_record_index,
)
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import FIRST, SmallMetadataTable, location, moment
from support.metadata_table.whole_metadata_golden import VERSIONS, WholeTable, whole_table

EACH_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"v{version.value}")
T1, T2, T3, T4 = (moment(number) for number in (10, 20, 30, 40))
GROUP, OTHER = FileGroupId("a", "group"), FileGroupId("a", "other")


def opened(table: WholeTable | SmallMetadataTable) -> RecordIndexGroups:
    index = open_record_index(table.storage, table.config, table.timeline, FixedClock())
    assert isinstance(index, RecordIndexGroups), index
    return index


def refused(table: WholeTable | SmallMetadataTable) -> UnusableMetadataTable:
    index = open_record_index(table.storage, table.config, table.timeline, FixedClock())
    assert isinstance(index, UnusableMetadataTable), index
    return index


def located(index: RecordIndexGroups, *keys: str) -> set[FileGroupId]:
    groups: list[set[bytes]] = [set() for _ in range(index.count)]
    for key in keys:
        groups[file_group_of(key, index.count)].add(key.encode())
    found = index.locate([frozenset(each) for each in groups])
    assert isinstance(found, set), found
    return found


@EACH_VERSION
@pytest.mark.parametrize("name", ["copy_on_write", "restored"])
def test_every_row_of_a_table_of_hudi_is_located(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    if RECORD_INDEX not in table.config.metadata_partitions:
        assert refused(table).reason is Reason.NOT_LISTED
        return
    index = opened(table)
    keys_of: dict[FileGroupId, list[str]] = defaultdict(list)
    for row in table.expected["rows"]:
        file_id = BaseFile.from_file_name(row["_hoodie_file_name"]).file_id
        keys_of[FileGroupId(row["_hoodie_partition_path"], file_id)].append(row["_hoodie_record_key"])
    assert keys_of
    for group, keys in keys_of.items():
        assert [located(index, key) for key in keys] == [{group}] * len(keys)
        assert located(index, *keys) == {group}
    assert located(index, *(key for keys in keys_of.values() for key in keys), "absent") == set(keys_of)
    assert located(index, "absent") == set()


def test_a_part_of_the_index_can_be_pickled_and_finds_its_keys(version: TableVersion, tmp_path: Path) -> None:
    table = whole_table(version, "copy_on_write", LocalStorage(str(tmp_path)))
    index = opened(table)
    keys = [row["_hoodie_record_key"] for row in table.expected["rows"]]
    found: set[FileGroupId] = set()
    for number in range(index.count):
        part: RecordIndexGroups = pickle.loads(pickle.dumps(index.part(number, number + 1)))
        assert part.count == 1
        wanted = frozenset(key.encode() for key in keys if file_group_of(key, index.count) == number)
        here = part.locate([wanted])
        assert isinstance(here, set)
        found |= here
    assert found == located(index, *keys)
    assert sum(index.part(n, n + 1).size_bytes for n in range(index.count)) == index.size_bytes > 0


@pytest.fixture(params=VERSIONS, ids=lambda version: f"v{version.value}")
def version(request: pytest.FixtureRequest) -> TableVersion:
    found: TableVersion = request.param
    return found


@pytest.fixture
def table(version: TableVersion) -> SmallMetadataTable:
    """A record index with one file group. Its base file locates `k`; the write T1 is in both timelines."""
    made = SmallMetadataTable(version, partitions=f"files,{RECORD_INDEX}")
    made.base(FIRST, [location("k", "group")], partition=RECORD_INDEX)
    made.own(FIRST)
    made.own(T1)
    made.data(T1)
    return made


def log(table: SmallMetadataTable, time: str, *blocks: bytes, number: int = 1) -> str:
    is_old = table.version is TableVersion.V6
    return table.log(
        FIRST if is_old else time, *blocks, version=number if is_old else 1, partition=RECORD_INDEX
    )


def test_log_files_replace_and_delete_locations(table: SmallMetadataTable) -> None:
    log(table, T2, table.records(T2, location("k", "other"), location("new", "group")))
    table.own(T2)
    table.data(T2)
    assert located(opened(table), "k") == {OTHER}
    assert located(opened(table), "k", "new") == {GROUP, OTHER}
    log(table, T3, table.deletes(T3, "k", partition=RECORD_INDEX), number=2)
    table.own(T3)
    table.data(T3)
    assert located(opened(table), "k") == set()
    assert located(opened(table), "k", "new") == {GROUP}


def test_a_later_write_does_not_change_the_locations_of_the_timeline(table: SmallMetadataTable) -> None:
    timeline = table.timeline
    log(table, T2, table.records(T2, location("k", "other")))
    table.own(T2)
    table.data(T2)
    index = open_record_index(table.storage, table.config, timeline, FixedClock())
    assert isinstance(index, RecordIndexGroups)
    assert located(index, "k") == {GROUP}
    assert located(opened(table), "k") == {OTHER}


@pytest.mark.parametrize("is_pending", [False, True])
def test_a_later_write_in_a_base_file_is_refused(table: SmallMetadataTable, is_pending: bool) -> None:
    if is_pending:
        table.data(T2, pending=True)
    timeline = table.timeline
    table.own(T2)
    table.data(T2)
    time = f"{T2}001" if table.version is TableVersion.V6 else T4
    table.base(time, [location("k", "other")], partition=RECORD_INDEX)
    table.own(time, Action.COMMIT)
    index = open_record_index(table.storage, table.config, timeline, FixedClock())
    assert isinstance(index, UnusableMetadataTable)
    assert index.reason is Reason.CHANGED
    assert located(opened(table), "k") == {OTHER}


def test_a_write_that_the_index_lacks_is_refused(table: SmallMetadataTable) -> None:
    table.data(T2)
    assert refused(table).reason is Reason.BEHIND


def test_an_index_is_refused_if_it_is_lost_or_not_listed(table: SmallMetadataTable) -> None:
    table.storage.delete_folder(f"{METADATA_TABLE}/{RECORD_INDEX}")
    assert refused(table).reason is Reason.DAMAGED
    assert refused(SmallMetadataTable(table.version)).reason is Reason.NOT_LISTED


def test_an_index_with_file_groups_for_each_partition_of_the_table_is_refused(
    version: TableVersion,
) -> None:
    made = SmallMetadataTable(version, partitions=RECORD_INDEX)
    made.own(FIRST)
    name = made.base(FIRST, [location("k", "group")], partition=RECORD_INDEX)
    folder = f"{METADATA_TABLE}/{RECORD_INDEX}"
    made.storage.write(
        f"{folder}/{name.replace('index-0000', 'index-a-0000')}", made.storage.read(f"{folder}/{name}")
    )
    made.storage.delete(f"{folder}/{name}")
    assert refused(made).reason is Reason.UNSUPPORTED


def test_a_look_up_ends_when_it_has_found_all_file_groups_that_the_caller_needs(
    version: TableVersion,
) -> None:
    made = SmallMetadataTable(version, partitions=f"files,{RECORD_INDEX}")
    locations = [location(f"k{n:03}", "group" if n % 2 else "other") for n in range(200)]
    made.base(FIRST, locations, partition=RECORD_INDEX)
    made.own(FIRST)
    keys = [frozenset(f"k{n:03}".encode() for n in range(200))]
    index = opened(made)
    every = {GROUP, OTHER}
    assert index.locate(keys) == index.locate(keys, frozenset(every)) == every
    assert index.locate(keys, frozenset({OTHER})) == {OTHER}
    assert index.locate([frozenset([b"k001"])], frozenset({OTHER})) == {GROUP}
    assert index.locate([frozenset([b"none"])], frozenset(every)) == set()
    assert index.locate(keys, frozenset({FileGroupId("a", "elsewhere")})) == every
    assert index.locate(keys, frozenset()) == {OTHER}


def test_the_search_returns_damage_of_a_base_file_as_its_outcome(table: SmallMetadataTable) -> None:
    index = opened(table)
    (path,) = [f.path for f in table.storage.list_files(f"{METADATA_TABLE}/{RECORD_INDEX}")]
    table.storage.write(path, table.storage.read(path).replace(b"DATABLK*", b"DATABLK+"))
    outcome = index.locate([frozenset([b"k"])])
    assert isinstance(outcome, UnusableMetadataTable)
    assert (outcome.reason, outcome.path) == (Reason.DAMAGED, path)
    table.storage.delete(path)
    outcome = index.locate([frozenset([b"k"])])
    assert isinstance(outcome, UnusableMetadataTable)
    assert outcome.reason is Reason.CHANGED


@pytest.fixture
def partitioned() -> SmallMetadataTable:
    """A partitioned record index: the key `k` in the partitions `a` and `b`, in different file groups of the table."""
    made = SmallMetadataTable(TableVersion.V9, partitions=f"files,{RECORD_INDEX}")
    made.own(FIRST)
    log_of_partition(made, T1, "a-0000", location("k", "group"))
    in_b = replace(location_of("k"), partition_path="b")
    record = MetadataRecord(key="k", record_type=RecordType.RECORD_INDEX, payload=in_b)
    number = file_group_of("k", 2)
    log_of_partition(made, T1, f"b-{number:04d}", record)
    log_of_partition(made, T1, f"b-{1 - number:04d}")
    made.own(T1)
    made.data(T1)
    return made


def location_of(key: str) -> RecordLocation:
    payload = location(key, "group").payload
    assert isinstance(payload, RecordLocation)
    return payload


def log_of_partition(table: SmallMetadataTable, time: str, group: str, *records: MetadataRecord) -> None:
    content = table.records(time, *records) if records else table.deletes(time, partition=RECORD_INDEX)
    table.storage.write(
        f"{METADATA_TABLE}/{RECORD_INDEX}/.record-index-{group}-0_{time}.log.1_0-1-2", content
    )


def opened_partitions(table: SmallMetadataTable) -> dict[str, RecordIndexGroups]:
    found = open_partitioned_record_index(table.storage, table.config, table.timeline, FixedClock())
    assert isinstance(found, dict), found
    return found


def test_a_partitioned_index_locates_keys_only_in_their_partition(partitioned: SmallMetadataTable) -> None:
    index = opened_partitions(partitioned)
    assert {path: groups.count for path, groups in index.items()} == {"a": 1, "b": 2}
    assert located(index["a"], "k") == {GROUP}
    assert located(index["b"], "k") == {FileGroupId("b", "group")}
    assert located(index["a"], "absent") == set()
    assert located(pickle.loads(pickle.dumps(index["b"])), "k") == {FileGroupId("b", "group")}


def test_file_groups_of_instants_that_are_not_completed_are_ignored(partitioned: SmallMetadataTable) -> None:
    log_of_partition(partitioned, T2, "new-0000", location("k", "group"))
    assert set(opened_partitions(partitioned)) == {"a", "b"}


def test_file_groups_of_a_later_write_do_not_disturb_the_reader(partitioned: SmallMetadataTable) -> None:
    """Write T2 is complete only in the metadata table. Then T3, the later write, creates file groups of the index."""
    partitioned.data(T2, pending=True)
    partitioned.own(T2)
    log_of_partition(partitioned, T2, "a-0000", location("new", "group"))
    timeline = partitioned.timeline
    log_of_partition(partitioned, T3, "c-0000", location("k", "group"))
    partitioned.own(T3)
    partitioned.data(T3)
    found = open_partitioned_record_index(partitioned.storage, partitioned.config, timeline, FixedClock())
    assert isinstance(found, dict), found
    assert located(found["a"], "k", "new") == {GROUP}
    assert located(found["a"], "new") == set()


def test_a_partitioned_index_that_lacks_a_write_is_refused(partitioned: SmallMetadataTable) -> None:
    partitioned.data(T2)
    found = open_partitioned_record_index(
        partitioned.storage, partitioned.config, partitioned.timeline, FixedClock()
    )
    assert isinstance(found, UnusableMetadataTable)
    assert found.reason is Reason.BEHIND


def test_an_index_for_the_whole_table_is_no_partitioned_index(table: SmallMetadataTable) -> None:
    found = open_partitioned_record_index(table.storage, table.config, table.timeline, FixedClock())
    assert isinstance(found, UnusableMetadataTable)
    assert found.reason is Reason.UNSUPPORTED
    assert "for the whole table" in found.message


def test_a_partitioned_index_of_an_empty_table_has_no_partition() -> None:
    made = SmallMetadataTable(TableVersion.V9, partitions=f"files,{RECORD_INDEX}")
    made.own(FIRST)
    assert opened_partitions(made) == {}
