"""Rules about the instants of a metadata table: their order, their times and their log files; see `test_rules`."""

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudi_table_services.commits.metadata_table_services.run import ServiceReport, run_services
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.hudi_format.log_blocks import HeaderKey
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, RECORD_INDEX
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.data_file import LogFile
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess
from judges.broken_metadata import (
    change_blocks,
    instant_files,
    log_files,
    metadata_folder,
    remove_instant,
    with_header,
)
from judges.engine import Engine
from judges.hudi_judge import HudiRefusedError
from judges.interruption import just_before_completion
from judges.metadata_check import assert_describes_the_table
from judges.metadata_readers import files_in_folders, listed_by_hudi
from judges.oracle import EDGES, V6_OLD, V9, Oracle
from judges.rows import as_table, merged, some_rows
from judges.rule_tables import (
    NEW_GROUPS,
    NEW_PARTITION,
    SCHEMA,
    RuleTable,
    expected,
    findings,
    found_by_hudi,
    hudi_writes,
    instant_times,
    lost,
    newest_commit,
    opened,
    our_rows,
)
from judges.table_files import (
    copy_table,
    timeline_folder,
)
from support.archived_tables import SMALL_LIMITS
from support.depth import cases
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock
from support.metadata_table.growing_metadata_tables import eager

sampled = pytest.mark.parametrize("oracle", cases(EDGES, [V9]))
thorough = pytest.mark.parametrize("oracle", cases(EDGES, []))
ONLY_COMPACTION = eager(kept=90, most=99)
IN_THE_TABLE = 2
"""Number of the completion in the table: a write completes its instant first in the metadata table."""


def compact(base_path: Path, clock: Clock | None = None) -> ServiceReport:
    storage = LocalStorage(str(base_path))
    table = TableAccess(storage=storage, clock=clock or SystemClock(), config=read_table_config(storage))
    return run_services(table, None, settings=ONLY_COMPACTION)


def hours_from_now(hours: float) -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(hours=hours), timedelta(milliseconds=1))


def we_write(engine: Engine, table: RuleTable, version: int = 20) -> dict:
    rows = some_rows(range(8), version, SCHEMA, ("a", "b", "c"))
    engine.write(table.base_path, as_table(rows, SCHEMA), version=table.version, options=NEW_GROUPS)
    return merged(table.model, rows)


def died_before_completion(engine: Engine, table: RuleTable, folder: Path) -> RuleTable:
    """A copy of the table in which a second write of ours is complete in the metadata table, but not in the table."""
    dead = folder / "dead"
    with just_before_completion(lambda: _copy_as_dead(table.base_path, dead), IN_THE_TABLE):
        we_write(engine, table)
    return RuleTable(
        base_path=dead,
        oracle=table.oracle,
        before=table.model,
        model=table.model,
        ours=newest_commit(table.base_path),
    )


def _copy_as_dead(base_path: Path, dead: Path) -> None:
    copy_table(base_path, dead)
    for heartbeat in (dead / ".hoodie" / ".heartbeat").glob("*"):
        heartbeat.unlink()
    (dead / ".hoodie" / "lock").unlink(missing_ok=True)


# ---------------------------------------------------------------- rule 2


@thorough
def test_rule_02_our_rollback_removes_the_commit_from_the_metadata_table_first(
    ruled, hudi, oracle: Oracle
) -> None:
    table = ruled(oracle)
    storage = FaultyStorage(LocalStorage(str(table.base_path)))
    request = RollbackRequest(base_path=str(table.base_path), instants=(table.ours,))
    rollback(request, storage=storage)
    folder = timeline_folder(table.base_path).relative_to(table.base_path)
    own = timeline_folder(metadata_folder(table.base_path)).relative_to(table.base_path)
    in_metadata = [n for n, line in enumerate(storage.log) if line.startswith(f"delete {own}/{table.ours}")]
    in_table = [n for n, line in enumerate(storage.log) if line.startswith(f"delete {folder}/{table.ours}")]
    files = [n for n, line in enumerate(storage.log) if line.endswith(f"_{table.ours}.parquet")]
    assert in_metadata
    assert files
    assert max(in_metadata) < min(files)
    # The last file that the rollback removes is a file of the instant on the timeline of the table. Until then, readers
    # ignore what the metadata table contains of this instant.
    assert max(in_metadata) < max(in_table)
    assert log_files(table.base_path, table.ours) == []
    assert_describes_the_table(table.base_path)
    assert found_by_hudi(hudi(oracle.release), table) == expected(table.before)


