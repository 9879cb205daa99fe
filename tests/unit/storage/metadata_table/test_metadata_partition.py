"""Records of a partition of a metadata table: which blocks readers use, in which order, and how records are merged."""

import itertools
from typing import BinaryIO

import pytest

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import ListedFile, Listing, RecordLocation
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table import base_files, log_changes
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.metadata_table.small_metadata_tables import FIRST, SmallMetadataTable, files, location, moment

V6, V8, V9 = TableVersion.V6, TableVersion.V8, TableVersion.V9
T1, T2, T3, T4 = (moment(number) for number in (10, 20, 30, 40))


@pytest.fixture(params=[V6, V8, V9], ids=lambda version: f"v{version.value}")
def table(request: pytest.FixtureRequest) -> SmallMetadataTable:
    """A metadata table whose partition `files` has a base file with one file in the partition `a`."""
    made = SmallMetadataTable(request.param)
    made.own(FIRST, files=[made.base(FIRST, [files("a", {"one": 1})])])
    return made


@pytest.fixture(params=[V8, V9], ids=lambda version: f"v{version.value}")
def newer(request: pytest.FixtureRequest) -> SmallMetadataTable:
    made = SmallMetadataTable(request.param)
    made.own(FIRST, files=[made.base(FIRST, [files("a", {"one": 1})])])
    return made


@pytest.fixture
def older() -> SmallMetadataTable:
    """A metadata table of version 6."""
    made = SmallMetadataTable(V6)
    made.own(FIRST, files=[made.base(FIRST, [files("a", {"one": 1})])])
    return made


def log(table: SmallMetadataTable, time: str, *blocks: bytes, version: int = 1) -> str:
    """Write a log file of the write at this time, after the first base file."""
    is_old = table.version is V6
    return table.log(FIRST if is_old else time, *blocks, version=version if is_old else 1)


def sizes(table: SmallMetadataTable, partition: str = "a") -> dict[str, int] | None:
    """Files of a partition of the table, as the metadata table lists them."""
    record = table.read().get(partition)
    if record is None:
        return None
    assert isinstance(record.payload, Listing)
    return {name: file.size_bytes for name, file in record.payload.files.items()}


def test_log_files_add_files_to_the_base_file_and_delete_files(table: SmallMetadataTable) -> None:
    table.write(T1, log(table, T1, table.records(T1, files("a", {"two": 2}), files("b", {"three": 3}))))
    table.write(T2, log(table, T2, table.records(T2, files("a", {"one": None})), version=2))
    assert sizes(table) == {"two": 2}
    assert sizes(table, "b") == {"three": 3}


def test_blocks_of_a_write_that_is_pending_in_the_table_are_ignored(table: SmallMetadataTable) -> None:
    table.own(T1, files=[log(table, T1, table.records(T1, files("a", {"two": 2})))])
    table.data(T1, pending=True)
    assert sizes(table) == {"one": 1}


def test_blocks_of_a_pending_delta_commit_are_ignored(table: SmallMetadataTable) -> None:
    log(table, T1, table.records(T1, files("a", {"two": 2})))
    table.own(T1, pending=True)
    table.data(T1)
    assert sizes(table) == {"one": 1}


def test_a_delta_commit_without_an_instant_of_the_table_is_read_from_version_8_on(
    table: SmallMetadataTable,
) -> None:
    table.own(T1, files=[log(table, T1, table.records(T1, files("a", {"two": 2})))])
    assert sizes(table) == ({"one": 1} if table.version is V6 else {"one": 1, "two": 2})


def test_in_version_6_a_delta_commit_of_the_metadata_table_itself_is_read(older: SmallMetadataTable) -> None:
    time = f"{T1}003"
    older.own(time, files=[log(older, time, older.records(time, files("a", {"two": 2})))])
    assert sizes(older) == {"one": 1, "two": 2}


def test_a_rollback_block_undoes_only_earlier_blocks(older: SmallMetadataTable) -> None:
    name = log(older, T1, older.records(T1, files("a", {"two": 2})), older.records(T2, files("b", {"x": 1})))
    log(older, T3, older.rollback(f"{T3}006", T1), version=2)
    older.write(T1, log(older, T1, older.records(T1, files("a", {"three": 3})), version=3))
    older.write(T2, name)
    assert sizes(older) == {"one": 1, "three": 3}
    assert sizes(older, "b") == {"x": 1}


