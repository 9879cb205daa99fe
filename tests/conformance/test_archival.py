"""Archival shared with real Hudi: Hudi reads and extends our archive, and we read and extend an archive of Hudi.

Oracles: Hudi 0.15.0 on table version 6 (whose archive is a log) and Hudi 1.2.0 on version 9 (whose archive is the
LSM timeline). hudi-rs also reads the tables.
"""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudi_table_services.contract.archival import ArchiveReport, ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from judges.clusterings import BLOOM, STORED, assert_all_read, call_procedure
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.oracle import ONLY_NEWEST_SAMPLED, V9, Oracle
from judges.rows import Model, as_table, assert_rows_equal, merged, some_rows
from support.fixed_clock import FixedClock

OUR_LIMITS = {"hoodie.clean.commits.retained": "1", "hoodie.timeline.compaction.batch.size": "2"}
THEIR_LIMITS = {
    "archive__automatic": "true",
    "keep__min__commits": "2",
    "keep__max__commits": "3",
    "clean__automatic": "true",
    "clean__commits__retained": "1",
    "cleaner__commits__retained": "1",
    "timeline__compaction__batch__size": "2",
}


def our_archival(base_path: Path) -> ArchiveReport:
    """Clean the table and archive its timeline, both with a clock two hours ahead."""
    later = FixedClock(datetime.now(timezone.utc) + timedelta(hours=2))
    clean(CleanRequest(base_path=str(base_path), commits_retained=1), clock=later)
    request = ArchiveRequest(base_path=str(base_path), min_commits=2, max_commits=3, options=OUR_LIMITS)
    report = archive(request, clock=later).report
    assert report is not None
    return report


def archived(base_path: Path) -> list[ArchivedWrite]:
    storage = open_storage(str(base_path), {})
    return list(ArchivedTimeline(storage, read_table_config(storage)).writes())


def active(base_path: Path) -> dict[str, CommitMetadata]:
    storage = open_storage(str(base_path), {})
    store = TimelineStore(storage, read_table_config(storage), SystemClock())
    return {i.requested_time: store.commit_metadata(i) for i in store.load().completed_writes}


def times_archived(base_path: Path) -> list[str]:
    return [each.instant.requested_time for each in archived(base_path)]


def shown_by_hudi(judge: HudiJudge, base_path: Path, oracle: Oracle) -> list[str]:
    """Requested times of the commits that Hudi finds in the archive."""
    all_times = "limit => 100, start_ts => '20000101000000000', end_ts => '20990101000000000'"
    shown = call_procedure(judge, base_path, "show_archived_commits", all_times, oracle)
    return sorted(str(row["commit_time"]) for row in shown)


def written_by_hudi(
    judge: HudiJudge, base_path: Path, oracle: Oracle, model: Model, versions: range, **more: str
) -> Model:
    """Let Hudi write rows once for each ordering value in ``versions``, and return the model after these writes."""
    for version in versions:
        rows = some_rows([0, 1, 5, *range(40, 45)], version)
        judge.write(base_path, as_table(rows), oracle.options("t", **{**BLOOM, **more}))
        model = merged(model, rows)
    return model


@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_hudi_reads_our_archive_and_appends_to_it_and_we_append_to_the_result(
    hudi, fragmented, engine: Engine, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), fragmented(oracle.table_version)
    engine.schedule_clustering(base_path)
    engine.execute_clustering(base_path)
    model = written_by_hudi(judge, base_path, oracle, STORED, range(3, 6))
    said = active(base_path)
    from_the_start = judge.read_incremental(base_path, "0") if oracle is V9 else None
    report = our_archival(base_path)
    assert report.archived_commits == len(said) - 2, report.retention
    assert report.archived_services == 0
    assert times_archived(base_path) == sorted(said)[:-2]
    assert shown_by_hudi(judge, base_path, oracle) == sorted(said)[:-2]
    for each in archived(base_path):
        assert each.metadata.extra_metadata == said[each.instant.requested_time].extra_metadata
        assert each.metadata.write_stats == said[each.instant.requested_time].write_stats
    assert_all_read(judge, base_path, model, oracle)
    if (
        from_the_start is not None
    ):  # after an archival, an incremental query of Hudi 0.15 begins at the active timeline
        assert_rows_equal(
            judge.read_incremental(base_path, "0"), model, "an incremental query of archived commits"
        )
        assert judge.read_incremental(base_path, "0").num_rows == from_the_start.num_rows

    model = written_by_hudi(judge, base_path, oracle, model, range(6, 9), **THEIR_LIMITS)
    everything = sorted({*times_archived(base_path), *active(base_path)})
    assert len(everything) == len(said) + 3
    assert len(times_archived(base_path)) > report.archived_commits, "Hudi appended no commit to our archive"
    assert shown_by_hudi(judge, base_path, oracle) == times_archived(base_path)
    assert_all_read(judge, base_path, model, oracle)

    model = written_by_hudi(judge, base_path, oracle, model, range(9, 11))
    our_archival(base_path)
    assert times_archived(base_path) == shown_by_hudi(judge, base_path, oracle)
    assert len(times_archived(base_path)) == len(said) + 3
    assert_all_read(judge, base_path, model, oracle)
    assert len(active(base_path)) == 2
