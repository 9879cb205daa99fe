"""A delta commit of a partitioned record index creates, fills and empties file groups of the partitions of a table."""

from collections.abc import Mapping, Sequence
from uuid import uuid4

import pyarrow as pa
import pytest

from hudi_table_services.commits.metadata_table.delta_commit import prepare_delta_commit, write_delta_commit
from hudi_table_services.commits.metadata_table.key_logs import KeyChangesOfGroups
from hudi_table_services.commits.metadata_table.partitioned_key_logs import (
    PartitionedKeyChanges,
    partitioned_key_staging,
)
from hudi_table_services.commits.metadata_table.undo import undo_delta_commit
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.execution.metadata_table.key_changes import StagedKeysReader
from hudi_table_services.execution.metadata_table.staged_keys import KeyStager, StagedKeys
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import RecordLocation
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.metadata_table.small_metadata_tables import FIRST, SmallMetadataTable, files, moment

T1, T2, T3 = (moment(number) for number in (10, 20, 30))
FOLDER = f"{METADATA_TABLE}/{RECORD_INDEX}"
KEYS = [f"key-{number}" for number in range(12)]


@pytest.fixture
def table() -> SmallMetadataTable:
    """An empty table with a partitioned record index, which has no file group yet."""
    made = SmallMetadataTable(TableVersion.V9, partitions=f"{FILES},{RECORD_INDEX}")
    made.base(FIRST, [files("__all_partitions__", {})])
    made.own(FIRST)
    return made


def file_id(partition: str) -> str:
    return f"00000000-0000-0000-0000-{sum(map(ord, partition)):012d}-0"


def staged(
    table: SmallMetadataTable,
    new: Mapping[str, Sequence[str]],
    deleted: Mapping[str, Sequence[str]],
    groups: int,
) -> list[StagedKeys]:
    """Keys that a write adds to one file group of each partition, and deletes from it."""
    slices = partition_slices(table.open(), RECORD_INDEX)
    staging = partitioned_key_staging(f".hoodie/staging-{uuid4().hex}", slices, groups)
    found = []
    for path in {*new, *deleted}:
        with KeyStager(table.storage, staging, FileGroupId(path, file_id(path))) as stager:
            stager.add_new(pa.chunked_array([pa.array(new.get(path, ()), pa.string())]))
            stager.add_deleted(pa.chunked_array([pa.array(deleted.get(path, ()), pa.string())]))
            found.append(stager.close())
    return [each for each in found if each is not None]


def commit(
    table: SmallMetadataTable,
    time: str,
    new: Mapping[str, Sequence[str]],
    deleted: Mapping[str, Sequence[str]] | None = None,
    *,
    groups: int = 1,
    prev_commit: str = NEW_FILE_GROUP,
) -> None:
    """Write a delta commit of a write, and complete the write."""
    keys = PartitionedKeyChanges(
        reader=StagedKeysReader(table.storage, staged(table, new, deleted or {}, groups)),
        metadata=written(new, prev_commit),
        new_partition_groups=groups,
        instant_millis=1,
    )
    table.data(time, pending=True)
    write_delta_commit(table.open(), prepare_delta_commit(table.open(), time, {}, keys))
    table.data(time)


def written(new: Mapping[str, Sequence[str]], prev_commit: str) -> CommitMetadata:
    return CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats={
            path: (WriteStat(file_id=file_id(path), partition_path=path, path="f", prev_commit=prev_commit),)
            for path in new
        },
    )


def records(table: SmallMetadataTable) -> dict[str, set[str]]:
    """Map each partition of the table to the keys whose records name this partition."""
    found: dict[str, set[str]] = {}
    for record in table.reader(RECORD_INDEX).records():
        assert isinstance(record.payload, RecordLocation)
        assert record.payload.file_id == file_id(record.payload.partition_path)
        found.setdefault(record.payload.partition_path, set()).add(record.key)
    return found


def logs(table: SmallMetadataTable, time: str) -> list[str]:
    names = (stored.name for stored in table.storage.list_folder(FOLDER).files)
    return sorted(name for name in names if f"_{time}.log." in name)