def test_log_files_of_version_6_are_merged_in_the_order_of_their_numbers(older: SmallMetadataTable) -> None:
    for version, size in ((9, 9), (10, None), (11, 5)):
        time = moment(version)
        older.write(time, log(older, time, older.records(time, files("a", {"two": size})), version=version))
    assert sizes(older) == {"one": 1, "two": 5}


def test_from_version_8_on_log_files_are_merged_in_the_order_of_their_requested_times(
    newer: SmallMetadataTable,
) -> None:
    """As in Hudi (InputSplit, HoodieLogFile.LogFileComparator): the completion times do not matter within a slice."""
    added = log(newer, T1, newer.records(T1, files("a", {"two": 2})))
    deleted = log(newer, T2, newer.records(T2, files("a", {"two": None})))
    newer.own(T1, files=[added], completed_at=T4)
    newer.own(T2, files=[deleted], completed_at=T3)
    newer.data(T1)
    newer.data(T2)
    assert sizes(newer) == {"one": 1}


def test_from_version_8_on_a_compaction_contains_the_writes_that_completed_before_it(
    newer: SmallMetadataTable,
) -> None:
    newer.own(T1, files=[log(newer, T1, newer.records(T1, files("a", {"two": 2})))], completed_at=T2)
    newer.own(T2, files=[log(newer, T2, newer.records(T2, files("a", {"three": 3})))], completed_at=T4)
    newer.own(T3, Action.COMMIT, files=[newer.base(T3, [files("a", {"compacted": 4})])])
    newer.data(T1)
    newer.data(T2)
    assert sizes(newer) == {"compacted": 4, "three": 3}


def test_in_version_6_log_files_belong_to_the_base_file_in_their_names(older: SmallMetadataTable) -> None:
    older.write(T1, log(older, T1, older.records(T1, files("a", {"two": 2}))))
    time = f"{T1}001"
    older.own(time, Action.COMMIT, files=[older.base(time, [files("a", {"compacted": 4})])])
    older.write(T2, older.log(time, older.records(T2, files("a", {"three": 3}))))
    assert sizes(older) == {"compacted": 4, "three": 3}


def test_a_base_file_of_a_pending_compaction_is_not_read(table: SmallMetadataTable) -> None:
    table.base(T3, [files("a", {"compacted": 4})])
    table.own(T3, Action.COMPACTION, pending=True)
    assert sizes(table) == {"one": 1}


def test_deleted_keys_are_not_read_until_a_later_block_adds_them_again(table: SmallMetadataTable) -> None:
    table.write(T1, log(table, T1, table.records(T1, files("b", {"x": 1})), table.deletes(T1, "a")))
    assert sizes(table) is None
    table.write(T2, log(table, T2, table.records(T2, files("a", {"new": 5})), version=2))
    assert sizes(table) == {"new": 5}


def test_a_file_that_is_deleted_before_it_is_added_is_listed(table: SmallMetadataTable) -> None:
    table.write(T1, log(table, T1, table.records(T1, files("a", {"two": None}))))
    assert sizes(table) == {"one": 1}
    table.write(T2, log(table, T2, table.records(T2, files("a", {"two": 2})), version=2))
    assert sizes(table) == {"one": 1, "two": 2}


def test_the_larger_of_two_sizes_of_a_file_is_used(table: SmallMetadataTable) -> None:
    table.write(T1, log(table, T1, table.records(T1, files("a", {"one": 9}))))
    table.write(T2, log(table, T2, table.records(T2, files("a", {"one": 5})), version=2))
    assert sizes(table) == {"one": 9}


def test_a_file_group_without_a_base_file_is_read_from_its_log_files() -> None:
    made = SmallMetadataTable(V9)
    made.own(FIRST, files=[made.log(FIRST, made.deletes(FIRST))])
    made.write(T1, made.log(T1, made.records(T1, files("a", {"two": 2}))))
    assert sizes(made) == {"two": 2}


