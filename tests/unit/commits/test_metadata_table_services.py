"""Services of the metadata table keep every record, finish services of an earlier run, and do only what is due."""

from dataclasses import replace
from datetime import datetime, timezone
from uuid import uuid4

import pytest

from hudi_table_services.commits.metadata_table_services.run import finish_services, run_services
from hudi_table_services.errors import LockNotAcquiredError
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.hudi_format.table_service_plans import (
    decode_clean_metadata,
    decode_clean_plan,
    decode_compaction_plan,
    encode_clean_plan,
)
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CleanFile, CleanPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, WriteOperation
from hudi_table_services.options.metadata_settings import DEFAULT_SERVICE_SETTINGS, metadata_service_settings
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.storage.clock import instant_text
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.table import TableAccess
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.growing_metadata_tables import (
    GROUPS,
    Changes,
    GrowingMetadataTable,
    eager,
    read_records,
    ticking,
)
from support.metadata_table.small_metadata_tables import all_partitions, files, location, stats
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, whole_table
from support.small_tables import SmallTable

BY_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.name)
LATER = datetime(2026, 12, 1, tzinfo=timezone.utc)
FILES, STATS, INDEX = file_groups.FILES, file_groups.COLUMN_STATS, file_groups.RECORD_INDEX


def some_changes(number: int) -> Changes:
    keys = [f"k{number}-{each}" for each in range(6)]
    return {
        FILES: ([all_partitions("a"), files("a", {f"f{number}": number + 1})], []),
        STATS: ([stats(f"s{number}", 1, 2), stats("same", number, number)], []),
        INDEX: ([location(key, f"f{number}") for key in keys], [f"k{number - 1}-0"]),
    }


def grown(version: TableVersion, commits: int) -> GrowingMetadataTable:
    table = GrowingMetadataTable.new(version)
    for number in range(commits):
        table.commit(some_changes(number))
    return table


# ------------------------------------------------------------------ tables of real Hudi