def test_the_first_write_to_a_partition_creates_its_file_groups(table: SmallMetadataTable) -> None:
    commit(table, T1, {"a": KEYS[:3], "b/1": KEYS}, groups=2)
    assert records(table) == {"a": set(KEYS[:3]), "b/1": set(KEYS)}
    ids = [found.file_group_id.file_id for found in partition_slices(table.open(), RECORD_INDEX)]
    assert ids == [f"record-index-{path}-000{n}-0" for path in ("a", "b%2F1") for n in range(2)]
    used = {("a", file_group_of(key, 2)) for key in KEYS[:3]} | {("b%2F1", n) for n in range(2)}
    expected = [f".{each}_{T1}.log.1_0-0-0" for each in ids]
    expected += [f".record-index-{path}-000{n}-0_{T1}.log.1_0-1-0" for path, n in used]
    assert logs(table, T1) == sorted(expected)


def test_later_writes_use_the_file_groups_that_exist(table: SmallMetadataTable) -> None:
    commit(table, T1, {"a": KEYS[:3]}, groups=2)
    commit(table, T2, {"a": KEYS[3:], "b": KEYS[:1]}, {"a": KEYS[:1]}, groups=3, prev_commit=NEW_FILE_GROUP)
    assert records(table) == {"a": set(KEYS[1:]), "b": {KEYS[0]}}
    slices = partition_slices(table.open(), RECORD_INDEX)
    ids = [found.file_group_id.file_id for found in slices]
    assert ids == [f"record-index-a-000{n}-0" for n in range(2)] + [
        f"record-index-b-000{n}-0" for n in range(3)
    ]


def test_a_deleted_key_of_one_partition_stays_in_the_others(table: SmallMetadataTable) -> None:
    commit(table, T1, {"a": KEYS, "b": KEYS})
    commit(table, T2, {}, {"a": KEYS, "gone": KEYS})
    assert records(table) == {"b": set(KEYS)}
    assert logs(table, T2) == [f".record-index-a-0000-0_{T2}.log.1_0-1-0"]


def test_undoing_a_delta_commit_removes_its_file_groups(table: SmallMetadataTable) -> None:
    commit(table, T1, {"a": KEYS})
    commit(table, T2, {"b": KEYS})
    assert undo_delta_commit(table.open(), T2)
    assert logs(table, T2) == []
    assert records(table) == {"a": set(KEYS)}


def test_first_log_files_of_an_undone_write_are_replaced(table: SmallMetadataTable) -> None:
    commit(table, T1, {"a": KEYS})
    left = f".record-index-b-0000-0_{T2}.log.1_0-0-0"
    other = f".record-index-c-0000-0_{T2}.log.1_0-0-0"
    for name in (left, other):
        table.storage.write(f"{FOLDER}/{name}", table.storage.read(f"{FOLDER}/{logs(table, T1)[0]}"))
    commit(table, T3, {"b": KEYS[:2]})
    assert logs(table, T2) == [other]
    assert records(table) == {"a": set(KEYS), "b": set(KEYS[:2])}


def test_a_partition_with_files_but_without_file_groups_is_an_error(table: SmallMetadataTable) -> None:
    commit(table, T1, {"a": KEYS})
    before = sorted(stored.path for stored in table.storage.list_files(METADATA_TABLE))
    with pytest.raises(CorruptTableError, match="no file groups for the partition 'b'"):
        commit(table, T2, {"b": KEYS}, prev_commit=T1)
    assert sorted(stored.path for stored in table.storage.list_files(METADATA_TABLE)) == before


def test_a_commit_for_the_other_kind_of_record_index_is_an_error(table: SmallMetadataTable) -> None:
    commit(table, T1, {"a": KEYS})
    reader = StagedKeysReader(table.storage, [])
    whole = KeyChangesOfGroups(reader=reader, instant_millis=1)
    with pytest.raises(
        CorruptTableError, match="has file groups for the whole table, but 'record-index-a-0000-0'"
    ):
        prepare_delta_commit(table.open(), T2, {}, whole)
    table.base(FIRST, [], partition=RECORD_INDEX)
    with pytest.raises(CorruptTableError, match="for each partition of the table, but 'record-index-0000-0'"):
        commit(table, T2, {"a": KEYS})
