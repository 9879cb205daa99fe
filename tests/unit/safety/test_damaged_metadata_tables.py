"""A job on a table whose metadata table lost a file: no compaction hides the loss, and a rebuild cures it."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from hudi_table_services.commits.commit_point import prepare_deletion
from hudi_table_services.commits.metadata_table_services.run import finish_services
from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.errors import CorruptTableError, UnhealthyTableError
from hudi_table_services.hudi_format.hfile.blocks import Compression
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.checked_partition import check_files
from hudi_table_services.storage.metadata_table.file_format import read_file_format
from hudi_table_services.storage.metadata_table.group_files import named
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.record_locations import open_record_index
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.metadata_table.unusable import UnusableMetadataTable
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.metadata_table.all_indexes import with_all_indexes
from support.metadata_table.built_tables import build, records_in
from support.metadata_table.checked_tables import check_end
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

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
WRITE = Write((A, C), "w3", 3, metadata=compacting())


def newest_file(storage: Storage, partition: str, *, is_log: bool) -> str:
    files = [
        f
        for f in storage.list_files(f"{METADATA_TABLE}/{partition}")
        if f.name != ".hoodie_partition_metadata"
    ]
    return max(f.path for f in files if f.name.startswith(".") is is_log)


def contents(storage: Storage) -> dict[str, bytes]:
    return {f.path: storage.read(f.path) for f in storage.list_files() if f.path != ".hoodie/lock"}


def opened(storage: Storage) -> MetadataTable:
    return open_metadata_table(storage, read_table_config(storage), ticking(9))


def own_pending(storage: Storage) -> tuple[Instant, ...]:
    return opened(storage).timeline.pending


def deep_report(storage: Storage, *, is_deep: bool = True) -> HealthReport:
    request = HealthRequest(base_path="/t", deep=is_deep)
    report = table_health(request, storage=storage, clock=ticking(3)).report_as(HealthReport)
    assert report is not None
    return report


def problem_of(storage: Storage, *, is_deep: bool = False) -> str:
    report = deep_report(storage, is_deep=is_deep)
    assert bool(report.measures["metadata_unusable"]) is bool(report.metadata_table_state.problem)
    return report.metadata_table_state.path


def cured(storage: Storage, version: TableVersion) -> None:
    for pending in access(storage, ticking(4)).load_timeline().pending:
        access(storage, ticking(4)).timeline_store.remove(pending)
    storage.delete(".hoodie/lock")
    build(storage, *indexes(version), clock=ticking(4))
    assert not problem_of(storage)
    Write((A, C), "w4", 4, metadata=compacting())(storage, ticking(5))
    check_end(storage, "after the cure")


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
@pytest.mark.parametrize("is_deep", [False, True], ids=["default", "deep"])
def test_only_the_deep_check_reads_the_records_of_an_index(version: TableVersion, is_deep: bool) -> None:
    storage = copied(maintained(version))
    damaged = newest_file(storage, "column_stats", is_log=False)
    content = bytearray(storage.read(damaged))
    content[content.index(b"DATABLK*") + 60] ^= 1
    storage.write(damaged, bytes(content))
    assert problem_of(storage, is_deep=is_deep) == (damaged if is_deep else "")


def with_changed_statistics(
    storage: Storage, partition: str, change: Callable[[ColumnStats], ColumnStats]
) -> None:
    """Write the records of a partition again, with other statistics of the column `n`."""
    metadata = opened(storage)
    form = read_file_format(metadata)
    codec = RecordFormat(form.schema)
    for found in partition_slices(metadata, partition):
        records = [
            replace(r, payload=change(r.payload))
            if isinstance(r.payload, ColumnStats) and r.payload.column_name == "n"
            else r
            for r in MetadataPartition(metadata, partition, slices=(found,)).records()
        ]
        assert found.base_file is not None
        # The file is not compressed, because a file that is shorter than its size in the commit would show the damage.
        options = HFileOptions(
            schema=form.schema, flavour=form.flavour, is_base_file=True, compression=Compression.NONE
        )
        content = encode_hfile((codec.encode(named(r, found.base_file.file_name)) for r in records), options)
        storage.write(f"{METADATA_TABLE}/{found.base_file_path}", content)
        for log in found.log_files:
            storage.delete(f"{METADATA_TABLE}/{partition}/{log.file_name}")


def narrow(stats: ColumnStats) -> ColumnStats:
    return replace(stats, max_value=stats.min_value)


def wide(stats: ColumnStats) -> ColumnStats:
    return replace(stats, max_value=replace(stats.max_value, value=10**6))  # type: ignore[type-var]


@VERSIONS
@pytest.mark.parametrize(("change", "count"), [(narrow, 4), (wide, 0)], ids=["narrow", "wide"])
def test_the_deep_check_finds_statistics_that_hide_rows(
    version: TableVersion, change: Callable[[ColumnStats], ColumnStats], count: int
) -> None:
    """Two versions of two files; each has two values of the column, so a record with one of them hides a row."""
    storage = copied(maintained(version))
    Write((A,), "w3", 3, metadata=compacting())(storage, ticking(2))
    with_changed_statistics(storage, COLUMN_STATS, change)
    report = deep_report(storage)
    assert report.measures["metadata_wrong_statistics"] == (count + 1 if count else 0)
    assert all("column 'n'" in text for text in report.metadata_table_state.wrong_statistics_examples)


def test_the_deep_check_finds_statistics_of_partitions_that_hide_rows() -> None:
    storage = copied(maintained(TableVersion.V9))
    Write((A, B), "w3", 3, metadata=compacting())(storage, ticking(2))
    assert deep_report(storage).measures["metadata_wrong_statistics"] == 0
    with_changed_statistics(storage, PARTITION_STATS, narrow)
    report = deep_report(storage)
    assert report.measures["metadata_wrong_statistics"] == 2
    assert report.metadata_table_state.wrong_statistics_examples == tuple(
        f"partition {path!r}, column 'n': the record excludes values of the data files" for path in "ab"
    )
    assert {finding.measure for finding in report.findings} == {"metadata_wrong_statistics"}


@VERSIONS
def test_the_deep_check_compares_no_statistics_while_a_clean_is_pending(version: TableVersion) -> None:
    """The clean may delete a data file between the listing and the check."""
    storage = copied(maintained(version))
    with_changed_statistics(storage, COLUMN_STATS, narrow)
    access(storage, ticking(2)).timeline_store.request(Action.CLEAN, b"plan")
    report = deep_report(storage)
    assert "metadata_wrong_statistics" not in report.measures
    assert report.metadata_table_state.not_compared.startswith("statistics: clean ")


@VERSIONS
def test_the_deep_check_names_a_damaged_data_file(version: TableVersion) -> None:
    storage = copied(maintained(version))
    path = load_snapshot(storage).slices_of("a")[0].base_file_path
    assert path is not None
    storage.write(path, bytes(len(storage.read(path))))
    with pytest.raises(UnhealthyTableError, match=path):
        deep_report(storage)


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


def with_pending_compaction(version: TableVersion) -> Storage:
    storage = copied(maintained(version))
    WRITE(storage, ticking(2))
    metadata = opened(storage)
    [compaction] = [i for i in metadata.timeline.completed if i.action is Action.COMMIT]
    metadata.timeline_store.remove_completed(compaction)
    assert [i.requested_time for i in own_pending(storage)] == [compaction.requested_time]
    return storage


def lose(storage: Storage) -> None:
    storage.delete(newest_file(storage, "column_stats", is_log=True))


def lose_blocks(storage: Storage) -> None:
    """Give the newest log file only blocks of an earlier write. Its size does not show the loss."""
    newest = newest_file(storage, "column_stats", is_log=True)
    earlier = newest.replace(".log.3_", ".log.2_")
    assert newest != earlier
    storage.write(newest, storage.read(earlier) * 2)


LOSSES = pytest.mark.parametrize("damage", [lose, lose_blocks])


@LOSSES
def test_in_version_6_a_write_is_refused_without_a_change_if_damage_prevents_a_pending_compaction(
    damage: Callable[[Storage], None],
) -> None:
    storage = with_pending_compaction(TableVersion.V6)
    damage(storage)
    before = contents(storage)
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        replace(WRITE, request_id="w4")(storage, ticking(3))
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        prepare_deletion(access(storage, ticking(3)), undoes=None)
    assert contents(storage) == before
    cured(storage, TableVersion.V6)


@LOSSES
def test_in_version_6_a_pending_compaction_stays_pending_if_blocks_are_lost(
    damage: Callable[[Storage], None],
) -> None:
    storage = with_pending_compaction(TableVersion.V6)
    damage(storage)
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py"):
        finish_services(access(storage, ticking(3)), None)
    assert own_pending(storage)


@VERSIONS
def test_an_error_about_a_pending_clean_names_the_file_and_the_cure(version: TableVersion) -> None:
    storage = copied(maintained(version))
    store = opened(storage).timeline_store
    clean = store.request(Action.CLEAN, b"damaged")
    with pytest.raises(CorruptTableError, match=r"rebuild_metadata_table\.py") as caught:
        finish_services(access(storage, ticking(3)), None)
    assert caught.value.path == f"{METADATA_TABLE}/{store.requested_path_of(clean)}"


def test_in_version_6_a_write_finishes_a_pending_compaction() -> None:
    storage = with_pending_compaction(TableVersion.V6)
    replace(WRITE, request_id="w4")(storage, ticking(3))
    assert own_pending(storage) == ()
    check_end(storage, "after the write")


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
