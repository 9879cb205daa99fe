"""Services of this project on merge-on-read tables that real Hudi writes before and after.

Oracles: Hudi 0.15.0 on table version 6, and Hudi 1.2.0 on versions 8 and 9; hudi-rs also reads the tables.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.contract.recovery import RepairOrphansRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from judges.hudi_judge import HudiJudge
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import PLAIN, as_table, assert_rows_equal, some_rows
from judges.table_files import copy_table, instant_names, timeline_folder
from judges.with_logs.log_tables import LogTable, much_later
from support.depth import cases

ORACLES = pytest.mark.parametrize("oracle", cases([V6_OLD, V8, V9], [V9]))


@pytest.fixture
def started(hudi: Callable[[str], HudiJudge], tmp_path: Path) -> Callable[[Oracle], LogTable]:
    """``started(V9)`` is a new table with base files in two partitions."""
    return lambda oracle: LogTable(hudi(oracle.release), tmp_path / "t", oracle).start()


Started = Callable[[Oracle], LogTable]


@ORACLES
def test_hudi_continues_after_we_rolled_back_its_delta_commit(started: Started, oracle: Oracle) -> None:
    table = started(oracle).update(0, 1).update(2)
    before, files = dict(table.model), table.data_files()
    table.update(0, 3, 200)  # updates, and a new key in a new base file
    table.roll_back(table.newest())
    table.model = before
    assert table.data_files() == files
    table.assert_hudi_continues()


@ORACLES
@pytest.mark.parametrize("marked", cases([True, False], [True], "markers={}".format))
def test_hudi_continues_after_we_rolled_back_its_dead_delta_commit(
    started: Started, oracle: Oracle, marked: bool
) -> None:
    table = started(oracle).update(0, 1)
    before, files = dict(table.model), table.data_files()
    table.update(0, 3, 200)
    die(table, table.data_files() - files if marked else set())
    table.model = before
    assert table.roll_back().outcome is Outcome.COMPLETED
    assert table.data_files() == files
    table.assert_hudi_continues()


def die(table: LogTable, marked: set[str]) -> None:
    """Make the newest delta commit pending again, as if its writer had died, and restore its markers."""
    newest = table.newest()
    folder = timeline_folder(table.base_path)
    (completed,) = folder.glob(f"{newest}*.deltacommit")
    completed.unlink()
    completed.with_name(f".{completed.name}.crc").unlink(missing_ok=True)
    kind = "APPEND" if table.oracle.table_version == 6 else "CREATE"
    for name in marked:
        (path,) = table.base_path.rglob(name)
        is_log = name.startswith(".")
        marker = f"{path.relative_to(table.base_path)}.marker.{kind if is_log else 'CREATE'}"
        target = table.base_path / ".hoodie" / ".temp" / newest / marker
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()


@ORACLES
@pytest.mark.thorough
def test_hudi_compacts_again_after_we_undid_its_compaction(started: Started, oracle: Oracle) -> None:
    table = started(oracle).update(0, 1).update(2)
    files = table.data_files()
    table.compact()
    table.roll_back(table.newest("commit"))
    assert table.data_files() == files
    table.assert_hudi_continues()


@ORACLES
@pytest.mark.thorough
def test_our_clean_deletes_the_files_that_the_clean_of_hudi_deletes(
    started: Started, oracle: Oracle, tmp_path: Path
) -> None:
    table = started(oracle)
    for _ in range(2):
        table.update(0, 1).update(1, 2).compact()
    table.update(0, 3)
    theirs = LogTable(table.judge, copy_table(table.base_path, tmp_path / "theirs"), oracle)
    theirs.call("run_clean", "retain_commits => 1")
    left = theirs.data_files()
    assert left < table.data_files()
    result = table.clean()
    assert result.outcome is Outcome.COMPLETED
    assert table.data_files() == left
    table.assert_hudi_continues()


@ORACLES
@pytest.mark.thorough
def test_a_clean_keeps_the_files_of_a_pending_compaction_of_hudi(started: Started, oracle: Oracle) -> None:
    table = started(oracle).update(0, 1).compact().update(0, 2).update(1)
    settings = {"hoodie.compact.inline.max.delta.commits": "1"}
    table.call("run_compaction", "op => 'schedule'", **settings)
    assert instant_names(table.base_path, ".compaction.requested")
    table.update(0, 5)  # in table version 6, changes the slice of the pending compaction
    files = table.data_files()
    table.clean(file_versions_retained=1)
    assert table.data_files() < files
    assert_rows(table)
    table.call("run_compaction", "op => 'run'", **settings)
    table.assert_hudi_continues()


def assert_rows(table: LogTable) -> None:
    """Compare only the rows that Hudi reads.

    In table version 6, hudi-rs does not read the log files above a pending compaction.
    """
    assert_rows_equal(table.judge.read(table.base_path), table.model, f"Hudi {table.judge.release}")


@ORACLES
def test_hudi_continues_after_we_archived_delta_commits_and_a_compaction(
    started: Started, oracle: Oracle
) -> None:
    table = started(oracle).update(0).compact()
    for number in range(8):
        table.update(number)
    table.clean()
    count = len(instant_names(table.base_path, "commit"))
    result = table.archive()
    assert result.outcome is Outcome.COMPLETED
    assert len(instant_names(table.base_path, "commit")) < count
    table.assert_hudi_continues()


@pytest.mark.thorough
@ORACLES
def test_rows_of_an_orphan_log_file_of_hudi_never_reappear(started: Started, oracle: Oracle) -> None:
    """A writer of Hudi dies and leaves no markers; Hudi removes its instant and keeps its log file."""
    table = started(oracle).update(0, 1)
    before, files = dict(table.model), table.data_files()
    table.update(0, 3)
    orphans = table.data_files() - files
    newest = table.newest()
    for path in timeline_folder(table.base_path).iterdir():
        if path.name.lstrip(".").startswith(newest):
            path.unlink()
    table.model = before
    for number in range(8):
        table.update(number)
    table.archive()
    table.assert_read()
    request = RepairOrphansRequest(base_path=str(table.base_path), execute=True)
    assert repair_orphan_files(request, clock=much_later()).outcome is Outcome.COMPLETED
    assert not orphans & table.data_files()
    table.archive()
    table.assert_hudi_continues()


@ORACLES
def test_hudi_continues_after_our_restore_to_our_savepoint(started: Started, oracle: Oracle) -> None:
    table = started(oracle).update(0, 1)
    saved, before, files = table.save(), dict(table.model), table.data_files()
    table.update(0, 2).compact().update(3, 200).update(1)
    table.restore(saved)
    table.model = before
    assert table.data_files() == files
    table.assert_hudi_continues()


@pytest.mark.thorough
@ORACLES
def test_we_restore_a_savepoint_of_hudi(started: Started, oracle: Oracle) -> None:
    table = started(oracle).update(0, 1)
    saved, before = table.newest(), dict(table.model)
    table.call("create_savepoint", f"commit_time => '{saved}'")
    table.update(0, 2).update(1, 3).compact().update(0)
    table.restore(saved)
    table.model = before
    table.assert_hudi_continues()


@ORACLES
@pytest.mark.thorough
def test_hudi_restores_our_savepoint(started: Started, oracle: Oracle) -> None:
    table = started(oracle).update(0, 1)
    saved, before = table.save(), dict(table.model)
    table.update(0, 2).update(1, 3)
    table.clean(file_versions_retained=1)
    table.call("rollback_to_savepoint", f"instant_time => '{saved}'")
    table.model = before
    table.assert_hudi_continues()


@ORACLES
def test_hudi_finishes_a_rollback_that_we_began(started: Started, oracle: Oracle) -> None:
    """In table version 6, our rollback plan deletes the log file, and Hudi carries out the plan."""
    table = started(oracle).update(0, 1)
    before, files = dict(table.model), table.data_files()
    table.update(0, 3)
    die(table, table.data_files() - files)
    dead = copy_table(table.base_path, table.base_path.with_name("dead"))
    table.roll_back()
    (planned,) = timeline_folder(table.base_path).glob("*.rollback.requested")
    shutil.copy(planned, timeline_folder(dead) / planned.name)
    # The plan contains absolute paths.
    shutil.rmtree(table.base_path)
    dead.rename(table.base_path)
    table.model = before
    left = table.data_files()
    table.update(4)
    assert instant_names(table.base_path, ".rollback")
    assert left & table.data_files() == files
    table.assert_hudi_continues()


@ORACLES
def test_health_measures_log_files_of_hudi(started: Started, oracle: Oracle) -> None:
    table = started(oracle).update(0, 2).update(1)
    report = table_health(HealthRequest(base_path=str(table.base_path))).report
    assert isinstance(report, HealthReport)
    logs = [name for name in table.data_files() if ".log." in name]
    assert report.measures["log_files"] == len(logs) > 0
    assert report.measures["leftover_files"] == report.measures["missing_files"] == 0
    table.compact()
    report = table_health(HealthRequest(base_path=str(table.base_path))).report
    assert isinstance(report, HealthReport)
    assert report.measures["log_files"] == 0


@pytest.mark.thorough
@ORACLES
def test_batch_writes_of_hudi_compact_by_default(started: Started, oracle: Oracle) -> None:
    """The rule `compaction-in-every-writer` of the configuration check rests on this behaviour."""
    table = started(oracle)
    options = table.oracle.options("t", datasource__write__table__type="MERGE_ON_READ")
    assert "hoodie.compact.inline" not in options
    for version in range(2, 8):
        table.judge.write(table.base_path, as_table(some_rows([0], version, PLAIN), PLAIN), options)
    assert instant_names(table.base_path, ".commit")
