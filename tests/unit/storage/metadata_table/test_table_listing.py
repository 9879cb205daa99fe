"""A listing of a table from its metadata table, and the reasons for which it is refused."""

from collections.abc import Collection

import pytest

from hudi_table_services.errors import StorageError
from hudi_table_services.hudi_format.log_blocks import BlockType, LogBlock, encode_block
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.table_listing import (
    ListedTable,
    ListingOutcome,
    list_from_metadata_table,
)
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import StoredObject
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import (
    FIRST,
    SmallMetadataTable,
    all_partitions,
    files,
    location,
    moment,
)
from support.small_tables import base_file_name

V6, V8, V9 = TableVersion.V6, TableVersion.V8, TableVersion.V9
T1, T2, T3, T4 = (moment(number) for number in (10, 20, 30, 40))
ONE, TWO, THREE = (base_file_name(f"f{number}", time) for number, time in enumerate((T1, T2, T3)))


@pytest.fixture(params=[V6, V8, V9], ids=lambda version: f"v{version.value}")
def table(request: pytest.FixtureRequest) -> SmallMetadataTable:
    """Two writes after an empty base file, as in a table that was created with a metadata table."""
    return written(SmallMetadataTable(request.param))


@pytest.fixture(params=[V8, V9], ids=lambda version: f"v{version.value}")
def newer(request: pytest.FixtureRequest) -> SmallMetadataTable:
    return written(SmallMetadataTable(request.param))


@pytest.fixture
def older() -> SmallMetadataTable:
    return written(SmallMetadataTable(V6))


def written(table: SmallMetadataTable) -> SmallMetadataTable:
    table.own(FIRST, files=[table.base(FIRST, [all_partitions()])])
    write(table, T1, all_partitions("a"), files("a", {ONE: 1}))
    write(table, T2, all_partitions("a", "b"), files("b", {TWO: 2}))
    return table


def log(table: SmallMetadataTable, time: str, *blocks: bytes, version: int = 1) -> str:
    if table.version is not V6:
        return table.log(time, *blocks)
    # A log file of version 6 is numbered; here the number is part of the instant.
    return table.log(FIRST, *blocks, version=int(time[-5:]) + version)


def write(table: SmallMetadataTable, time: str, *records: MetadataRecord) -> str:
    name = log(table, time, table.records(time, *records))
    table.write(time, name)
    return name


def outcome_of(table: SmallMetadataTable, partitions: Collection[str] | None = None) -> ListingOutcome:
    return list_from_metadata_table(table.storage, table.config, table.timeline, FixedClock(), partitions)


def listed(table: SmallMetadataTable, partitions: Collection[str] | None = None) -> dict[str, list[str]]:
    outcome = outcome_of(table, partitions)
    assert isinstance(outcome, ListedTable), outcome
    return {path: [f.name for f in found] for path, found in outcome.files.items()}


def refused(table: SmallMetadataTable, reason: Reason) -> UnusableMetadataTable:
    outcome = outcome_of(table)
    assert isinstance(outcome, UnusableMetadataTable), outcome
    assert outcome.reason is reason, outcome
    return outcome


def own_timeline(table: SmallMetadataTable) -> str:
    return f"{METADATA_TABLE}/{table.version.layout.timeline_folder}"


# ------------------------------------------------------------------ listings


def test_files_have_paths_and_sizes_and_no_time(table: SmallMetadataTable) -> None:
    outcome = outcome_of(table)
    assert outcome == ListedTable(
        {"a": (StoredObject(f"a/{ONE}", 1, 0),), "b": (StoredObject(f"b/{TWO}", 2, 0),)}
    )


def test_only_wanted_partitions_are_listed(table: SmallMetadataTable) -> None:
    assert listed(table, ["b", "absent"]) == {"b": [TWO]}
    assert listed(table, []) == {}


def test_the_files_of_a_table_without_partitions_are_listed(table: SmallMetadataTable) -> None:
    write(table, T3, all_partitions(""), files("", {THREE: 3}))
    assert listed(table, [""]) == {"": [THREE]}
    outcome = outcome_of(table)
    assert isinstance(outcome, ListedTable)
    assert outcome.files[""] == (StoredObject(THREE, 3, 0),)


def test_an_empty_partition_is_listed_and_a_deleted_partition_is_not(table: SmallMetadataTable) -> None:
    write(table, T3, all_partitions(deleted=["a"]), files("a", {ONE: None}), files("b", {TWO: None}))
    assert listed(table) == {"b": []}


