"""Every job and every write operation on one table in any storage. After each job, hudi-rs reads the table.

A test compares `STEPS` with the registry of services, so that a new job or operation cannot be left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from hudi_table_services.contract.archival import ArchiveReport
from hudi_table_services.contract.catalog.catalog_sync import CatalogReport
from hudi_table_services.contract.cleaning import CleanReport
from hudi_table_services.contract.clustering import ClusteringReport
from hudi_table_services.contract.config_check import ConfigReport, Severity
from hudi_table_services.contract.health import HealthReport
from hudi_table_services.contract.metadata_table import ALL, MetadataTableReport
from hudi_table_services.contract.recovery import OrphanReport
from hudi_table_services.model.instant import Action
from hudi_table_services.services.archival import ARCHIVE
from hudi_table_services.services.catalog import SYNC_CATALOG
from hudi_table_services.services.cleaning import CLEAN
from hudi_table_services.services.clustering import (
    CANCEL_CLUSTERING,
    EXECUTE_CLUSTERING,
    RUN_CLUSTERING,
    SCHEDULE_CLUSTERING,
)
from hudi_table_services.services.compaction import (
    CANCEL_COMPACTION,
    EXECUTE_COMPACTION,
    RUN_COMPACTION,
    SCHEDULE_COMPACTION,
)
from hudi_table_services.services.config_check import CHECK_CONFIG
from hudi_table_services.services.health import TABLE_HEALTH
from hudi_table_services.services.metadata_table import REBUILD_METADATA_TABLE
from hudi_table_services.services.orphans import REPAIR_ORPHAN_FILES
from hudi_table_services.services.recovery import RESTORE, ROLLBACK
from hudi_table_services.services.savepoints import CREATE_SAVEPOINT, DELETE_SAVEPOINT
from hudi_table_services.services.service import Script
from hudi_table_services.services.writing import UPSERT
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.catalogs.small_metastore import running_metastore
from support.compaction.written_table import NORTH, SOUTH, Deleted, WrittenTable, a_row
from support.fixed_clock import FixedClock
from support.small_tables import base_file_name
from support.spark.table_elsewhere import TableElsewhere

NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}


@dataclass(frozen=True)
class Step:
    """A part of the test.

    Attributes:
        act: runs jobs on the table and checks their results and the rows.
        scripts: scripts whose jobs the step runs.
        operations: write operations that the step performs, at least.
    """

    act: Callable[[TableElsewhere], None]
    scripts: tuple[Script[Any], ...]
    operations: tuple[str, ...] = ()


def cluster(table: TableElsewhere) -> None:
    for number in range(4):
        table.upsert([("a", number, "x"), (f"b{number}", number, "y")])
    table.check()
    table.run(RUN_CLUSTERING, sort_columns=("k",))
    table.check()


def clean_and_archive(table: TableElsewhere) -> None:
    # In version 6, an archival stops at the last compaction of the metadata table.
    for number in (5, 6):
        table.upsert([("a", number, "x")], {"hoodie.metadata.compact.max.delta.commits": "1"})
    cleaned = table.run(CLEAN, commits_retained=2, options=NO_FLOOR).report
    assert isinstance(cleaned, CleanReport)
    assert cleaned.file_count > 0
    table.check()
    archived = table.run(
        ARCHIVE, min_commits=3, max_commits=4, options={"hoodie.clean.commits.retained": "2"}
    ).report
    assert isinstance(archived, ArchiveReport)
    assert archived.archived_commits > 0
    table.check()


def recover(table: TableElsewhere) -> None:
    kept = dict(table.model)
    saved = table.run(CREATE_SAVEPOINT).instant_time
    undone = table.upsert([("c", 1, "x")])
    table.run(ROLLBACK, instants=(undone,))
    table.model = dict(kept)
    table.check()
    table.upsert([("d", 1, "y")])
    table.run(RESTORE, savepoint=saved)
    table.model = kept
    table.check()


def report_health(table: TableElsewhere) -> None:
    table.upsert([("e", 1, "z")])
    table.check()
    health = table.run(TABLE_HEALTH).report
    assert isinstance(health, HealthReport)
    assert (health.pending, health.measures["leftover_files"]) == ((), 0)


def delete_a_savepoint(table: TableElsewhere) -> None:
    saved = table.run(CREATE_SAVEPOINT).instant_time
    assert saved in savepoints(table)
    table.run(DELETE_SAVEPOINT, instants=(saved,))
    assert saved not in savepoints(table)
    table.check()


def savepoints(table: TableElsewhere) -> set[str]:
    timeline = load_snapshot(table.storage).timeline
    return {each.requested_time for each in timeline.completed if each.action is Action.SAVEPOINT}


def plan_clusterings(table: TableElsewhere) -> None:
    for path in "xyz":
        table.upsert([(f"{path}{number}", number, path) for number in range(3)])
    planned = table.run(SCHEDULE_CLUSTERING, sort_columns=("ts",)).instant_time
    table.run(CANCEL_CLUSTERING, instants=(planned,))
    assert not load_snapshot(table.storage).timeline.pending
    table.check()
    planned = table.run(SCHEDULE_CLUSTERING, sort_columns=("ts",)).instant_time
    executed = table.run(EXECUTE_CLUSTERING, instants=(planned,)).report
    assert isinstance(executed, ClusteringReport)
    assert [plan.state for plan in executed.plans] == ["completed"]
    table.check()


def compact(table: TableElsewhere) -> None:
    other = table.beside("merge_on_read")
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(milliseconds=1))
    written = WrittenTable(other.storage, table.version, clock)
    written.insert({NORTH: [a_row("a", 1), a_row("b", 1)], SOUTH: [a_row("c", 1)]})
    written.log({NORTH: [a_row("a", 2), Deleted("b")], SOUTH: [a_row("d", 1)]})
    planned = other.run(SCHEDULE_COMPACTION, ignore_trigger=True).instant_time
    other.run(CANCEL_COMPACTION, instants=(planned,))
    planned = other.run(SCHEDULE_COMPACTION, ignore_trigger=True).instant_time
    written.log({SOUTH: [a_row("d", 3)]})
    other.run(EXECUTE_COMPACTION, instants=(planned,))
    assert [(row["_hoodie_record_key"], row["ts"]) for row in written.base_rows()] == [
        ("a", 2),
        ("c", 1),
        ("d", 1),
    ]
    other.run(RUN_COMPACTION, ignore_trigger=True)
    assert [(row["_hoodie_record_key"], row["ts"]) for row in written.base_rows()] == [
        ("a", 2),
        ("c", 1),
        ("d", 3),
    ]


def write_log_files(table: TableElsewhere) -> None:
    logs = table.beside("logs", {"hoodie.table.type": "MERGE_ON_READ"})
    logs.upsert([("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")])
    logs.upsert([("a", 2, "x"), ("d", 2, "y")])
    logs.write([("b", 3, "x")], "delete")
    del logs.model["b"]
    logs.check()
    assert log_count(logs) >= 2
    kept = dict(logs.model)
    undone = logs.upsert([("a", 4, "x"), ("c", 4, "y")])
    logs.check()
    logs.run(ROLLBACK, instants=(undone,))
    logs.model = dict(kept)
    logs.check()
    saved = logs.run(CREATE_SAVEPOINT).instant_time
    logs.run(RUN_COMPACTION, ignore_trigger=True)
    assert log_count(logs) == 0
    logs.check()
    logs.upsert([("c", 5, "y")])
    logs.run(RESTORE, savepoint=saved)
    logs.model = kept
    logs.check()
    logs.upsert([("c", 6, "y")])
    logs.run(RUN_CLUSTERING, sort_columns=("k",))
    logs.check()
    assert log_count(logs) == 0


def log_count(table: TableElsewhere) -> int:
    return sum(len(each.log_files) for each in load_snapshot(table.storage).all_slices)


def repair(table: TableElsewhere) -> None:
    # The time in the file name is after the start of the active timeline, and no instant has this time.
    newest = load_snapshot(table.storage).timeline.completed[-1].requested_time
    never = newest[:-1] + ("1" if newest[-1] != "1" else "2")
    orphan = f"x/{base_file_name('orphan-0', never)}"
    table.storage.write(orphan, b"PAR1")
    report = table.run(REPAIR_ORPHAN_FILES, execute=True, older_than_hours=0).report
    assert isinstance(report, OrphanReport)
    assert ([each.path for each in report.files], report.deleted_count) == ([orphan], 1)
    assert not table.storage.exists(orphan)
    table.check()


def rebuild_the_metadata_table(table: TableElsewhere) -> None:
    table.run(REBUILD_METADATA_TABLE, drop=(ALL,))
    assert not load_snapshot(table.storage).config.metadata_partitions
    table.check()
    partitions = ("files", "column_stats", "record_index")
    built = table.run(REBUILD_METADATA_TABLE, partitions=partitions).report
    assert isinstance(built, MetadataTableReport)
    assert {each.name for each in built.built} == set(partitions)
    table.upsert([("a", 20, "x"), ("after the rebuild", 1, "y")])
    table.check()


def show_in_a_catalog(table: TableElsewhere) -> None:
    with running_metastore() as metastore:
        synced = table.run(SYNC_CATALOG, catalog="hms", metastore_uris=metastore.uri).report
    assert isinstance(synced, CatalogReport)
    paths = {row[2] for row in table.model.values()}
    assert [each.partitions_added for each in synced.tables] == [len(paths)]


def check_settings(table: TableElsewhere) -> None:
    report = table.run(CHECK_CONFIG).report
    assert isinstance(report, ConfigReport)
    assert not [each for each in report.findings if each.severity == Severity.ERROR.value]


def write_in_every_way(table: TableElsewhere) -> None:
    new = [("inserted", 1, "x"), ("inserted too", 1, "z")]
    table.write(new, "insert")
    more = [("bulk inserted", 1, "x")]
    table.write(more, "bulk_insert")
    table.model |= {row[0]: row for row in (*new, *more)}
    table.check()
    table.write(new, "delete")
    for key, *_ in new:
        del table.model[key]
    table.check()
    only = [("only one in x", 1, "x")]
    table.write(only, "insert_overwrite")
    table.model = {row[0]: row for row in (*table.model.values(), *only) if row[2] != "x" or row in only}
    table.check()
    table.write([], "delete_partition", {"hoodie.datasource.write.partitions.to.delete": "y"})
    table.model = {key: row for key, row in table.model.items() if row[2] != "y"}
    table.check()
    all_rows = [("new x", 1, "x"), ("new y", 1, "y")]
    table.write(all_rows, "insert_overwrite_table")
    table.model = {row[0]: row for row in all_rows}
    table.check()


SAMPLED = (
    Step(cluster, (UPSERT, RUN_CLUSTERING), ("upsert",)),
    Step(clean_and_archive, (CLEAN, ARCHIVE)),
    Step(recover, (CREATE_SAVEPOINT, ROLLBACK, RESTORE)),
    Step(report_health, (TABLE_HEALTH,)),
)
"""The steps of a sample. The steps run one after another on the same table."""

STEPS = (
    *SAMPLED,
    Step(delete_a_savepoint, (DELETE_SAVEPOINT,)),
    Step(plan_clusterings, (SCHEDULE_CLUSTERING, CANCEL_CLUSTERING, EXECUTE_CLUSTERING)),
    Step(compact, (SCHEDULE_COMPACTION, CANCEL_COMPACTION, EXECUTE_COMPACTION, RUN_COMPACTION)),
    Step(write_log_files, (UPSERT, ROLLBACK, RUN_COMPACTION, RESTORE, RUN_CLUSTERING), ("upsert", "delete")),
    Step(repair, (REPAIR_ORPHAN_FILES,)),
    Step(rebuild_the_metadata_table, (REBUILD_METADATA_TABLE,)),
    Step(check_settings, (CHECK_CONFIG,)),
    Step(show_in_a_catalog, (SYNC_CATALOG,)),
    Step(
        write_in_every_way,
        (UPSERT,),
        ("insert", "bulk_insert", "delete", "insert_overwrite", "delete_partition", "insert_overwrite_table"),
    ),
    Step(report_health, (TABLE_HEALTH,)),
)


def run_every_job(table: TableElsewhere, steps: Sequence[Step] = STEPS) -> None:
    """Run each job on a new table, and check the rows after each change."""
    for step in steps:
        step.act(table)
        assert {each.file_name for each in step.scripts} <= table.scripts
        assert set(step.operations) <= table.operations