def test_a_partition_that_does_not_exist_has_no_records(table: SmallMetadataTable) -> None:
    reader = table.reader("column_stats")
    assert list(reader.records()) == []
    assert reader.find(["a"]) == {}
    assert reader.find_prefixes(["a"]) == []
    assert table.reader().find([]) == {}
    assert table.reader().find_prefixes([]) == []


def test_a_record_of_the_base_file_names_its_file_and_a_merged_record_does_not(
    table: SmallMetadataTable,
) -> None:
    table.write(T1, log(table, T1, table.records(T1, files("b", {"two": 2}))))
    found = table.read()
    assert found["b"].base_file_name is None
    assert found["a"].payload == Listing({"one": ListedFile(1)})


# ------------------------------------------------------------------ look-ups


GROUPS = 4
KEYS = [f"key-{number:03d}" for number in range(200)]


@pytest.fixture
def index() -> SmallMetadataTable:
    """A record index of four file groups: half of the keys in base files, the others in log files, some deleted."""
    made = SmallMetadataTable(V9, "record_index")
    partition = "record_index"
    for number in range(GROUPS):
        mine = [key for key in KEYS if file_group_of(key, GROUPS) == number]
        made.base(FIRST, [location(key, "old") for key in mine[::2]], partition, number)
        new = made.records(T1, *(location(key, "new") for key in mine[1::2] + mine[:1]))
        made.log(
            T1, new, made.deletes(T1, *mine[2:3], partition=partition), partition=partition, number=number
        )
    made.own(FIRST)
    made.own(T1)
    made.data(T1)
    return made


def test_every_key_is_found_in_its_file_group(index: SmallMetadataTable) -> None:
    reader = index.reader("record_index")
    records = {record.key: record for record in reader.records()}
    assert len(records) == len(KEYS) - GROUPS
    assert reader.find(KEYS) == records
    for key in KEYS:
        assert reader.find([key, "absent"]) == ({key: records[key]} if key in records else {})
    assert {r.payload.file_id for r in records.values() if isinstance(r.payload, RecordLocation)} == {
        "old",
        "new",
    }


def test_prefixes_are_found_in_all_file_groups(index: SmallMetadataTable) -> None:
    reader = index.reader("record_index")
    records = {record.key for record in reader.records()}
    found = [record.key for record in reader.find_prefixes(["key-01", "key-1", "other"])]
    assert sorted(found) == sorted(key for key in records if key.startswith(("key-01", "key-1")))


def test_records_are_read_in_the_order_of_file_groups_and_keys(index: SmallMetadataTable) -> None:
    reader = index.reader("record_index")
    by_slice = [list(reader.records_of(found, reader.changes_of(found))) for found in reader.slices]
    assert [found.file_group_id.file_id for found in reader.slices] == [
        f"record-index-{number:04d}-0" for number in range(GROUPS)
    ]
    for found in by_slice:
        assert [record.key for record in found] == sorted(record.key for record in found)
    assert list(itertools.chain.from_iterable(by_slice)) == list(reader.records())