def test_files_of_writes_that_are_not_completed_are_not_listed(table: SmallMetadataTable) -> None:
    table.own(T3, files=[log(table, T3, table.records(T3, files("a", {THREE: 3})))])
    table.data(T3, pending=True)
    assert listed(table) == {"a": [ONE], "b": [TWO]}


def test_files_of_unknown_instants_in_a_base_file_are_not_listed(table: SmallMetadataTable) -> None:
    time = f"{T2}001" if table.version is V6 else T3
    compacted = [
        all_partitions("a", "b"),
        files("a", {ONE: 1, THREE: 3, "notes.txt": 4}),
        files("b", {TWO: 2}),
    ]
    table.own(time, Action.COMMIT, files=[table.base(time, compacted)])
    assert listed(table) == {"a": [ONE], "b": [TWO]}


def test_log_files_of_version_6_are_listed_whatever_instant_is_in_their_names(
    older: SmallMetadataTable,
) -> None:
    name = f".f0_{T4}.log.1_0-1-2"
    write(older, T3, files("a", {name: 3}))
    assert listed(older)["a"] == [name, ONE]


def test_log_files_of_later_versions_are_listed_if_their_instant_is_completed(
    newer: SmallMetadataTable,
) -> None:
    names = {f".f0_{T3}.log.1_0-1-2": 3, f".f0_{T4}.log.1_0-1-2": 3}
    write(newer, T3, files("a", names))
    assert listed(newer)["a"] == [f".f0_{T3}.log.1_0-1-2", ONE]


def test_a_write_that_began_after_the_timeline_was_loaded_is_not_in_the_listing(
    table: SmallMetadataTable,
) -> None:
    timeline = table.timeline
    write(table, T3, all_partitions("c"), files("a", {ONE: None, THREE: 3}), files("c", {}))
    outcome = list_from_metadata_table(table.storage, table.config, timeline, FixedClock())
    assert isinstance(outcome, ListedTable)
    assert {path: [f.name for f in found] for path, found in outcome.files.items()} == {
        "a": [ONE],
        "b": [TWO],
    }


def test_archived_instants_of_the_table_need_no_delta_commit(newer: SmallMetadataTable) -> None:
    """The table's first write was archived. From version 8 on, its delta commit is nevertheless valid."""
    folder = newer.version.layout.timeline_folder
    for stored in list(newer.storage.list_files(folder)):
        if stored.name.startswith(T1):
            newer.storage.delete(stored.path)
    assert listed(newer) == {"a": [ONE], "b": [TWO]}


def test_a_delta_commit_that_repairs_after_a_restore_is_accepted(newer: SmallMetadataTable) -> None:
    newer.storage.write(f"{newer.version.layout.timeline_folder}/{T3}_{T4}.restore", b"{}")
    repair = moment(35)
    newer.own(repair, files=[log(newer, repair, newer.records(repair, files("b", {TWO: None})))])
    assert listed(newer) == {"a": [ONE], "b": []}


def test_savepoints_rollbacks_and_restores_of_the_table_need_no_delta_commit(
    table: SmallMetadataTable,
) -> None:
    table.data(T2, Action.SAVEPOINT)
    table.data(T3, Action.ROLLBACK)
    table.data(T4, Action.RESTORE)
    assert listed(table) == {"a": [ONE], "b": [TWO]}


def test_writes_before_the_metadata_table_was_built_need_no_delta_commit(newer: SmallMetadataTable) -> None:
    newer.data("20250101000000000")
    assert listed(newer) == {"a": [ONE], "b": [TWO]}


def test_in_version_6_writes_before_the_metadata_table_was_built_need_no_delta_commit() -> None:
    made = SmallMetadataTable(V6)
    initial = f"{T1}010"
    made.data(T1)
    made.own(initial, files=[made.base(initial, [all_partitions("a"), files("a", {ONE: 1})])])
    assert listed(made) == {"a": [ONE]}
    made.data(T2)
    assert T2 in refused(made, Reason.BEHIND).message


# ------------------------------------------------------------------ refusals


def test_a_listing_is_refused_if_the_properties_do_not_list_the_partition_files() -> None:
    made = SmallMetadataTable(V9, "column_stats")
    made.data(T1)
    refused(made, Reason.NOT_LISTED)


def test_a_listing_is_refused_while_the_partition_files_is_being_built(table: SmallMetadataTable) -> None:
    config = table.config
    properties = {**config.properties, "hoodie.table.metadata.partitions.inflight": "files"}
    outcome = list_from_metadata_table(table.storage, type(config)(properties), table.timeline, FixedClock())
    assert isinstance(outcome, UnusableMetadataTable)
    assert outcome.reason is Reason.BEING_BUILT


