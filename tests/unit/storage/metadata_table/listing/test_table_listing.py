"""A listing of a table from its metadata table."""

from small_listings import ONE, T1, T2, T3, T4, THREE, TWO, V6, listed, log, outcome_of, refused, write

from hudi_table_services.model.instant import Action
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.metadata_table.unusable import Reason
from hudi_table_services.storage.stores.storage import StoredObject
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import SmallMetadataTable, all_partitions, files, moment


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


def test_in_version_6_a_compacted_write_may_be_archived(older: SmallMetadataTable) -> None:
    compacted = [all_partitions("a", "b"), files("a", {ONE: 1}), files("b", {TWO: 2})]
    older.own(f"{T2}001", Action.COMMIT, files=[older.base(f"{T2}001", compacted)])
    older.storage.delete(f".hoodie/{T1}.commit")
    assert listed(older) == {"a": [ONE], "b": [TWO]}
