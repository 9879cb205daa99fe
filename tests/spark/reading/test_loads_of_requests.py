"""Requests whose source is a Hudi table: repeated requests, begins of loads, and sources that cannot be continued."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs import change_loads
from hudi_table_services.jobs.change_source import check_load
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.services.registry import script
from support.spark.log_tables import LogTable, Row, new_log_table

NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}
SQL = "WITH loud AS (SELECT k, ts, p, upper(v) AS v FROM source) SELECT * FROM loud"


def request_of(source: LogTable, target: LogTable, request_id: str = "", **fields: Any) -> UpsertRequest:
    named = {"request_id": request_id} if request_id else {}
    values = {"table": str(source.base_path), "sql": SQL}
    operation = fields.pop("operation", "upsert")
    return UpsertRequest(
        base_path=str(target.base_path),
        table_name="t",
        operation=operation,
        source=SourceSpec(**{**values, **fields}),
        record_key=("k",),
        partition_by=("p",),
        ordering_field="ts",
        options=target.options,
        **named,
    )


def load(
    spark: SparkSession, source: LogTable, target: LogTable, request_id: str = "", **fields: Any
) -> JobResult:
    request = request_of(source, target, request_id, **fields)
    job = script("upsert_with_sizing.py")
    return job.start_without_spark(request) or job.run(spark, request)


def expected(source: LogTable) -> list[Row]:
    return [(k, ts, p, v.upper()) for k, ts, p, v in source.rows()]


@pytest.fixture
def source(tmp_path: Path) -> LogTable:
    made = new_log_table(tmp_path / "s", 9, hoodie__table__type="COPY_ON_WRITE")
    made.write([("a", 1, "p0", "a1"), ("b", 1, "p0", "b1"), ("c", 1, "p1", "c1")])
    return made


@pytest.fixture
def target(tmp_path: Path) -> LogTable:
    return new_log_table(tmp_path / "t", 9, hoodie__table__type="COPY_ON_WRITE")


def test_a_repeated_request_returns_its_commit_and_the_next_request_continues(
    spark: SparkSession, source: LogTable, target: LogTable
) -> None:
    first = load(spark, source, target, "dag/1/load")
    assert (first.request_id, first.rows.inserted) == ("dag/1/load", 3)
    source.write([("a", 2, "p0", "")], "delete")
    source.write([("b", 2, "p0", "b2")])
    again = load(spark, source, target, "dag/1/load")
    assert (again.reused, again.instant_time) == (True, first.instant_time)
    second = load(spark, source, target, "dag/2/load")
    assert (second.rows.updated, second.rows.deleted) == (1, 1)
    assert target.rows() == expected(source)
    third = load(spark, source, target, "dag/3/load")
    assert third.outcome is Outcome.NOTHING_TO_DO
    position = source.newest()[0].visible_from
    assert third.reason.endswith(
        f"has no commit after {position}, the position of the chain {chain_of(source)!r}"
    )


def chain_of(source: LogTable) -> str:
    return str(source.base_path).strip("/")


def test_a_load_that_another_load_overtook_continues_from_its_position(
    spark: SparkSession, source: LogTable, target: LogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, nested = change_loads.changes_of, [True]

    def slow(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        if nested.pop() if nested else False:
            load(spark, source, target, "dag/fast/load")
            source.write([("b", 2, "p0", "b2")])
        return found

    monkeypatch.setattr(change_loads, "changes_of", slow)
    result = load(spark, source, target, "dag/slow/load")
    assert (result.request_id, result.reused, result.rows.updated) == ("dag/slow/load", False, 1)
    assert target.rows() == expected(source)
    assert load(spark, source, target, "dag/slow/load").instant_time == result.instant_time


def test_a_row_that_the_query_leaves_out_after_a_change_is_deleted(
    spark: SparkSession, source: LogTable, target: LogTable
) -> None:
    sql = "SELECT concat(k, '-', p) AS k, ts, p, v FROM source WHERE v <> 'gone'"
    load(spark, source, target, sql=sql)
    source.write([("a", 2, "p0", "gone"), ("b", 2, "p0", "b2")])
    result = load(spark, source, target, sql=sql)
    assert (result.rows.updated, result.rows.deleted, result.rows.superseded) == (1, 1, 0)
    source.write([("c", 2, "p1", "")], "delete")
    source.write([("c", 3, "p0", "c3")])
    source.write([("a", 3, "p0", "a3")])
    load(spark, source, target, sql=sql)
    assert target.rows() == [(f"{k}-{p}", ts, p, v) for k, ts, p, v in source.rows()]


def test_a_target_can_be_a_source_without_a_query(
    spark: SparkSession, source: LogTable, target: LogTable, tmp_path: Path
) -> None:
    last = new_log_table(tmp_path / "last", 9)
    for rows in ([], [("b", 2, "p0", "b2")]):
        if rows:
            source.write(rows)
            source.write([("a", 3, "p0", "")], "delete")
        load(spark, source, target, sql=None)
        load(spark, target, last, sql=None)
        assert last.rows() == target.rows() == source.rows()


def test_a_pending_write_of_a_source_of_version_6_ends_the_window(
    spark: SparkSession, target: LogTable, tmp_path: Path
) -> None:
    source = new_log_table(tmp_path / "old", 6, hoodie__table__type="COPY_ON_WRITE")
    source.write([("a", 1, "p0", "a1")])
    source.write([("b", 1, "p1", "b1")])
    second = source.base_path / ".hoodie" / f"{source.newest()[0].requested_time}.commit"
    source.write([("c", 1, "p0", "c1")])
    completed = second.read_bytes()
    second.unlink()
    load(spark, source, target)
    assert target.rows() == [("a", 1, "p0", "A1")]
    second.write_bytes(completed)
    load(spark, source, target)
    assert target.rows() == expected(source)


def test_the_first_load_can_begin_after_a_commit(
    spark: SparkSession, source: LogTable, target: LogTable
) -> None:
    late = source.newest()[0].visible_from
    source.write([("d", 1, "p1", "d1")])
    for number in range(2):
        load(spark, source, target, f"dag/{number}/load", first_begin=late)
    assert target.rows() == [("d", 1, "p1", "D1")]


def test_each_load_from_the_earliest_commit_writes_although_the_position_stays(
    spark: SparkSession, source: LogTable, target: LogTable
) -> None:
    load(spark, source, target, "dag/1/load")
    for number in (2, 3):
        target.write([("a", 9, "p0", "")], "delete")
        result = load(spark, source, target, f"dag/{number}/load", begin="earliest")
        assert result.rows.inserted == 1
    assert target.rows() == expected(source)


def test_a_begin_after_the_position_is_refused(
    spark: SparkSession, source: LogTable, target: LogTable
) -> None:
    load(spark, source, target)
    source.write([("b", 2, "p0", "b2")])
    later = source.newest()[0].visible_from
    with pytest.raises(InvalidRequestError, match=f"A load from {later} would skip the changes"):
        load(spark, source, target, begin=later)


def test_the_error_about_a_cleaned_source_names_both_tables_and_a_remedy_that_works(
    spark: SparkSession, source: LogTable, target: LogTable
) -> None:
    load(spark, source, target)
    position = source.newest()[0].visible_from
    source.write([("a", 2, "p0", "")], "delete")
    for number in range(2, 6):
        source.write([("b", number, "p0", f"b{number}"), ("c", number, "p1", f"c{number}")])
    cleaning = CleanRequest(base_path=str(source.base_path), commits_retained=1, options=NO_FLOOR)
    clean(cleaning, storage=source.storage)
    with pytest.raises(InvalidRequestError) as refused:
        load(spark, source, target)
    for words in (
        str(source.base_path),
        str(target.base_path),
        position,
        "insert_overwrite_table",
        "earliest",
    ):
        assert words in str(refused.value)
    load(spark, source, target, operation="insert_overwrite_table", begin="earliest")
    assert target.rows() == expected(source)
    assert load(spark, source, target).outcome is Outcome.NOTHING_TO_DO


def test_a_target_of_two_sources_cannot_be_overwritten_from_one_source(
    spark: SparkSession, source: LogTable, target: LogTable, tmp_path: Path
) -> None:
    other = new_log_table(tmp_path / "other", 6)
    other.write([("x", 1, "p9", "x1")])
    load(spark, source, target)
    load(spark, other, target)
    with pytest.raises(InvalidRequestError, match="also contains the rows of the chain"):
        load(spark, source, target, operation="insert_overwrite_table", begin="earliest")
    assert target.rows() == sorted(expected(source) + expected(other))


def test_a_load_is_refused_if_the_source_has_undone_a_loaded_commit(
    spark: SparkSession, source: LogTable, target: LogTable
) -> None:
    source.write([("b", 2, "p0", "b2")])
    load(spark, source, target)
    undone = source.newest()[0].requested_time
    rollback(RollbackRequest(base_path=str(source.base_path), instants=(undone,)), storage=source.storage)
    with pytest.raises(InvalidRequestError, match="has undone the commit"):
        load(spark, source, target)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"table": "/nowhere"}, "/nowhere is not a Hudi table"),
        ({"sql": "SELECT nothing FROM source"}, "The source query .* cannot be run"),
        ({"begin": "tomorrow"}, "not a point in time"),
    ],
)
def test_wrong_sources_are_refused_before_anything_is_written(
    spark: SparkSession, source: LogTable, target: LogTable, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        load(spark, source, target, **fields)
    assert not target.base_path.exists()


@pytest.mark.parametrize(
    ("sql", "step"),
    [
        ("SELECT p AS k, max(ts) AS ts, p, 'x' AS v FROM source GROUP BY p", "Aggregate"),
        (
            "WITH a AS (SELECT p, max(ts) AS t FROM source GROUP BY p) SELECT s.* FROM source s JOIN a USING (p)",
            "Agg",
        ),
        ("SELECT k, ts, p, CAST(row_number() OVER (ORDER BY ts) AS STRING) AS v FROM source", "Window"),
        ("SELECT * FROM source LIMIT 2", "GlobalLimit"),
        ("SELECT DISTINCT * FROM source", "Distinct"),
        ("SELECT * FROM source EXCEPT SELECT * FROM source WHERE ts = 1", "Except"),
        ("SELECT s.* FROM source s LEFT ANTI JOIN source o ON o.ts > s.ts", "Join of the source with itself"),
        ("SELECT * FROM source WHERE ts = (SELECT max(ts) FROM source)", "Aggregate"),
        (
            "SELECT * FROM source s WHERE EXISTS (SELECT 1 FROM source o WHERE o.k > s.k)",
            "Filter of the source",
        ),
        ("WITH a AS (SELECT * FROM source), b AS (SELECT * FROM a) SELECT max(k) AS k FROM b", "Aggregate"),
    ],
)
def test_a_query_that_combines_rows_is_refused(
    spark: SparkSession, source: LogTable, target: LogTable, sql: str, step: str
) -> None:
    with pytest.raises(InvalidRequestError, match=f"combines rows of the source \\({step}.*changed_groups"):
        load(spark, source, target, sql=sql)
    assert not target.base_path.exists()


def test_a_query_may_aggregate_other_rows(spark: SparkSession, source: LogTable, target: LogTable) -> None:
    other = "SELECT max(id) AS id FROM range(3)"
    sql = f"SELECT s.* FROM source s JOIN ({other}) o ON o.id = 2 WHERE s.ts < ({other}) ORDER BY k"
    load(spark, source, target, sql=sql)
    assert target.rows() == source.rows()


def test_the_checks_before_spark_accept_a_load_of_new_commits(source: LogTable, target: LogTable) -> None:
    request = request_of(source, target)
    assert request.source is not None
    assert check_load(request, request.source) is None
