"""A job on a table whose metadata table lost a file: no compaction hides the loss, and a rebuild cures it."""

from dataclasses import replace
from uuid import UUID

import pytest
from damaged_metadata_tables import (
    VERSIONS,
    WRITE,
    contents,
    cured,
    newest_file,
    opened,
    own_pending,
    problem_of,
)

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.checked_partition import check_files
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.record_locations import open_record_index
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.metadata_table.unusable import UnusableMetadataTable
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.metadata_table.all_indexes import with_all_indexes
from support.metadata_table.built_tables import build, records_in
from support.metadata_table.maintained_tables import (
    A,
    B,
    C,
    Write,
    access,
    compacting,
    copied,
    empty_table,
    indexes,
    listing,
    maintained,
    ticking,
)


@VERSIONS
@pytest.mark.parametrize("is_log", [True, False], ids=["log file", "base file"])
def test_a_write_is_refused_if_the_list_of_files_lost_a_file(version: TableVersion, is_log: bool) -> None:
    storage = copied(maintained(version))
    lost = newest_file(storage, "files", is_log=is_log)
    storage.delete(lost)
    before = contents(storage)
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        WRITE(storage, ticking(2))
    assert contents(storage) == before
    assert not isinstance(listing(storage), ListedTable)
    cured(storage, version)


@VERSIONS
def test_no_compaction_hides_a_lost_file_of_an_index(
    version: TableVersion, caplog: pytest.LogCaptureFixture
) -> None:
    storage = copied(maintained(version))
    lost = newest_file(storage, "column_stats", is_log=True)
    storage.delete(lost)
    for number in (2, 3):
        caplog.clear()
        # In version 6, the log file of this write has the name of the lost log file, but is larger.
        replace(WRITE, groups=(A, B, C), request_id=f"after the loss {number}")(storage, ticking(number))
        [warning] = [
            r.getMessage()
            for r in caplog.records
            if "services of the metadata table failed" in r.getMessage()
        ]
        assert lost.rpartition("/")[2].removeprefix(".").partition("_")[0] in warning
        assert "rebuild_metadata_table.py" in warning
        assert "cannot be updated" not in warning  # the change has updated it
        assert lost.startswith(problem_of(storage))
        assert problem_of(storage)
        assert own_pending(storage) == ()
    cured(storage, version)


@VERSIONS
def test_no_compaction_is_planned_for_a_log_that_is_damaged_inside(
    version: TableVersion, caplog: pytest.LogCaptureFixture
) -> None:
    """The next writer finishes a planned compaction; a writer of Hudi would not notice the damage."""
    storage = copied(maintained(version))
    damaged = newest_file(storage, "column_stats", is_log=True)
    content = storage.read(damaged)
    storage.write(damaged, bytes(len(content)))
    WRITE(storage, ticking(2))
    assert "services of the metadata table failed" in caplog.text
    assert own_pending(storage) == ()
    cured(storage, version)


@VERSIONS
def test_an_index_that_is_built_again_without_records_is_not_damaged(version: TableVersion) -> None:
    storage = copied(maintained(version))
    Write((), "w3", 3, replaces={g.partition_path: (g.file_id,) for g in (A, B)})(storage, ticking(2))
    for stored in storage.list_files():  # as a clean does
        if stored.name.endswith(".parquet"):
            storage.delete(stored.path)
    build(storage, *indexes(version)[1:], clock=ticking(3))
    metadata = opened(storage)
    for name in indexes(version)[1:]:
        present = metadata.storage.list_folder(name).files
        assert not [f.name for f in present if f.name.endswith(".hfile")]
        check_files(metadata, name, present)


def base_instants(storage: Storage, partition: str) -> dict[str, str]:
    """Path of the newest base file of each file group → the instant that wrote it."""
    slices = partition_slices(opened(storage), partition)
    return {
        f"{METADATA_TABLE}/{s.base_file_path}": s.base_file.instant_time
        for s in slices
        if s.base_file is not None
    }


@VERSIONS
def test_a_lost_base_file_that_the_newest_compaction_did_not_write_is_found(version: TableVersion) -> None:
    """A compaction leaves out a file group without log files. Here, a write adds keys to only some groups."""
    storage = copied(with_all_indexes(version))
    Write((A, B), "w3", 3, metadata=compacting())(storage, ticking(2))
    Write((C,), "w4", 4, metadata=compacting())(storage, ticking(3))
    instants = base_instants(storage, RECORD_INDEX)
    [older] = [path for path, time in instants.items() if time < max(instants.values())]
    assert not problem_of(storage)
    storage.delete(older)
    assert older in problem_of(storage)
    table = access(storage, ticking(4))
    index = open_record_index(storage, table.config, table.load_timeline(), table.clock)
    assert isinstance(index, UnusableMetadataTable)
    assert older.rpartition("/")[2] in index.message


@VERSIONS
def test_a_lost_file_group_without_records_is_found(version: TableVersion) -> None:
    """An instant of this project (not of Hudi) that creates a partition contains the number of its file groups."""
    table = empty_table(version)
    build(table.storage, BLOOM_FILTERS, clock=table.clock)
    storage = table.storage
    slices = partition_slices(opened(storage), BLOOM_FILTERS)
    assert slices[-1].base_file is None
    [log] = slices[-1].log_files
    assert not problem_of(storage)
    lost = f"{METADATA_TABLE}/{BLOOM_FILTERS}/{log.file_name}"
    storage.delete(lost)
    assert len(partition_slices(opened(storage), BLOOM_FILTERS)) == len(slices) - 1
    assert problem_of(storage) == lost


@VERSIONS
def test_a_write_reads_footers_if_statistics_of_other_files_are_damaged(version: TableVersion) -> None:
    """`partition_stats` needs the statistics of all live files of a changed partition."""
    storage = copied(maintained(version))
    for name in ("second", "third"):
        Write((FileGroupId("a", f"{UUID(int=7)}-0"),), name, 7)(storage, ticking(1))
    for stored in storage.list_files(f"{METADATA_TABLE}/{COLUMN_STATS}"):
        if stored.name.endswith(".hfile"):
            storage.write(stored.path, bytes(stored.size_bytes))
    Write((A,), "w3", 3)(storage, ticking(2))
    if version is TableVersion.V9:
        found = records_in(storage, PARTITION_STATS)
        rebuilt = copied(storage)
        build(rebuilt, PARTITION_STATS, COLUMN_STATS, clock=ticking(9))
        assert found == records_in(rebuilt, PARTITION_STATS)


@VERSIONS
def test_a_write_is_refused_if_an_instant_of_the_table_is_lost(version: TableVersion) -> None:
    storage = copied(maintained(version))
    Write((A,), "w3", 3)(storage, ticking(2))
    Write((A,), "w4", 4)(storage, ticking(2.1))
    table = access(storage, ticking(3))
    orphan = table.load_timeline().completed_writes[-2]
    table.timeline_store.remove_completed(orphan)
    for name in [f.path for f in storage.list_files(".hoodie") if f.name.startswith(orphan.requested_time)]:
        if not name.startswith(METADATA_TABLE):
            storage.delete(name)
    before = contents(storage)
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        Write((A, C), "w5", 5, metadata=compacting())(storage, ticking(3))
    assert contents(storage) == before
