"""Laws of the changes of the partition `files`: applied in turn, they list exactly the files of the table."""

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.hudi_format.metadata_table.keys import ALL_PARTITIONS, files_key
from hudi_table_services.model.metadata_table import (
    DeletedKey,
    ListedFile,
    Listing,
    MetadataChange,
    MetadataRecord,
    RecordType,
)
from hudi_table_services.model.table_service_plans import (
    CleanMetadata,
    CleanPartition,
    RollbackMetadata,
    RollbackPartition,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.metadata_table.file_records import (
    clean_changes,
    cleaned_files,
    repair_changes,
    rollback_changes,
    write_changes,
)

WRITABLE = (TableVersion.V6, TableVersion.V8, TableVersion.V9)
Lists = dict[str, dict[str, int]]

paths = st.sampled_from(["", "a", "b=1/c=2", "ä", "z"])
names = st.sampled_from([f"f{number}-0_0-1-2_2026010203040500{number}.parquet" for number in range(6)])
sizes = st.integers(1, 1 << 40)
listings = st.dictionaries(paths, st.dictionaries(names, sizes, min_size=1), max_size=4)
versions = st.sampled_from(WRITABLE)


def applied(lists: Lists, changes: Iterable[MetadataChange]) -> Lists:
    """Return the lists that readers see after a commit. Readers apply the records first, and then the deleted keys."""
    after = {path: dict(files) for path, files in lists.items()}
    partitions = set(lists)
    ordered = sorted(changes, key=lambda change: isinstance(change, DeletedKey))
    for change in ordered:
        if isinstance(change, DeletedKey):
            after = {path: files for path, files in after.items() if files_key(path) != change.key}
            continue
        assert isinstance(change.payload, Listing)
        for name, file in change.payload.files.items():
            if change.key == ALL_PARTITIONS:
                path = "" if name == "." else name
                (partitions.discard if file.is_deleted else partitions.add)(path)
                continue
            files = after.setdefault("" if change.key == "." else change.key, {})
            if file.is_deleted:
                files.pop(name, None)
            else:
                files[name] = max(file.size_bytes, files.get(name, 0))
    return {path: files for path, files in after.items() if path in partitions}


def commit(files: Lists) -> CommitMetadata:
    stats = {
        path: tuple(
            WriteStat(
                file_id="f",
                partition_path=path,
                path=f"{path}/{name}" if path else name,
                file_size_bytes=size,
            )
            for name, size in listed.items()
        )
        for path, listed in files.items()
    }
    return CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats=stats)


def clean(files: Lists, removed: Iterable[str] = ()) -> CleanMetadata:
    partitions = {
        path: CleanPartition(
            partition_path=path,
            policy="KEEP_LATEST_COMMITS",
            delete_path_patterns=tuple(listed),
            deleted_files=tuple(listed),
            is_partition_deleted=path in removed,
        )
        for path, listed in files.items()
    }
    return CleanMetadata(
        start_clean_time="20260102030405001", time_taken_ms=1, total_files_deleted=1, partitions=partitions
    )


def records(changes: Iterable[MetadataChange]) -> Iterator[MetadataRecord]:
    return (change for change in changes if isinstance(change, MetadataRecord))


@given(listings, listings)
def test_a_write_adds_its_files_to_the_lists(before: Lists, new: Lists) -> None:
    after = applied(before, write_changes(commit(new)))
    for path in before.keys() | new.keys():
        older = before.get(path, {})
        expected = older | {n: max(s, older.get(n, 0)) for n, s in new.get(path, {}).items()}
        assert after[path] == expected
    assert after.keys() == before.keys() | new.keys()


@given(listings)
def test_the_records_of_a_write_do_not_depend_on_the_order_of_its_stats(files: Lists) -> None:
    turned = {path: dict(reversed(listed.items())) for path, listed in reversed(files.items())}
    assert [*write_changes(commit(files))] == [*write_changes(commit(turned))]


@given(listings)
def test_a_write_has_one_record_per_key_and_names_each_touched_partition(files: Lists) -> None:
    found = list(records(write_changes(commit(files))))
    assert [r.key for r in found] == [ALL_PARTITIONS, *(files_key(path) for path in sorted(files))]
    assert found[0].record_type is RecordType.ALL_PARTITIONS
    assert found[0].payload == Listing({files_key(path): ListedFile(0) for path in files})
    assert {r.record_type for r in found[1:]} <= {RecordType.FILES}


