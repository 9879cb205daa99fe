"""Clusterings of merge-on-read tables on a Spark session, also of large groups and beside our writes."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.clustering import ClusteringReport, ClusteringRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.jobs.clustering.run import run_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.compaction.written_table import Deleted, WrittenTable, a_row
from support.depth import cases
from support.jobs_on_tables import later
from support.spark.writing import Row, TableUnderTest
from support.with_logs.clusterings_here import keys, merged_rows

VERSIONS = pytest.mark.parametrize("version", cases(["6", "8", "9"], ["9"]))
STRATEGY = "hoodie.clustering.plan.strategy."
OLD: list[Row] = [(f"k{i:03}", 1, "ab"[i % 2], float(i)) for i in range(200)]
MEMORY = {"hoodie.airflow.clustering.task.memory.bytes": str(1 << 20)}
TEXT = "".join(chr(33 + (i * 7919) % 90) for i in range(400))


def new_table(spark: SparkSession, base_path: Path, version: str) -> TableUnderTest:
    """A table with two file groups in each partition, and log files in all of them."""
    table = TableUnderTest(
        spark,
        base_path,
        hoodie__table__type="MERGE_ON_READ",
        hoodie__write__table__version=version,
        hoodie__parquet__small__file__limit="0",
    )
    table.has_default_metadata_table = version == "9"
    for part in (OLD[:100], OLD[100:]):
        table.write(part, "insert")
    table.write([(key, 2, partition, -1.0) for key, _, partition, _ in OLD[::3]])
    table.write(OLD[4:8], "delete")
    return table


def slices(table: TableUnderTest) -> list[tuple[int, int]]:
    """Number of file slices and of log files of each partition."""
    found = load_snapshot(LocalStorage(str(table.base_path))).file_slices
    return [(len(each), sum(len(s.log_files) for s in each)) for each in found.values() if each]


@VERSIONS
@pytest.mark.parametrize("layout", ["", "linear", "zorder"])
def test_a_clustering_merges_log_files_and_keeps_all_rows(
    spark: SparkSession, tmp_path: Path, version: str, layout: str
) -> None:
    table = new_table(spark, tmp_path / "t", version)
    rows = table.rows()
    assert [count for count, _ in slices(table)] == [2, 2]
    request = ClusteringRequest(
        base_path=str(table.base_path),
        request_id="same",
        sort_columns=("v", "k") if layout else (),
        layout=layout,
    )
    result = run_clustering(spark, request)
    assert result.outcome is Outcome.COMPLETED
    assert table.rows() == rows
    assert slices(table) == [(1, 0), (1, 0)]
    assert table.leftovers() == set()
    again = run_clustering(spark, request)
    assert again.reused
    # Writes continue on the new files.
    changed = [(key, 5, partition, 9.0) for key, _, partition, _ in rows[:10]]
    table.write(changed)
    expected = {row[0]: row for row in (*rows, *changed)}
    assert table.rows() == sorted(expected.values())
    assert sum(logs for _, logs in slices(table)) == 2


def large_table(folder: Path) -> WrittenTable:
    table = WrittenTable(LocalStorage(str(folder / "t")), clock=later(0))
    groups = [FileGroupId("a", f"g{n}") for n in range(3)]
    table.insert(
        {group: [a_row(f"k{n * 3 + i:05}", 1, TEXT) for n in range(4000)] for i, group in enumerate(groups)}
    )
    table.log(
        {
            group: [a_row(f"k{n * 3 + i:05}", 2 + n % 7, TEXT) for n in range(0, 4000, 2)]
            for i, group in enumerate(groups)
        }
    )
    table.log({groups[0]: [Deleted(f"k{n * 3:05}") for n in range(0, 4000, 5)]}, as_parquet=True)
    table.log({FileGroupId("a", "logs-only"): [a_row(f"x{n:05}", 3, TEXT) for n in range(3000)]})
    return table


@pytest.mark.parametrize("sorts", [True, False])
def test_groups_above_the_memory_of_a_task_keep_all_rows(
    spark: SparkSession, tmp_path: Path, sorts: bool
) -> None:
    table = large_table(tmp_path)
    before = merged_rows(table.storage)
    size = sum(s.size_bytes for s in table.snapshot.all_slices)
    request = ClusteringRequest(
        base_path=table.storage.base_path,
        sort_columns=("ts", "id") if sorts else (),
        options={
            **MEMORY,
            f"{STRATEGY}target.file.max.bytes": str(size // 4),
            f"{STRATEGY}small.file.limit": str(size // 4),
            f"{STRATEGY}max.bytes.per.group": str(size * 2),
            "hoodie.logfile.to.parquet.compression.ratio": "0.5",
        },
    )
    result = run_clustering(spark, request)
    assert result.outcome is Outcome.COMPLETED
    after = table.base_rows()
    columns = ("_hoodie_record_key", "_hoodie_commit_time", "_hoodie_commit_seqno", "ts", "s")
    assert [[r[c] for c in columns] for r in after] == [[r[c] for c in columns] for r in before]
    assert len(before) == 12_000 - 800 + 3000
    found = table.snapshot.all_slices
    assert len(found) > 1
    assert not any(s.log_files for s in found)
    counts = [f.rows for p in report_of(result).plans for f in p.groups]
    assert sum(count or 0 for count in counts) == len(before)


def report_of(result: JobResult) -> ClusteringReport:
    report = result.report_as(ClusteringReport)
    assert report is not None
    return report


@VERSIONS
def test_a_write_releases_the_file_groups_that_get_its_log_files(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    table = new_table(spark, tmp_path / "t", version)
    rows = table.rows()
    table.schedule()
    change = next((key, 7, partition, 1.5) for key, _, partition, _ in rows if partition == "a")
    table.write([change])
    expected = sorted({**{row[0]: row for row in rows}, change[0]: change}.values())
    assert table.rows() == expected
    (pending,) = table.timeline_store().load().pending
    assert pending.action in (Action.CLUSTERING, Action.REPLACE_COMMIT)
    table.execute()
    assert table.rows() == expected
    assert [count for count, _ in slices(table)] == [2, 1]
    table.schedule()
    table.execute()
    assert table.rows() == expected
    assert slices(table) == [(1, 0), (1, 0)]


def test_merged_rows_have_the_keys_that_hudi_rs_reads(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(spark, tmp_path / "t", "9")
    assert [key for key, _ in keys(merged_rows(LocalStorage(str(table.base_path))))] == [
        row[0] for row in table.rows()
    ]