@thorough
def test_rule_02_control_if_the_instant_is_removed_first_hudi_loses_rows(
    ruled, hudi, engine: Engine, oracle: Oracle
) -> None:
    """In version 6, Hudi ignores blocks of instants that are not on the timeline of the table."""
    table = ruled(oracle)
    options = {**NEW_GROUPS, "hoodie.datasource.write.partitions.to.delete": "c"}
    engine.write(
        table.base_path,
        as_table([], SCHEMA),
        version=table.version,
        operation="delete_partition",
        options=options,
    )
    remove_instant(table.base_path, newest_commit(table.base_path))
    found, wanted = found_by_hudi(hudi(oracle.release), table), expected(table.model)
    if oracle is V9:
        assert found["all"] == wanted["all"]
        assert lost(found, wanted).keys() >= {"first", "second", "ours", "great double"}
    else:
        assert found == wanted
    assert "metadata_commits_ahead" in findings(table)


# ---------------------------------------------------------------- rule 3


def archive_some(table: RuleTable) -> Outcome:
    request = ArchiveRequest(
        base_path=str(table.base_path), min_commits=2, max_commits=3, options=SMALL_LIMITS
    )
    return archive(request).outcome


@thorough
def test_rule_03_we_archive_no_instant_that_the_metadata_table_has_not_compacted(
    ruled, hudi, engine: Engine, oracle: Oracle
) -> None:
    table = ruled(oracle)
    model = we_write(engine, table)
    times = instant_times(table.base_path)
    assert len(times) == 4
    assert archive_some(table) is Outcome.NOTHING_TO_DO
    assert instant_times(table.base_path) == times
    assert compact(table.base_path).compacted_at
    assert archive_some(table) is Outcome.COMPLETED
    assert instant_times(table.base_path) == times[2:]
    assert_describes_the_table(table.base_path)
    assert found_by_hudi(hudi(oracle.release), table) == expected(model)


@thorough
def test_rule_03_control_if_uncompacted_instants_are_archived_their_files_vanish(
    ruled, hudi, oracle: Oracle
) -> None:
    """In version 9, Hudi also reads blocks of archived instants, so no file vanishes."""
    table = ruled(oracle)
    for time in instant_times(table.base_path)[:2]:
        remove_instant(table.base_path, time)
    found, wanted = found_by_hudi(hudi(oracle.release), table), expected(table.model)
    if oracle is V9:
        assert found == wanted
    else:
        assert (found["second"], wanted["all"] - found["all"]) == (0, wanted["second"])


# ---------------------------------------------------------------- rule 4


@thorough
@pytest.mark.parametrize("hours", [-2, 2], ids=["slow clock", "fast clock"])
def test_rule_04_our_compaction_hides_no_later_commit_even_if_its_clock_is_wrong(
    ruled, hudi, engine: Engine, oracle: Oracle, hours: int
) -> None:
    table, judge = ruled(oracle), hudi(oracle.release)
    report = compact(table.base_path, hours_from_now(hours))
    model = we_write(engine, table)
    own = [i for i in opened(table.base_path).timeline.completed if i.action is Action.DELTA_COMMIT]
    assert own[-1].requested_time == newest_commit(table.base_path)
    if oracle is V6_OLD:
        assert report.compacted_at
    elif hours < 0:
        assert "the clocks of the writers differ" in report.reasons[0]
    else:
        assert report.compacted_at < str(own[-1].completion_time)
    assert_describes_the_table(table.base_path)
    assert found_by_hudi(judge, table) == expected(model)


