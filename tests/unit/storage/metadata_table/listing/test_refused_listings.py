"""The reasons for which a listing from the metadata table is refused."""

import pytest
from small_listings import ONE, T1, T2, T3, T4, THREE, V6, V9, listed, log, own_timeline, refused, write

from hudi_table_services.errors import StorageError
from hudi_table_services.hudi_format.log_blocks import BlockType, LogBlock, encode_block
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.metadata_table import completeness
from hudi_table_services.storage.metadata_table.table_listing import list_from_metadata_table
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import (
    FIRST,
    SmallMetadataTable,
    all_partitions,
    files,
    location,
)


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


def test_a_delta_commit_whose_instant_is_missing_from_the_table_is_noticed(table: SmallMetadataTable) -> None:
    write(table, T4, files("a", {THREE: 3}))
    table.own(T3, files=[log(table, T3, table.records(T3, files("a", {ONE: None})))])
    assert T3 in refused(table, Reason.AHEAD).message


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
    assert "without a list of files: c." in refused(table, Reason.DAMAGED).message


def test_a_list_of_files_of_an_unknown_partition_is_noticed(table: SmallMetadataTable) -> None:
    write(table, T3, files("c", {THREE: 3}))
    assert "without naming them: c." in refused(table, Reason.DAMAGED).message


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