@BY_VERSION
@pytest.mark.parametrize("name", NAMES)
def test_tables_of_hudi_have_the_same_records_after_all_services(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    before = read_records(table.metadata_table())
    access = TableAccess(storage=table.storage, clock=ticking(LATER), config=table.config)
    report = run_services(access, None, settings=eager())
    assert report.compacted_at
    assert report.archived_instants
    after = table.metadata_table()
    assert read_records(after) == before
    for partition in after.partitions:
        slices = MetadataPartition(after, partition).slices
        assert all(each.base_file is not None and not each.log_files for each in slices)
    assert run_services(access, None, settings=eager()).compacted_at == ""


@BY_VERSION
@pytest.mark.parametrize("name", NAMES)
def test_after_a_compaction_a_record_names_the_base_file_that_contains_it(
    version: TableVersion, name: str
) -> None:
    table = whole_table(version, name)
    access = TableAccess(storage=table.storage, clock=ticking(LATER), config=table.config)
    run_services(access, None, settings=eager())
    metadata = table.metadata_table()
    for partition in metadata.partitions:
        reader = MetadataPartition(metadata, partition)
        for each in reader.slices:
            names = {record.base_file_name for record in reader.records_of(each, reader.changes_of(each))}
            assert each.base_file is not None
            assert names <= {each.base_file.file_name}


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def test_a_pending_compaction_of_hudi_is_finished_at_its_own_instant(version: TableVersion) -> None:
    table = whole_table(version, "copy_on_write")
    storage, metadata = table.storage, table.metadata_table()
    [*_, last] = [i for i in metadata.timeline.completed if i.action is Action.COMMIT]
    written = [stat.path for stat in metadata.commit_metadata(last).write_stats]
    metadata.storage.delete(metadata.timeline_store.path_of(last))
    for path in written[1:]:  # the first file is one that the dead compaction has written
        metadata.storage.delete(path)
    # The test expects the records that exist without the compaction, not those that Hudi's compaction wrote: Hudi 0.15
    # changes the types of dates and decimals when it compacts.
    before = read_records(table.metadata_table())
    access = TableAccess(storage=storage, clock=ticking(LATER), config=table.config)
    report = finish_services(access, None)
    assert report.finished == (last.requested_time,)
    assert read_records(table.metadata_table()) == before
    finished = {path.rpartition("/")[2].partition("_")[0] for path in written}
    [stats] = [
        table.metadata_table().commit_metadata(i).write_stats
        for i in table.metadata_table().timeline.completed
        if i.identity == last.identity
    ]
    assert {stat.file_id for stat in stats} == finished
    assert not metadata.storage.exists(written[0])


# ------------------------------------------------------------------ compaction


@BY_VERSION
def test_the_plan_and_the_commit_of_a_compaction_are_those_of_hudi(version: TableVersion) -> None:
    table = grown(version, 2)
    table.services()
    table.commit({FILES: ([files("b", {"g": 1})], [])})
    table.services()
    metadata = table.open()
    first, second = [i for i in metadata.timeline.completed if i.action is Action.COMMIT]
    plan = decode_compaction_plan(metadata.timeline_store.read_requested(second))
    assert plan.version == 2
    [operation] = plan.operations
    assert (operation.partition_path, operation.file_id) == (FILES, "files-0000-0")
    assert operation.base_instant_time == first.requested_time
    assert operation.data_file_path == f"files-0000-0_0-1-0_{first.requested_time}.hfile"
    assert len(operation.delta_file_paths) == 1
    commit = metadata.commit_metadata(second)
    assert (commit.operation_type, commit.compacted) == (WriteOperation.COMPACT, True)
    assert "_hoodie_" not in commit.extra_metadata["schema"]
    [stat] = commit.write_stats
    assert stat.prev_commit == first.requested_time
    assert metadata.storage.size(stat.path) == stat.file_size_bytes
    first_stats = metadata.commit_metadata(first).write_stats
    assert len(first_stats) == sum(GROUPS.values())
    assert {each.prev_commit for each in first_stats} == {NEW_FILE_GROUP}


@BY_VERSION
def test_a_file_group_without_any_record_gets_a_base_file(version: TableVersion) -> None:
    table = GrowingMetadataTable.new(version)
    table.commit({FILES: ([files("a", {"f": 1})], [])})
    table.services()
    slices = MetadataPartition(table.open(), INDEX).slices
    assert [each.base_file is not None for each in slices] == [True, True]
    table.commit(some_changes(1))
    assert set(table.read()[INDEX]) == {f"k1-{each}" for each in range(6)}


@BY_VERSION
def test_the_next_delta_commit_continues_the_new_slice(version: TableVersion) -> None:
    table = grown(version, 3)
    at = table.services().compacted_at
    table.commit(some_changes(3))
    [found] = MetadataPartition(table.open(), FILES).slices
    assert found.base_instant_time == at
    [log] = found.log_files
    assert log.version == 1
    assert set(table.read()[INDEX]) >= {"k3-1", "k2-1", "k1-1", "k0-1"}


@BY_VERSION
def test_compaction_waits_for_enough_delta_commits(version: TableVersion) -> None:
    table = GrowingMetadataTable.new(version)
    for number in range(8):
        table.commit(some_changes(number))
        assert table.services(DEFAULT_SERVICE_SETTINGS).compacted_at == ""
    table.commit(some_changes(8))
    assert table.services(DEFAULT_SERVICE_SETTINGS).compacted_at  # the initial delta commit counts, too


@BY_VERSION
def test_a_write_that_is_pending_in_the_table_stays_in_log_files(version: TableVersion) -> None:
    table = grown(version, 3)
    time = table.commit({FILES: ([files("p", {"pending": 7})], [])}, leaves_pending=True)
    report = table.services()
    assert bool(report.compacted_at) is (version is not TableVersion.V6)
    assert "p" not in table.read()[FILES]
    table.complete(time)
    assert table.read()[FILES]["p"].payload == files("p", {"pending": 7}).payload


def test_a_clock_that_is_behind_prevents_a_compaction() -> None:
    table = grown(TableVersion.V9, 3)
    behind = replace(table, clock=ticking(datetime(2026, 1, 1, 12, tzinfo=timezone.utc)))
    report = behind.services()
    assert report.compacted_at == ""
    assert "clocks of the writers differ" in report.reasons[0]


@BY_VERSION
def test_the_log_says_why_a_compaction_that_is_due_waits(
    version: TableVersion, caplog: pytest.LogCaptureFixture
) -> None:
    table = grown(version, 3)
    time = table.commit(some_changes(3), leaves_pending=True)
    with caplog.at_level("INFO"):
        table.services(eager(every=50))
        assert "is due" not in caplog.text, "the compaction is not due yet"
        assert table.services(eager(every=5)).compacted_at == ""
    assert "The compaction of the metadata table is due, but cannot run yet: " in caplog.text
    assert f"commit {time} is pending" in caplog.text


def test_the_compaction_of_a_new_table_is_not_in_the_future() -> None:
    table = grown(TableVersion.V9, 3)
    at = table.services().compacted_at
    assert at <= instant_text(table.clock.now(), table.access.config)


# ------------------------------------------------------------------ cleaning


def after_compactions(version: TableVersion, rounds: int) -> tuple[GrowingMetadataTable, list[str]]:
    """Return a table whose services ran after each of its commits, and the times of the cleans."""
    table, cleans = GrowingMetadataTable.new(version), []
    for number in range(4 * rounds):
        table.commit(some_changes(number))
        cleans.append(table.services(eager(every=4, kept=20, most=30)).cleaned_at)
    return table, [time for time in cleans if time]


@BY_VERSION
def test_cleans_keep_the_newest_slices_and_record_what_they_delete(version: TableVersion) -> None:
    table, cleans = after_compactions(version, 6)
    assert len(cleans) >= 2
    metadata = table.open()
    present = {stored.name for stored in metadata.storage.list_folder(FILES).files}
    bases = sorted(name for name in present if name.endswith(".hfile"))
    assert 3 <= len(bases) <= 4
    instants = [i for i in metadata.timeline.completed if i.action is Action.CLEAN]
    assert [i.requested_time for i in instants] == cleans
    for instant in instants:
        result = decode_clean_metadata(metadata.timeline_store.read(instant))
        plan = decode_clean_plan(metadata.timeline_store.read_requested(instant))
        named = {file.path for found in plan.files_to_delete.values() for file in found}
        assert all(path.startswith(f"{metadata.storage.base_path}/") for path in named)
        deleted = {f"{p}/{name}" for p, each in result.partitions.items() for name in each.deleted_files}
        assert {path.removeprefix(f"{metadata.storage.base_path}/") for path in named} == deleted
        assert result.total_files_deleted == len(deleted) > 0
        assert not any(metadata.storage.exists(path) for path in deleted)


@BY_VERSION
def test_a_clean_does_not_change_records(version: TableVersion) -> None:
    table, _ = after_compactions(version, 6)
    expected = GrowingMetadataTable.new(version)
    for number in range(24):
        expected.commit(some_changes(number))
    assert table.read() == expected.read()


@BY_VERSION
def test_a_reader_that_began_before_a_compaction_can_read_after_the_clean(version: TableVersion) -> None:
    table, _ = after_compactions(version, 5)
    early = table.open()
    readers = {partition: MetadataPartition(early, partition) for partition in early.partitions}
    expected = table.read()
    cleaned = ""
    for number in range(20, 25):
        table.commit(some_changes(number))
        cleaned = table.services(eager(every=4, kept=20, most=30)).cleaned_at or cleaned
    assert cleaned
    read = {
        partition: {each.key: replace(each, base_file_name=None) for each in reader.records()}
        for partition, reader in readers.items()
    }
    assert read == expected


@BY_VERSION
def test_a_pending_clean_does_not_delete_files_that_readers_use(version: TableVersion) -> None:
    table = grown(version, 3)
    table.services()
    table.commit(some_changes(3))
    metadata, expected = table.open(), table.read()
    [newest] = MetadataPartition(metadata, FILES).slices
    outdated = [
        stored.name
        for stored in metadata.storage.list_folder(FILES).files
        if stored.name.endswith(".log.1_0-0-0")
    ]
    used = [newest.base_file_path, *(f"{FILES}/{log.file_name}" for log in newest.log_files)]
    paths = [f"{metadata.storage.base_path}/{path}" for path in (*used, *(f"{FILES}/{n}" for n in outdated))]
    plan = CleanPlan(
        policy="KEEP_LATEST_COMMITS", files_to_delete={FILES: tuple(CleanFile(path=path) for path in paths)}
    )
    pending = metadata.timeline_store.request(Action.CLEAN, encode_clean_plan(plan))
    report = finish_services(table.access, None)
    assert (report.finished, report.deleted_files) == ((pending.requested_time,), len(outdated))
    assert table.read() == expected
    assert not any(metadata.storage.exists(f"{FILES}/{name}") for name in outdated)


def test_in_version_6_a_pending_compaction_waits_for_a_pending_write_that_appended_to_its_slices() -> None:
    table = grown(TableVersion.V6, 3)
    with pytest.raises(Crash):
        table.on(FaultyStorage(table.storage, 1, after=True)).services()
    [pending] = table.open().timeline.pending
    time = table.commit({FILES: ([files("p", {"pending": 7})], [])}, leaves_pending=True)
    report = table.services()
    assert (report.finished, report.compacted_at) == ((), "")
    assert table.open().timeline.pending == (pending,)
    table.complete(time)
    assert table.services().finished == (pending.requested_time,)
    assert table.read()[FILES]["p"].payload == files("p", {"pending": 7}).payload


# ------------------------------------------------------------------ archival


@BY_VERSION
def test_archived_instants_are_in_the_archive_of_the_metadata_table(version: TableVersion) -> None:
    table = grown(version, 6)
    table.services(eager(every=3, kept=20, most=30))
    own, before = table.open(), table.read()
    timeline = own.timeline
    for instant in table.access.load_timeline().completed[:4]:  # the table's own archival
        table.storage.delete(table.access.timeline_store.path_of(instant))
        for suffix in ("requested", "inflight", "commit.requested"):
            table.storage.delete(f"{_folder(version)}/{instant.requested_time}.{suffix}")
        table.storage.delete(f"{_folder(version)}/{instant.requested_time}.commit.inflight")
    report = table.services(eager(every=30))
    assert report.archived_instants > 0
    left = table.open().timeline
    gone = [i for i in timeline if i.identity not in {each.identity for each in left}]
    assert len(gone) == report.archived_instants
    archive = ArchivedTimeline(own.storage, own.config)
    assert {each.instant.requested_time for each in archive.writes()} == {i.requested_time for i in gone}
    assert table.read() == before


def _folder(version: TableVersion) -> str:
    return version.layout.timeline_folder


# ------------------------------------------------------------------ lock and settings


class LostLock:
    def __enter__(self) -> "LostLock":
        return self

    def __exit__(self, *_: object) -> None: ...

    def verify(self) -> None:
        raise LockNotAcquiredError("lost")


@BY_VERSION
def test_nothing_changes_after_the_lock_is_lost(version: TableVersion) -> None:
    table = grown(version, 3)
    before = {stored.path for stored in table.storage.list_files()}
    with pytest.raises(LockNotAcquiredError):
        table.services(lock=LostLock())
    assert {stored.path for stored in table.storage.list_files()} == before


def test_the_settings_are_those_of_hudi() -> None:
    settings = DEFAULT_SERVICE_SETTINGS
    assert settings.max_delta_commits == 10
    assert (settings.archival.min_commits, settings.archival.max_commits) == (21, 31)
    reader = OptionReader({"hoodie.metadata.compact.max.delta.commits": "3", "hoodie.keep.max.commits": "50"})
    chosen = metadata_service_settings(reader)
    assert (chosen.max_delta_commits, chosen.archival.max_commits) == (3, 51)


def test_a_table_without_a_metadata_table_has_no_services() -> None:
    table = SmallTable(MemoryStorage(uuid4().hex))
    report = run_services(
        TableAccess(storage=table.storage, clock=ticking(), config=table.config), None, settings=eager()
    )
    assert report.reasons == ("the table has no metadata table",)
