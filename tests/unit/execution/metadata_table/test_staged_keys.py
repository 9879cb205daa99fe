"""Keys that tasks stage are read back as changes of the file groups of the record index."""

import pickle
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.execution.metadata_table import staged_keys
from hudi_table_services.execution.metadata_table.key_changes import KeyChanges, StagedKeysReader
from hudi_table_services.execution.metadata_table.staged_keys import (
    KeyStager,
    KeyStaging,
    StagedKeys,
)
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage

FOLDER = ".hoodie/.aux/staging/job"
KEYS = st.lists(st.text(max_size=3), max_size=12)


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


def column(*chunks: list[str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())


def group_id(name: str) -> FileGroupId:
    return FileGroupId("p", name)


def stage(
    storage: Storage, name: str, new: list[list[str]], deleted: list[list[str]], group_count: int = 3
) -> list[StagedKeys]:
    """Stage new and deleted keys as a task does. Returns the task's description of them; without keys, an empty list.

    Each inner list of keys becomes a chunk of one column.
    """
    with KeyStager(storage, KeyStaging(FOLDER, group_count), group_id(name)) as stager:
        stager.add_new(column(*new))
        stager.add_deleted(column(*deleted))
        found = stager.close()
    return [] if found is None else [found]


def joined(reader: StagedKeysReader, group_count: int) -> tuple[dict[str, str], set[str]]:
    """Return the place of each new key, and the deleted keys, of all file groups.

    The function also checks that the keys of each file group are sorted and belong to this file group.
    """
    places: dict[str, str] = {}
    deleted: set[str] = set()
    for group in range(group_count):
        changes = reader.changes(group, group_count)
        new_keys, deletions = [key for key, _ in changes.locations()], list(changes.deletions())
        for keys in (new_keys, deletions):
            assert keys == sorted(set(keys), key=str.encode)
            assert {file_group_of(key, group_count) for key in keys} <= {group}
        places |= {key: found.file_id for key, found in changes.locations()}
        deleted |= set(deletions)
    return places, deleted


@given(
    st.lists(st.tuples(st.lists(KEYS, max_size=2), st.lists(KEYS, max_size=2)), max_size=4),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([0, 900, 1 << 20]),
)
def test_staged_keys_are_read_back_for_each_file_group_of_the_index(
    tasks: list[tuple[list[list[str]], list[list[str]]]], staged_count: int, group_count: int, cached: int
) -> None:
    storage = MemoryStorage(uuid4().hex)
    staged: list[StagedKeys] = []
    places: dict[str, str] = {}
    deleted: set[str] = set()
    for number, (new, gone) in enumerate(tasks):
        staged += stage(storage, f"f{number}", new, gone, staged_count)
        places |= {key: f"f{number}" for chunk in new for key in chunk}
        deleted |= {key for chunk in gone for key in chunk}
    reader = StagedKeysReader(storage, staged, cached)
    assert joined(reader, group_count) == (places, deleted - places.keys())


def test_a_row_that_moves_has_a_new_place_and_is_not_deleted(storage: Storage) -> None:
    old = stage(storage, "old", [], [["moves", "goes"]])
    new = stage(storage, "new", [["moves", "comes"]], [])
    expected = ({"moves": "new", "comes": "new"}, {"goes"})
    assert joined(StagedKeysReader(storage, [*old, *new]), 3) == expected
    assert joined(StagedKeysReader(storage, [*new, *old]), 3) == expected


def test_staged_keys_are_described_by_counts_path_and_size(storage: Storage) -> None:
    (found,) = stage(storage, "f", [["a", "b"], ["c"]], [["d"]])
    assert (found.new_count, found.deleted_count, found.group_count) == (3, 1, 3)
    assert found.file_group_id == group_id("f")
    assert found.size_bytes == storage.size(found.path)
    assert found.path.startswith(f"{FOLDER}/keys-")


def test_nothing_is_written_without_keys_or_if_no_keys_are_wanted(storage: Storage) -> None:
    assert stage(storage, "f", [[]], []) == []
    with KeyStager(storage, None, group_id("f")) as stager:
        stager.add_new(column(["a"]))
        stager.add_deleted(column(["b"]))
        assert stager.close() is None
    assert list(storage.list_files()) == []
    assert joined(StagedKeysReader(storage, []), 2) == ({}, set())
    assert StagedKeysReader(storage, []).changes(0, 1).is_empty


def fail_after_staging(storage: Storage, is_closed: bool) -> None:
    with KeyStager(storage, KeyStaging(FOLDER, 2), group_id("f")) as stager:
        stager.add_new(column(["a"]))
        if is_closed:
            assert stager.close() is not None
        raise ValueError("no space")


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_failed_task_deletes_its_staged_file(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, is_closed: bool
) -> None:
    monkeypatch.setattr(staged_keys, "_BUFFERED_BYTES", 1)
    with pytest.raises(ValueError, match="no space"):
        fail_after_staging(storage, is_closed)
    assert list(storage.list_files()) == []


def test_only_files_within_the_limit_are_kept_in_memory(storage: Storage) -> None:
    (staged,) = stage(storage, "f", [["a"]], [], 1)
    kept = StagedKeysReader(storage, [staged], cached_bytes=staged.size_bytes)
    not_kept = StagedKeysReader(storage, [staged], cached_bytes=staged.size_bytes - 1)
    storage.delete(staged.path)
    assert joined(kept, 1) == ({"a": "f"}, set())
    with pytest.raises(ObjectNotFoundError):
        not_kept.changes(0, 1)


def test_many_keys_are_written_in_batches_of_bounded_size_and_their_pickled_description_is_small(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged_keys, "_BUFFERED_BYTES", 1 << 20)
    keys = [f"key-{number:09d}" for number in range(200_000)]
    slices = [keys[start : start + 50_000] for start in range(0, len(keys), 50_000)]
    with KeyStager(storage, KeyStaging(FOLDER, 10), group_id("f")) as stager:
        for part in slices:
            stager.add_new(column(part))
        staged = stager.close()
    assert staged is not None
    assert len(staged.batch_groups) > 10
    assert len(pickle.dumps(staged)) < 600
    reader = StagedKeysReader(storage, [staged])
    changes = [reader.changes(group, 10) for group in range(10)]
    assert sorted(key for found in changes for key, _ in found.locations()) == keys
    assert sum(map(arrow_bytes, changes)) < 30 * len(keys)


def arrow_bytes(changes: KeyChanges) -> int:
    return int(changes.new_keys.nbytes + changes.places.nbytes + changes.deleted_keys.nbytes)


def test_keys_of_a_partitioned_index_are_divided_among_the_file_groups_of_their_partition(
    storage: Storage,
) -> None:
    staging = KeyStaging(FOLDER, 2, {"q": 3})
    keys = [f"key-{number}" for number in range(30)]
    staged = []
    for partition in ("p", "q", "new"):
        with KeyStager(storage, staging, FileGroupId(partition, f"f-{partition}")) as stager:
            stager.add_new(column(keys))
            found = stager.close()
        assert found is not None
        staged.append(found)
    assert [each.group_count for each in staged] == [2, 3, 2]
    readers = StagedKeysReader(storage, staged).by_partition()
    assert sorted(readers) == ["new", "p", "q"]
    for partition, reader in readers.items():
        expected = dict.fromkeys(keys, f"f-{partition}")
        assert joined(reader, staging.group_count_of(partition)) == (expected, set())
        assert joined(reader, 5) == (expected, set())


@pytest.mark.parametrize("cached_bytes", [0, 1 << 20])
def test_a_row_that_moves_between_partitions_is_deleted_in_one_and_new_in_the_other(
    storage: Storage, cached_bytes: int
) -> None:
    staging, staged = KeyStaging(FOLDER, 2), []
    for partition, new, deleted in (("p", [], ["k"]), ("q", ["k"], [])):
        with KeyStager(storage, staging, FileGroupId(partition, f"f-{partition}")) as stager:
            stager.add_new(column(new))
            stager.add_deleted(column(deleted))
            staged.append(stager.close())
    readers = StagedKeysReader(storage, [each for each in staged if each], cached_bytes).by_partition()
    assert joined(readers["p"], 2) == ({}, {"k"})
    assert joined(readers["q"], 2) == ({"k": "f-q"}, set())