def test_a_listing_without_a_metadata_table_is_refused(table: SmallMetadataTable) -> None:
    table.storage.delete_folder(METADATA_TABLE)
    refused(table, Reason.ABSENT)


def test_a_listing_without_the_folder_of_the_partition_files_is_refused(table: SmallMetadataTable) -> None:
    table.storage.delete_folder(f"{METADATA_TABLE}/files")
    refused(table, Reason.DAMAGED)


@pytest.mark.parametrize("action", [Action.COMMIT, Action.REPLACE_COMMIT, Action.CLEAN])
def test_a_write_or_clean_that_the_metadata_table_lacks_is_noticed(
    table: SmallMetadataTable, action: Action
) -> None:
    table.data(T3, action)
    assert T3 in refused(table, Reason.BEHIND).message


def test_a_write_whose_delta_commit_is_pending_is_noticed(table: SmallMetadataTable) -> None:
    log(table, T3, table.records(T3, files("a", {THREE: 3})))
    table.own(T3, pending=True)
    table.data(T3)
    refused(table, Reason.BEHIND)


def test_a_delta_commit_whose_instant_the_table_does_not_have_is_noticed(table: SmallMetadataTable) -> None:
    write(table, T4, files("a", {THREE: 3}))
    table.own(T3, files=[log(table, T3, table.records(T3, files("a", {ONE: None})))])
    assert T3 in refused(table, Reason.AHEAD).message


def test_in_version_6_a_compacted_write_may_be_archived(older: SmallMetadataTable) -> None:
    compacted = [all_partitions("a", "b"), files("a", {ONE: 1}), files("b", {TWO: 2})]
    older.own(f"{T2}001", Action.COMMIT, files=[older.base(f"{T2}001", compacted)])
    older.storage.delete(f".hoodie/{T1}.commit")
    assert listed(older) == {"a": [ONE], "b": [TWO]}


def test_in_version_6_an_archived_write_that_was_not_compacted_is_noticed(older: SmallMetadataTable) -> None:
    older.storage.delete(f".hoodie/{T1}.commit")
    refused(older, Reason.AHEAD)


def test_a_lost_log_file_is_noticed(table: SmallMetadataTable) -> None:
    name = write(table, T3, files("a", {THREE: 3}))
    table.storage.delete(f"{METADATA_TABLE}/files/{name}")
    assert name in refused(table, Reason.DAMAGED).message


def test_a_lost_base_file_is_noticed(table: SmallMetadataTable) -> None:
    time = f"{T2}001" if table.version is V6 else T3
    name = table.base(time, [all_partitions()])
    table.own(time, Action.COMMIT, files=[name])
    assert listed(table) == {}
    table.storage.delete(f"{METADATA_TABLE}/files/{name}")
    assert name in refused(table, Reason.DAMAGED).message


def test_a_compaction_of_one_file_group_is_not_read_again(table: SmallMetadataTable) -> None:
    time = f"{T2}001" if table.version is V6 else T3
    name = table.base(time, [all_partitions()])
    table.own(time, Action.COMMIT, files=[name])
    present = table.open().storage.list_folder("files").files
    found = completeness.expected_files(table.open(), "files", present)
    assert [file.name for file in found if not file.is_log] == [name]
    path = next(f.path for f in table.storage.list_files(own_timeline(table)) if f.name.endswith(".commit"))
    table.storage.write(path, b"not commit metadata")
    assert completeness.expected_files(table.open(), "files", present) == found


def test_with_several_file_groups_every_base_file_of_a_compaction_is_expected(
    table: SmallMetadataTable,
) -> None:
    time = f"{T2}001" if table.version is V6 else T3
    names = [table.base(time, [all_partitions()], number=number) for number in range(2)]
    table.own(time, Action.COMMIT, files=names)
    table.storage.delete(f"{METADATA_TABLE}/files/{names[0]}")
    present = table.open().storage.list_folder("files").files
    found = completeness.expected_files(table.open(), "files", present)
    assert completeness.lost_files(found, present) == [names[0]]


def test_a_log_file_that_is_truncated_between_two_blocks_is_noticed(table: SmallMetadataTable) -> None:
    kept = table.records(T3, files("a", {}))
    name = log(table, T3, kept, table.deletes(T3, "b"))
    table.write(T3, name)
    table.storage.write(f"{METADATA_TABLE}/files/{name}", kept)
    assert name in refused(table, Reason.DAMAGED).message