@pytest.mark.thorough
def test_rule_04_control_a_compaction_in_the_future_hides_a_later_commit(ruled, hudi, engine: Engine) -> None:
    table = ruled(V9)
    compacted = compact(table.base_path).compacted_at
    model = we_write(engine, table)
    future = str(int(compacted[:4]) + 1) + compacted[4:]
    for path in [*timeline_folder(metadata_folder(table.base_path)).glob(f"{compacted}*")]:
        path.rename(path.with_name(path.name.replace(compacted, future)))
    for path in metadata_folder(table.base_path).glob(f"*/*_{compacted}.hfile"):
        path.rename(path.with_name(path.name.replace(compacted, future)))
    found, wanted = found_by_hudi(hudi("1.2.0"), table), expected(model)
    assert found["all"] == wanted["all"]
    assert found["first"] > wanted["first"], "Hudi reads old versions of the rows"
    with pytest.raises(AssertionError):
        assert_describes_the_table(table.base_path)


# ---------------------------------------------------------------- rule 5


@thorough
def test_rule_05_our_compaction_leaves_pending_commits_out(
    ruled, hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    table = died_before_completion(engine, ruled(oracle), tmp_path)
    compacted = compact(table.base_path).compacted_at
    assert compacted < table.ours if oracle is V9 else not compacted
    judge = hudi(oracle.release)
    assert found_by_hudi(judge, table) == expected(table.model)
    rows = some_rows(range(4, 10), 30, SCHEMA, ("a", "b", "c"))
    hudi_writes(judge, table.base_path, oracle, rows)
    assert_describes_the_table(table.base_path)
    assert found_by_hudi(judge, table) == expected(merged(table.model, rows))


@thorough
def test_rule_05_control_hudi_cannot_undo_a_pending_commit_that_was_compacted(
    ruled, hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    """Every later write of Hudi fails, because a write of Hudi first undoes pending commits."""
    table, judge = died_before_completion(engine, ruled(oracle), tmp_path), hudi(oracle.release)
    # With the copied file, the commit is complete, so the compaction contains it.
    completed = completed_file(tmp_path / "t", table.ours)
    copied = Path(shutil.copy(completed, timeline_folder(table.base_path)))
    assert compact(table.base_path).compacted_at
    copied.unlink()
    assert found_by_hudi(judge, table) == expected(table.model)
    rows = some_rows(range(4, 10), 30, SCHEMA, ("a", "b", "c"))
    with pytest.raises(HudiRefusedError, match="earlier than the latest compaction"):
        hudi_writes(judge, table.base_path, oracle, rows)


def completed_file(base_path: Path, instant_time: str) -> Path:
    """The completed file of an instant."""
    (found,) = (
        path
        for path in instant_files(base_path, instant_time)
        if path.suffix not in (".requested", ".inflight", ".crc")
    )
    return found


# ---------------------------------------------------------------- rules 11 and 12


@thorough
def test_rule_11_control_hudi_ignores_blocks_of_another_instant(ruled, hudi, oracle: Oracle) -> None:
    """`log_files` finds files by the headers of their blocks, so the tests of rule 1 also check these headers."""
    table = ruled(oracle)
    (log,) = log_files(table.base_path, table.ours, FILES)
    change_blocks(log, with_header(HeaderKey.INSTANT_TIME, lambda time: str(int(time) + 1)))
    found = found_by_hudi(hudi(oracle.release), table)
    assert (found["all"], found["ours"]) == (len(table.before), 0)
    with pytest.raises(AssertionError):
        assert_describes_the_table(table.base_path)


@thorough
def test_rule_12_our_commit_completes_in_the_metadata_table_first(
    ruled, engine: Engine, oracle: Oracle
) -> None:
    table = ruled(oracle)
    storage = FaultyStorage(LocalStorage(str(table.base_path)))
    rows = as_table(our_rows(), SCHEMA)
    result = engine.write(table.base_path, rows, version=table.version, options=NEW_GROUPS, storage=storage)
    base_path = table.base_path
    own = completed_file(metadata_folder(base_path), result.instant_time)
    data = completed_file(base_path, result.instant_time)
    first, second = (storage.log.index(f"create {path.relative_to(base_path)}") for path in (own, data))
    logs = [storage.log.index(line) for line in storage.log if ".log." in line and ".hoodie/metadata" in line]
    assert max(logs) < first < second
    if oracle is V9:
        # Both may complete within a millisecond.
        assert own.name.partition("_")[2].partition(".")[0] <= data.name.partition("_")[2].partition(".")[0]


@thorough
def test_rule_12_control_hudi_ignores_a_commit_that_is_pending_in_the_metadata_table(
    ruled, hudi, oracle: Oracle
) -> None:
    table = ruled(oracle)
    remove_instant(metadata_folder(table.base_path), table.ours, only_completed=True)
    found = found_by_hudi(hudi(oracle.release), table)
    assert (found["all"], found["ours"]) == (len(table.before), 0)
    assert "metadata_commits_behind" in findings(table)
    with pytest.raises(AssertionError):
        assert_describes_the_table(table.base_path)


# ---------------------------------------------------------------- rule 14


@pytest.mark.thorough
def test_rule_14_control_hudi_reads_an_undone_commit_that_stays_in_the_metadata_table(
    ruled, hudi, tmp_path: Path
) -> None:
    """Hudi then lists files that do not exist. The test of rule 2 checks that our rollback removes the commit."""
    table, judge = ruled(V6_OLD), hudi("0.15.0")
    kept = Path(shutil.copytree(metadata_folder(table.base_path), tmp_path / "kept"))
    rollback(RollbackRequest(base_path=str(table.base_path), instants=(table.ours,)))
    assert list(timeline_folder(table.base_path).glob("*.rollback"))
    assert listed_by_hudi(judge, table.base_path) == files_in_folders(table.base_path)
    shutil.rmtree(metadata_folder(table.base_path))
    shutil.copytree(kept, metadata_folder(table.base_path))
    surplus = listed_by_hudi(judge, table.base_path).keys() - files_in_folders(table.base_path).keys()
    assert len(surplus) == 4
    assert all(path.endswith(f"_{table.ours}.parquet") for path in surplus)
    assert "metadata_commits_ahead" in findings(table)


# ---------------------------------------------------------------- rule 15


def versions_of_logs(base_path: Path, partition: str) -> dict[str, list[int]]:
    """Versions of the log files, by file group of a partition of the metadata table."""
    logs = [
        LogFile.from_file_name(path.name)
        for path in (metadata_folder(base_path) / partition).glob(".*.log.*")
        if path.suffix != ".crc"
    ]
    return {
        group: sorted(log.version for log in logs if log.file_id == group)
        for group in {log.file_id for log in logs}
    }


@pytest.mark.thorough
def test_rule_15_our_log_files_continue_the_versions_of_the_slice(ruled, hudi, engine: Engine) -> None:
    table, judge = ruled(V6_OLD), hudi("0.15.0")
    model = we_write(engine, table)
    rows = some_rows(range(12), 30, SCHEMA, ("a", "b", "c"))
    hudi_writes(judge, table.base_path, V6_OLD, rows)
    for partition in (FILES, RECORD_INDEX):
        for versions in versions_of_logs(table.base_path, partition).values():
            assert versions == list(range(1, len(versions) + 1))
    assert len(versions_of_logs(table.base_path, FILES).popitem()[1]) > 4
    assert found_by_hudi(judge, table) == expected(merged(model, rows))


@pytest.mark.thorough
def test_rule_15_control_if_two_logs_have_one_version_their_changes_may_be_swapped(
    ruled, hudi, engine: Engine
) -> None:
    """Readers order such files by their write tokens, so a deleted key may stay in the record index."""
    table, judge = ruled(V6_OLD), hudi("0.15.0")
    options = {"hoodie.datasource.write.partitions.to.delete": NEW_PARTITION}
    engine.write(
        table.base_path, as_table([], SCHEMA), version=6, operation="delete_partition", options=options
    )
    assert_describes_the_table(table.base_path)
    for log in log_files(table.base_path, newest_commit(table.base_path), RECORD_INDEX):
        version = LogFile.from_file_name(log.name).version
        log.rename(log.with_name(log.name.partition(".log.")[0] + f".log.{version - 1}_0-0-0"))
    with pytest.raises(AssertionError, match="no live file contains"):
        assert_describes_the_table(table.base_path)
    again = [{**row, "ts": 30} for row in our_rows() if row["part"] == NEW_PARTITION]
    with pytest.raises(HudiRefusedError, match="HoodieUpsertException"):
        hudi_writes(judge, table.base_path, V6_OLD, again)
