"""Scheduling, execution and cancellation of clusterings: the rows, the files and the results are as expected."""

import dataclasses
import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.clustering import ClusteringPlanReport
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.services.registry import read_result
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from support.depth import cases
from support.spark.writing import Row, TableUnderTest

NO_PADDING = {"hoodie__parquet__small__file__limit": "0"}
BATCHES = 4


def rows_of_batch(number: int, rows: int = 30) -> list[Row]:
    return [
        (f"k{number}-{i}", number, "ab"[i % 2], None if i % 7 == 0 else float(i * 37 % 101 - 50))
        for i in range(rows)
    ]


def with_small_files(spark: SparkSession, base_path: Path, version: str = "6") -> TableUnderTest:
    table = TableUnderTest(spark, base_path, hoodie__write__table__version=version, **NO_PADDING)
    for number in range(BATCHES):
        table.write(rows_of_batch(number), "insert")
    return table


@pytest.fixture(scope="module")
def small_files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TableUnderTest:
    """A table of version 6 with two partitions of four files each; tests that change the table use a copy."""
    return with_small_files(spark, tmp_path_factory.mktemp("clustering") / "t")


@pytest.fixture
def table(small_files: TableUnderTest, tmp_path: Path) -> TableUnderTest:
    return small_files.copied_to(tmp_path / "t")


def only_plan(result: JobResult) -> ClusteringPlanReport:
    assert result.report is not None
    (plan,) = result.report.plans
    return plan


def values(path: Path, column: str) -> list[object]:
    return pq.ParquetFile(path).read(columns=[column])[column].to_pylist()