def test_a_log_file_that_has_no_block_of_its_write_is_noticed(older: SmallMetadataTable) -> None:
    older.write(T3, log(older, T3, older.records(T4, files("a", {THREE: 3}))))
    assert T3 in refused(older, Reason.DAMAGED).message


def test_a_damaged_log_file_is_noticed(table: SmallMetadataTable) -> None:
    name = write(table, T3, files("a", {THREE: 3}))
    path = f"{METADATA_TABLE}/files/{name}"
    content = bytearray(table.storage.read(path))
    content[-1] ^= 1
    table.storage.write(path, bytes(content))
    assert refused(table, Reason.DAMAGED).path == path


def test_an_unknown_kind_of_block_is_refused(table: SmallMetadataTable) -> None:
    block = LogBlock(block_type=BlockType.PARQUET_DATA, headers={0: T3}, content=b"PAR1")
    table.write(T3, log(table, T3, encode_block(block)))
    refused(table, Reason.UNSUPPORTED)


def test_a_codec_that_is_not_supported_is_refused(table: SmallMetadataTable) -> None:
    path = next(
        f.path for f in table.storage.list_files(f"{METADATA_TABLE}/files") if f.name.endswith(".hfile")
    )
    content = table.storage.read(path)
    # Field 12 of the trailer is the codec: 1 is gzip, 4 is LZ4.
    before, found, behind = content.rpartition(b"\x60\x01")
    assert found
    table.storage.write(path, before + b"\x60\x04" + behind)
    refused(table, Reason.UNSUPPORTED)


def test_commit_metadata_that_cannot_be_read_is_noticed(table: SmallMetadataTable) -> None:
    path = next(f.path for f in table.storage.list_files(own_timeline(table)) if f.name.startswith(T2))
    table.storage.write(path, b"not commit metadata")
    assert refused(table, Reason.DAMAGED).path == path


def test_an_empty_completed_instant_is_noticed(table: SmallMetadataTable) -> None:
    path = next(f.path for f in table.storage.list_files(own_timeline(table)) if f.name.startswith(T2))
    table.storage.write(path, b"")
    assert refused(table, Reason.DAMAGED).path == path


def test_a_partition_without_a_list_of_files_is_noticed(table: SmallMetadataTable) -> None:
    write(table, T3, all_partitions("c"))
    assert "partitions c but does not list" in refused(table, Reason.DAMAGED).message


def test_a_list_of_files_of_an_unknown_partition_is_noticed(table: SmallMetadataTable) -> None:
    write(table, T3, files("c", {THREE: 3}))
    assert "lists files of c" in refused(table, Reason.DAMAGED).message


def test_a_missing_record_of_all_partitions_is_noticed(table: SmallMetadataTable) -> None:
    table.write(T3, log(table, T3, table.deletes(T3, "__all_partitions__")))
    assert "no record of all partitions" in refused(table, Reason.DAMAGED).message


def test_a_record_of_another_type_is_noticed(table: SmallMetadataTable) -> None:
    write(table, T3, location("c", "f"))
    assert "RECORD_INDEX" in refused(table, Reason.DAMAGED).message


@pytest.mark.parametrize(
    ("path", "name"), [("a", "../x"), ("a", ".."), ("../a", ONE), (".hoodie/x", ONE), ("/a", ONE)]
)
def test_a_path_outside_of_the_table_is_refused(table: SmallMetadataTable, path: str, name: str) -> None:
    write(table, T3, all_partitions(path), files(path, {name: 1}))
    assert "invalid path" in refused(table, Reason.DAMAGED).message


def test_a_second_file_group_of_the_partition_files_is_noticed(table: SmallMetadataTable) -> None:
    table.base(FIRST, [], number=1)
    assert "2 file groups" in refused(table, Reason.DAMAGED).message


def test_a_file_that_vanishes_during_the_reading_is_reported_as_a_change(
    table: SmallMetadataTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = MemoryStorage.read

    def read(self: MemoryStorage, path: str) -> bytes:
        if ".log." in path:
            self.delete(path)
        return original(self, path)

    monkeypatch.setattr(MemoryStorage, "read", read)
    refused(table, Reason.CHANGED)


def test_other_failures_of_the_storage_are_raised(
    table: SmallMetadataTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeline, config = table.timeline, table.config

    def read(self: MemoryStorage, path: str) -> bytes:
        raise StorageError("the storage does not answer")

    monkeypatch.setattr(MemoryStorage, "read", read)
    with pytest.raises(StorageError):
        list_from_metadata_table(table.storage, config, timeline, FixedClock())