def test_the_deletion_of_partitions_has_an_empty_list_of_partitions_and_nothing_else() -> None:
    metadata = CommitMetadata(
        operation_type=WriteOperation.DELETE_PARTITION,
        partition_to_write_stats={},
        partition_to_replace_file_ids={"a": ("f",)},
    )
    assert [*write_changes(metadata)] == [
        MetadataRecord(key=ALL_PARTITIONS, record_type=RecordType.ALL_PARTITIONS, payload=Listing({}))
    ]


def test_the_greater_of_two_sizes_of_one_file_counts_and_stats_without_a_file_are_skipped() -> None:
    stats = [
        WriteStat(file_id="f", partition_path="a", path="a/.f_1.log.1", file_size_bytes=size)
        for size in (7, 9, 8)
    ]
    empty = WriteStat(file_id="g", partition_path="b", path="")
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT, partition_to_write_stats={"a": tuple(stats), "b": (empty,)}
    )
    assert applied({}, write_changes(metadata)) == {"a": {".f_1.log.1": 9}}


@given(listings, st.data(), versions)
def test_a_clean_removes_exactly_its_files_from_the_lists(
    before: Lists, data: st.DataObject, version: TableVersion
) -> None:
    chosen: Lists = {
        path: {name: size for name, size in files.items() if data.draw(st.booleans())}
        for path, files in before.items()
    }
    removed = {path for path in before if chosen[path] == before[path] and path}
    after = applied(before, clean_changes(clean(chosen, removed), version))
    expected = {
        path: {name: size for name, size in files.items() if name not in chosen[path]}
        for path, files in before.items()
        if path not in removed
    }
    assert after == expected


@pytest.mark.parametrize("version", WRITABLE)
def test_a_removed_partition_is_listed_as_deleted_and_from_version_9_on_its_list_is_deleted(
    version: TableVersion,
) -> None:
    changes = [*clean_changes(clean({"a": {"f": 1}}, removed=["a"]), version)]
    assert [c for c in changes if isinstance(c, DeletedKey)] == (
        [DeletedKey("a")] if version is TableVersion.V9 else []
    )
    everything = [r for r in records(changes) if r.key == ALL_PARTITIONS]
    assert [r.payload for r in everything] == [Listing({"a": ListedFile(0, is_deleted=True)})]


def test_a_file_that_a_clean_could_not_delete_is_not_listed_any_more() -> None:
    partition = CleanPartition(
        partition_path="a",
        policy="p",
        delete_path_patterns=("f", "g"),
        deleted_files=("f",),
        failed_files=("g",),
    )
    metadata = CleanMetadata(
        start_clean_time="1", time_taken_ms=1, total_files_deleted=1, partitions={"a": partition}
    )
    assert cleaned_files(metadata) == (("a", ("f", "g")),)
    after = applied({"a": {"f": 1, "g": 2, "h": 3}}, clean_changes(metadata, TableVersion.V9))
    assert after == {"a": {"h": 3}}


@given(listings, listings, versions)
def test_a_repair_makes_the_lists_equal_to_the_folders(
    listed: Lists, present: Lists, version: TableVersion
) -> None:
    changes = [*repair_changes(listed, present, version)]
    keys = [r.key for r in records(changes)]
    assert len(keys) == len(set(keys))
    after = applied(listed, changes)
    assert after.keys() == present.keys()
    for path, files in present.items():
        assert after[path].keys() == files.keys()
        for name, size in files.items():
            assert after[path][name] == max(size, listed.get(path, {}).get(name, 0))


@given(listings, versions)
def test_equal_lists_need_no_repair(files: Lists, version: TableVersion) -> None:
    assert [*repair_changes(files, files, version)] == []


@pytest.mark.parametrize("version", WRITABLE)
def test_a_rollback_lists_only_log_files_with_rollback_blocks_and_only_in_version_6(
    version: TableVersion,
) -> None:
    path = "s3://bucket/t/a/.f_20260102030405001.log.2_1-0-1"
    partitions = {
        "a": RollbackPartition(
            partition_path="a", deleted_files=("s3://bucket/t/a/f.parquet",), rollback_log_files={path: 105}
        ),
        "b": RollbackPartition(partition_path="b", deleted_files=("s3://bucket/t/b/g.parquet",)),
    }
    metadata = RollbackMetadata(
        start_rollback_time="1",
        time_taken_ms=1,
        total_files_deleted=2,
        commits_rolled_back=("0",),
        partitions=partitions,
    )
    found = [*rollback_changes(metadata, version)]
    expected = Listing({".f_20260102030405001.log.2_1-0-1": ListedFile(105)})
    if version is TableVersion.V6:
        assert [(r.key, r.payload) for r in records(found)] == [("a", expected)]
    else:
        assert found == []