def test_a_key_is_looked_up_in_only_one_file_group(
    index: SmallMetadataTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    original = MemoryStorage.read

    def read(self: MemoryStorage, path: str) -> bytes:
        if path.endswith(".hfile"):
            opened.append(path)
        return original(self, path)

    monkeypatch.setattr(MemoryStorage, "read", read)
    reader = index.reader("record_index")
    reader.find(["key-007"])
    assert len(opened) == 1
    reader.find_prefixes(["key-007"])
    assert len(opened) == 1 + GROUPS


def test_a_large_base_file_is_read_by_ranges(
    index: SmallMetadataTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = index.read("record_index")
    monkeypatch.setattr(base_files, "_AT_ONCE_BYTES", 0)
    opened: list[str] = []
    original = MemoryStorage.open_reader

    def open_reader(self: MemoryStorage, path: str) -> BinaryIO:
        opened.append(path)
        return original(self, path)

    monkeypatch.setattr(MemoryStorage, "open_reader", open_reader)
    assert index.read("record_index") == at_once
    assert len(opened) == GROUPS


def test_a_missing_file_group_is_an_error(index: SmallMetadataTable) -> None:
    lost = [s.path for s in index.storage.list_files(METADATA_TABLE) if "record-index-0002-0" in s.name]
    for path in lost:
        index.storage.delete(path)
    with pytest.raises(CorruptTableError, match=r"only the file groups \[0, 1, 3\]"):
        index.reader("record_index")


def test_file_groups_of_a_partitioned_record_index_are_counted_by_partition() -> None:
    made = SmallMetadataTable(V9, "record_index")
    for group in ("record-index-a%2Db-0000-0", "record-index-a%2Db-0001-0", "record-index-c-0000-0"):
        path = f"{METADATA_TABLE}/record_index/.{group}_{T1}.log.1_0-1-2"
        made.storage.write(path, made.records(T1, location(f"key of {group}", "f")))
    made.own(T1)
    made.data(T1)
    reader = made.reader("record_index")
    assert len(reader.slices) == 3
    assert set(reader.find(["key of record-index-c-0000-0"])) == {"key of record-index-c-0000-0"}


# ------------------------------------------------------------------ damage


def test_a_file_group_with_another_name_is_an_error(table: SmallMetadataTable) -> None:
    table.storage.write(f"{METADATA_TABLE}/files/other_0-1-2_{FIRST}.hfile", b"")
    with pytest.raises(CorruptTableError, match="a file group with the invalid id 'other'"):
        table.reader()


def test_a_base_file_that_is_no_hfile_is_refused(table: SmallMetadataTable) -> None:
    table.storage.write(f"{METADATA_TABLE}/files/files-0000-0_0-1-2_{T4}.parquet", b"PAR1")
    table.own(T4)
    with pytest.raises(UnsupportedTableError, match="are HFiles"):
        table.reader()


def test_from_version_8_on_a_block_of_another_instant_than_its_file_is_an_error(
    newer: SmallMetadataTable,
) -> None:
    newer.write(T1, newer.log(T1, newer.records(T2, files("a", {"two": 2}))))
    with pytest.raises(MalformedMetadataError, match=f"block of the instant {T2}") as caught:
        newer.read()
    assert caught.value.path.startswith(f"{METADATA_TABLE}/files/.files-0000-0_{T1}")


def test_errors_about_records_name_the_file(table: SmallMetadataTable) -> None:
    name = log(table, T1, table.records(T1, files("a", {"two": 2})))
    table.write(T1, name)
    path = f"{METADATA_TABLE}/files/{name}"
    table.storage.write(path, table.storage.read(path)[:-9])
    with pytest.raises(MalformedMetadataError) as caught:
        table.read()
    assert caught.value.path == path


def test_records_of_different_types_with_one_key_are_an_error(table: SmallMetadataTable) -> None:
    table.write(T1, log(table, T1, table.records(T1, location("a", "f"))))
    with pytest.raises(MalformedMetadataError, match="FILES and RECORD_INDEX"):
        table.read()


def test_log_files_beyond_the_limit_are_refused(
    table: SmallMetadataTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write(T1, log(table, T1, table.records(T1, files("a", {"two": 2}))))
    reader = table.reader()
    monkeypatch.setattr(log_changes, "MAX_LOG_BYTES", reader.log_bytes - 1)
    with pytest.raises(UnsupportedTableError, match="the limit is"):
        list(reader.records())


def test_a_caller_can_pass_slices_and_counted_instants(table: SmallMetadataTable) -> None:
    table.write(T1, log(table, T1, table.records(T1, files("a", {"two": 2}))))
    opened, known = table.open(), table.reader().slices
    reader = MetadataPartition(opened, "files", slices=known, counted=frozenset())
    assert [record.payload for record in reader.records()] == [Listing({"one": ListedFile(1)})]


def test_the_commit_names_its_base_file_among_those_of_retried_tasks(
    table: SmallMetadataTable,
) -> None:
    leftover = f"{METADATA_TABLE}/files/files-0000-0_9-9-9_{FIRST}.hfile"
    table.storage.write(leftover, b"left by a task that died")
    assert sizes(table) == {"one": 1}