@pytest.mark.parametrize("version", cases(["6", "8", "9"], ["6"]))
def test_the_small_files_of_a_partition_become_one_file_with_the_same_rows(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    table = with_small_files(spark, tmp_path / "t", version)
    before, records = table.rows(), {r["k"]: r for r in table.records()}
    plan = only_plan(table.schedule())
    assert [(g.partition_path, g.input_files, g.expected_files) for g in plan.groups] == [
        ("a", 4, 1),
        ("b", 4, 1),
    ]
    result = table.execute(plan.instant_time)
    assert table.rows() == before
    assert {path: len(files) for path, files in table.live_files().items()} == {"a": 1, "b": 1}
    assert (result.files_before.file_count, result.files_after.file_count) == (8, 2)
    assert only_plan(result).rows_checked == len(before)
    assert table.leftovers() == set()
    for record in table.records():
        old = records[record["k"]]
        for column in (
            "_hoodie_commit_time",
            "_hoodie_commit_seqno",
            "_hoodie_record_key",
            "_hoodie_partition_path",
        ):
            assert record[column] == old[column]
        assert record["_hoodie_file_name"] != old["_hoodie_file_name"]
    table.write([("k1-1", 9, "b", 1.0), ("new", 9, "a", 2.0)])
    assert ("k1-1", 9, "b", 1.0) in table.rows()
    assert len(table.rows()) == len(before) + 1


def test_a_clustered_table_is_not_clustered_again_with_the_same_options(table: TableUnderTest) -> None:
    for options in ({}, {"sort_columns": ("v",)}):
        table.schedule(**options)
        table.execute()
        again = table.schedule(**options)
        assert again.outcome is Outcome.NOTHING_TO_DO
        assert "already clustered with these options" in again.reason
    assert table.schedule(sort_columns=("ts",)).outcome is Outcome.COMPLETED


def test_the_footer_gives_the_layout_of_a_file_whose_clustering_is_archived(table: TableUnderTest) -> None:
    table.schedule(sort_columns=("v",))
    table.execute()
    kept = {path for files in table.live_files().values() for path in files}
    for path in set(table.base_path.glob("[ab]/*.parquet")) - kept:
        path.unlink()  # as a clean does; Hudi archives a clustering only after a clean of the replaced files
    archived = [
        p for p in (table.base_path / ".hoodie").iterdir() if "commit" in p.name or p.suffix == ".inflight"
    ]
    for path in archived:
        path.unlink()
    table.write([("last", 9, "c", 1.0)], "insert")
    planned = only_plan(table.schedule(sort_columns=("v",), preview=True))
    assert [group.partition_path for group in planned.groups] == ["c"]
    others = only_plan(table.schedule(sort_columns=("k",), preview=True))
    assert sorted(group.partition_path for group in others.groups) == ["a", "b", "c"]


def test_rows_are_sorted_with_nulls_first(table: TableUnderTest) -> None:
    before = table.rows()
    table.schedule(sort_columns=("v", "k"))
    result = table.execute()
    assert table.rows() == before
    for files in table.live_files().values():
        pairs = [pair for path in files for pair in zip(values(path, "v"), values(path, "k"), strict=True)]
        assert pairs == sorted(pairs, key=lambda pair: (pair[0] is not None, pair[0] or 0.0, pair[1]))
        assert pairs[0][0] is None
    assert [c.column for c in only_plan(result).skipping] == ["v", "k"]


@pytest.mark.parametrize("layout", ["linear", "zorder", "hilbert"])
@pytest.mark.parametrize("memory", ["1048576", "536870912"])
def test_every_layout_keeps_all_rows_in_memory_and_through_an_exchange(
    spark: SparkSession, tmp_path: Path, layout: str, memory: str
) -> None:
    table = TableUnderTest(spark, tmp_path / "t", **NO_PADDING)
    for number in range(3):
        table.write(
            [
                (
                    f"{number}-{i:05d}" + "x" * 40,
                    i * 7919 % 10_007,
                    "a",
                    None if i % 11 == 0 else -1.0 * (i % 97),
                )
                for i in range(8_000)
            ],
            "insert",
        )
    before = table.rows()
    largest = max(p.stat().st_size for p in table.live_files()["a"])
    sizes = {
        "hoodie.airflow.clustering.size.tolerance": "0",
    }
    # All three files are smaller than the limit, so the plan contains all of them.
    sizes["hoodie.clustering.plan.strategy.small.file.limit"] = str(largest + 1)
    sizes["hoodie.clustering.plan.strategy.target.file.max.bytes"] = str((largest * 3 + 1) // 2)
    plan = only_plan(table.schedule(sort_columns=("v", "ts"), layout=layout, options=sizes))
    assert [g.expected_files for g in plan.groups] == [2]
    result = table.execute(options={"hoodie.airflow.clustering.task.memory.bytes": memory})
    assert table.rows() == before
    files = table.live_files()["a"]
    counts = [pq.ParquetFile(path).metadata.num_rows for path in files]
    assert sorted(counts) == [12_000, 12_000]
    before_after = {c.column: (c.before, c.after) for c in only_plan(result).skipping}
    if layout == "linear":
        assert before_after["v"][1] < before_after["v"][0]
    assert all(after <= before for before, after in before_after.values())
    assert table.leftovers() == set()


def test_rows_are_sorted_if_the_rows_of_one_value_exceed_the_task_memory(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableUnderTest(spark, tmp_path / "t", **NO_PADDING)
    for number in range(2):
        rows = [(f"{number}-{i:05d}" + "y" * 60, i, "a", 1.0 if i % 10 else float(i)) for i in range(15_000)]
        table.write(rows, "insert")
    before = table.rows()
    table.schedule(sort_columns=("v",))
    table.execute(options={"hoodie.airflow.clustering.task.memory.bytes": "1048576"})
    assert table.rows() == before
    (path,) = table.live_files()["a"]
    assert values(path, "v") == sorted(v for _, _, _, v in before)


def test_a_clustering_without_sorting_gives_each_file_the_same_number_of_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableUnderTest(spark, tmp_path / "t", **NO_PADDING)
    for number, count in enumerate((5_000, 3_000, 4_000)):
        table.write([(f"{number}-{i:05d}", i, "a", float(i * 31 % 1009)) for i in range(count)], "insert")
    before = table.rows()
    total = sum(p.stat().st_size for p in table.live_files()["a"])
    options = {
        "hoodie.clustering.plan.strategy.small.file.limit": str(total),
        "hoodie.clustering.plan.strategy.target.file.max.bytes": str(total),
        "hoodie.clustering.plan.strategy.max.bytes.per.group": str(2 * total),
        "hoodie.airflow.clustering.size.tolerance": "0",
        "hoodie.airflow.clustering.parity": "true",
    }
    options["hoodie.clustering.plan.strategy.target.file.max.bytes"] = str(total // 2 + 1)
    plan = only_plan(table.schedule(options=options))
    assert [g.expected_files for g in plan.groups] == [2]
    table.execute(options={"hoodie.airflow.clustering.task.memory.bytes": "1048576"})
    assert table.rows() == before
    assert [pq.ParquetFile(p).metadata.num_rows for p in table.live_files()["a"]] == [6_000, 6_000]


def test_a_clustering_can_sort_by_columns_of_every_type_with_an_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = (
        "k string, ts bigint, p string, n decimal(20,4), d date, t timestamp, b boolean, f float, x binary, s string, "
        "l array<int>"
    )
    table = TableUnderTest(spark, tmp_path / "t", **NO_PADDING)
    for number in range(3):
        table.write(
            [
                (
                    f"{number}-{i}", i, "a",
                    None if i % 5 == 0 else Decimal(i * 13 % 29 - 14) / 3,
                    date(2020, 1, 1 + i % 28), datetime(2020, 1, 1 + i % 28, tzinfo=timezone.utc),
                    None if i % 4 == 0 else i % 2 == 0, float("nan") if i % 9 == 0 else -1.5 * (i % 5), bytes([i % 7]),
                    None if i % 6 == 0 else "long common prefix " + "äöü"[i % 3] * (i % 4), [i],
                )
                for i in range(40)
            ],
            "insert",
            schema=schema,
        )  # fmt: skip
    before = sorted(json.dumps(r, default=str, sort_keys=True) for r in without_file(table))
    for layout in ("linear", "zorder", "hilbert"):
        table.schedule(sort_columns=("n", "d", "t", "b", "f", "x", "s"), layout=layout)
        table.execute(options={"hoodie.airflow.clustering.task.memory.bytes": "1048576"})
        assert sorted(json.dumps(r, default=str, sort_keys=True) for r in without_file(table)) == before
    numbers = [n for path in table.live_files()["a"] for n in values(path, "n")]
    assert len(numbers) == 120


def without_file(table: TableUnderTest) -> list[dict[str, object]]:
    return [{k: v for k, v in r.items() if k != "_hoodie_file_name"} for r in table.records()]


def test_a_second_execution_of_a_plan_writes_nothing(table: TableUnderTest) -> None:
    plan = only_plan(table.schedule())
    first = table.execute(plan.instant_time)
    files = table.files()
    second = table.execute(plan.instant_time)
    assert (first.reused, second.reused, second.instant_time) == (False, True, first.instant_time)
    assert table.files() == files
    assert table.execute().outcome is Outcome.NOTHING_TO_DO


def test_a_repeated_request_schedules_no_second_plan(table: TableUnderTest) -> None:
    first = table.schedule(request_id="same")
    again = table.schedule(request_id="same")
    assert (again.reused, again.instant_time) == (True, first.instant_time)
    table.execute()
    assert only_plan(table.schedule(request_id="same")).state == "completed"


def test_each_sub_plan_has_its_own_commit(table: TableUnderTest) -> None:
    before = table.rows()
    result = table.schedule(options={"hoodie.airflow.clustering.groups.per.plan": "1"})
    assert result.report is not None
    assert len(result.report.instants) == 2
    done = table.execute()
    assert done.report is not None
    assert [plan.state for plan in done.report.plans] == ["completed", "completed"]
    assert table.rows() == before


def test_a_preview_writes_nothing(table: TableUnderTest) -> None:
    files = table.files()
    result = table.schedule(preview=True, sort_columns=("v",))
    assert (result.outcome, only_plan(result).state) == (Outcome.PLANNED, "previewed")
    assert (result.files_before.file_count, result.files_after.file_count) == (8, 2)
    assert table.files() == files


def test_every_n_commits_counts_from_the_last_clustering(table: TableUnderTest) -> None:
    early = table.schedule(every_n_commits=BATCHES + 1)
    assert early.outcome is Outcome.NOTHING_TO_DO
    assert "due after 5 commits; the table has 4 and no clustering yet" in early.reason
    scheduled = table.schedule(every_n_commits=BATCHES)
    assert scheduled.outcome is Outcome.COMPLETED
    table.write([("c", 1, "a", 1.0)], "insert")
    waiting = table.schedule(every_n_commits=2)
    assert (
        f"due after 2 commits; the table has 1 since clustering {scheduled.instant_time} (requested)"
        in waiting.reason
    )
    table.execute()
    table.write([("d", 1, "a", 1.0)], "insert")
    table.write([("e", 1, "a", 1.0)], "insert")
    counted = table.schedule(every_n_commits=2).report
    assert counted is not None
    assert counted.commit_count == 3


def test_nothing_is_scheduled_if_the_maximum_number_of_plans_is_pending(table: TableUnderTest) -> None:
    for partition in ("a", "b"):
        assert table.schedule(partitions=(partition,)).outcome is Outcome.COMPLETED
    capped = table.schedule()
    assert "the table has 2 pending plans" in capped.reason
    assert (
        table.schedule(options={"hoodie.airflow.clustering.max.pending.plans": "0"}).outcome
        is Outcome.NOTHING_TO_DO
    )


def test_an_execution_of_a_cancelled_plan_reports_the_cancellation(table: TableUnderTest) -> None:
    before, plan = table.rows(), only_plan(table.schedule())
    assert table.cancel(plan.instant_time, preview=True).outcome is Outcome.PLANNED
    assert table.cancel(plan.instant_time).outcome is Outcome.COMPLETED
    again = table.cancel(plan.instant_time)
    assert (again.outcome, again.reused) == (Outcome.COMPLETED, True)
    assert f"clustering {plan.instant_time} was cancelled" in again.reason
    executed = table.execute(plan.instant_time)
    assert executed.outcome is Outcome.NOTHING_TO_DO
    assert "was cancelled: rollback" in executed.reason
    assert table.rows() == before
    assert table.leftovers() == set()
    table.write([("k0-1", 9, "b", 1.0)])
    assert table.schedule().outcome is Outcome.COMPLETED


def test_the_commit_contains_the_request_id_and_the_schema(table: TableUnderTest) -> None:
    table.schedule()
    result = table.execute(request_id="mine")
    storage = LocalStorage(str(table.base_path))
    store = TimelineStore(storage, read_table_config(storage), None)  # type: ignore[arg-type]
    (instant,) = [i for i in store.load().completed_writes if i.requested_time == result.instant_time]
    metadata = store.commit_metadata(instant)
    assert metadata.extra_metadata[REQUEST_ID_KEY] == "mine"
    assert "schema" in metadata.extra_metadata
    assert metadata.operation_type.value == "CLUSTER"
    assert {p: len(ids) for p, ids in (metadata.partition_to_replace_file_ids or {}).items()} == {
        "a": 4,
        "b": 4,
    }


def test_a_column_that_is_newer_than_a_file_is_null_in_the_rows_of_the_file(table: TableUnderTest) -> None:
    table.write(
        [("wide", 9, "a", 1.0, "more")],
        "insert",
        schema="k string, ts bigint, p string, v double, extra string",
    )
    table.schedule()
    table.execute()
    (path,) = table.live_files()["a"]
    extra = values(path, "extra")
    assert extra.count(None) == len(extra) - 1


def test_a_reader_can_still_read_the_old_files_after_a_clustering(table: TableUnderTest) -> None:
    old = [pq.ParquetFile(path) for paths in table.live_files().values() for path in paths]
    table.schedule()
    table.execute()
    assert sum(file.read().num_rows for file in old) == len(table.rows())


def test_a_result_equals_the_result_read_from_its_document(table: TableUnderTest) -> None:
    table.schedule(sort_columns=("v",))
    result = table.execute()
    assert read_result(result.to_json()) == dataclasses.replace(result)
