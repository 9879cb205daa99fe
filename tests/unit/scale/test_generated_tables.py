"""Generated tables for benchmarks: the loader, the health job and hudi-rs see the table that their shape describes."""

from pathlib import Path

import pytest
from hudi import HudiTable

from hudi_table_services.contract.archival import ArchiveReport, ArchiveRequest
from hudi_table_services.contract.cleaning import CleanReport, CleanRequest
from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from scale.counted_storage import CountedLocalStorage, local_counts
from scale.generator import CLEANED_AFTER, make_table
from scale.shapes import ACTIVE_COMMITS, GROUPS_OF_A_COMMIT, TableKind, TableShape
from scale.upsert_plan import plan_placed_upsert

GROUPS = 2 * GROUPS_OF_A_COMMIT


@pytest.fixture(scope="module", params=list(TableKind), ids=lambda kind: kind.value)
def shape(request: pytest.FixtureRequest) -> TableShape:
    return TableShape(kind=request.param, groups=GROUPS)


@pytest.fixture(scope="module")
def table(shape: TableShape, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scale") / "table"
    make_table(folder, shape)
    return folder


@pytest.mark.thorough
def test_the_loader_sees_the_newest_version_of_every_file_group(table: Path, shape: TableShape) -> None:
    listed = load_snapshot(LocalStorage(str(table)), metadata_enable=False)
    assert {each.file_group_id for each in listed.all_slices} == set(map(shape.group_id, range(GROUPS)))
    newest = {shape.group_id(group): max(shape.commits_of(group, shape.commits)) for group in range(GROUPS)}
    times = sorted(i.requested_time for i in listed.timeline.completed_writes)
    for each in listed.all_slices:
        written = [each.base_instant_time, *(log.instant_time for log in each.log_files)]
        assert max(written) == times[newest[each.file_group_id] - shape.archived_commits]
        assert bool(each.log_files) is shape.kind.has_logs


def test_the_metadata_table_lists_the_files_of_the_folders(table: Path) -> None:
    storage = LocalStorage(str(table))
    listed, indexed = load_snapshot(storage, metadata_enable=False), load_snapshot(storage)
    assert indexed.is_from_metadata_table
    assert indexed.file_slices == listed.file_slices


def test_active_and_archived_writes_are_the_commits_of_the_shape(table: Path, shape: TableShape) -> None:
    storage = LocalStorage(str(table))
    config = read_table_config(storage)
    timeline = load_snapshot(storage, ()).timeline
    archived = ArchivedTimeline(storage, config).writes()
    assert len(timeline.completed_writes) == ACTIVE_COMMITS
    assert len(archived) == shape.archived_commits
    assert len(archived[-1].metadata.write_stats) == GROUPS_OF_A_COMMIT
    assert archived[-1].instant.requested_time < timeline.completed_writes[0].requested_time
    assert [i.action for i in timeline.completed if not i.action.writes_data] == [Action.CLEAN]
    assert not timeline.pending


def test_the_health_job_finds_no_damage(table: Path) -> None:
    report = table_health(HealthRequest(base_path=str(table))).report_as(HealthReport)
    assert report is not None
    assert report.live_files.file_count == GROUPS
    assert (report.damage, report.missing_examples, report.leftover_examples, report.foreign_examples) == (
        "",
        (),
        (),
        (),
    )
    assert report.measures["damaged"] == report.measures["missing_files"] == 0
    assert report.measures["commits_since_clean"] == ACTIVE_COMMITS - CLEANED_AFTER


def test_hudi_rs_finds_every_file_slice(table: Path) -> None:
    slices = HudiTable(str(table)).get_file_slices()
    assert len(slices) == GROUPS


def test_a_clean_and_an_archival_are_due(table: Path, shape: TableShape) -> None:
    cleaned = clean(CleanRequest(base_path=str(table), preview=True)).report_as(CleanReport)
    assert cleaned is not None
    assert (cleaned.file_count > 0) is not shape.kind.has_logs
    request = ArchiveRequest(base_path=str(table), min_commits=20, max_commits=29, preview=True)
    archived = archive(request).report_as(ArchiveReport)
    assert archived is not None
    assert archived.archived_commits == ACTIVE_COMMITS - CLEANED_AFTER


def test_an_upsert_is_planned_and_its_footers_are_read(table: Path, shape: TableShape) -> None:
    storage = CountedLocalStorage(str(table))
    access = TableAccess(storage=storage, clock=SystemClock(), config=read_table_config(storage))
    before = local_counts()
    tasks = plan_placed_upsert(access, shape, 20_000, shape.partitions)
    changed = {task.file_id for task in tasks if task.current is not None}
    assert len(changed) == GROUPS
    assert sum(task.insert_count + sum(b.row_count for b in task.changes) for task in tasks) == 20_000
    assert (local_counts() - before)["GET"] > GROUPS


def test_data_files_take_little_space(table: Path, shape: TableShape) -> None:
    stored = [path.stat() for path in table.rglob("*") if path.is_file()]
    assert sum(each.st_size for each in stored) > shape.nominal_bytes
    assert sum(each.st_blocks * 512 for each in stored) < shape.nominal_bytes / 1000


@pytest.mark.parametrize("groups", [0, 100, 1_001])
def test_a_number_of_file_groups_that_commits_cannot_share_is_refused(groups: int) -> None:
    with pytest.raises(ValueError, match="multiple of 200"):
        TableShape(kind=TableKind.COW9, groups=groups)


def test_the_largest_table_has_the_planned_size() -> None:
    shape = TableShape(kind=TableKind.COW9, groups=100_000)
    assert shape.partitions == 5_000
    assert shape.nominal_bytes == 20 * 10**12
    assert shape.archived_commits == 9_990
