"""Chains of tables: the changes of a source reach its target exactly once, with deletes."""

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs import change_loads
from hudi_table_services.jobs.change_loads import ChangeSource, load_changes
from support.depth import by_depth, cases
from support.faulty_storage import Crash, FaultyStorage
from support.spark.log_tables import LogTable, Row, new_log_table

KINDS = pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
COLUMNS = ("k", "ts", "p", "v")


def request_of(target: LogTable, **fields: Any) -> UpsertRequest:
    values = {
        "base_path": str(target.base_path),
        "table_name": "t",
        "record_key": ("k",),
        "partition_by": ("p",),
        "ordering_field": "ts",
        "options": target.options,
    }
    return UpsertRequest(**{**values, **fields})


def load(spark: SparkSession, source: LogTable, target: LogTable, **fields: Any) -> JobResult:
    chain = ChangeSource(
        **{"base_path": str(source.base_path), "chain": "copy", "columns": COLUMNS, **fields}
    )
    return load_changes(spark, request_of(target), chain, upper)


def upper(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "ts", "p", "upper(v) AS v")


def expected(source: LogTable) -> list[Row]:
    return [(k, ts, p, v.upper()) for k, ts, p, v in source.rows()]


@KINDS
def test_changes_and_deletes_reach_the_target_once(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    source = new_log_table(tmp_path / "s", 9, hoodie__table__type=table_type)
    target = new_log_table(tmp_path / "t", 9, hoodie__table__type=table_type)
    source.write([("a", 1, "p0", "a1"), ("b", 1, "p0", "b1"), ("c", 1, "p1", "c1")])
    assert load(spark, source, target).rows.inserted == 3
    assert target.rows() == expected(source)
    again = load(spark, source, target)
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert "has no commit after" in again.reason
    source.write([("a", 2, "p0", "a2"), ("new", 2, "p1", "n2")])
    source.write([("b", 2, "p0", "")], "delete")
    result = load(spark, source, target)
    assert (result.rows.updated, result.rows.inserted, result.rows.deleted) == (1, 1, 1)
    assert target.rows() == expected(source)


def test_a_window_without_rows_advances_the_position(spark: SparkSession, tmp_path: Path) -> None:
    source, target = new_log_table(tmp_path / "s", 9), new_log_table(tmp_path / "t", 9)
    source.write([("a", 1, "p0", "a1")])
    load(spark, source, target)
    source.write([("b", 1, "p0", "b1")])
    source.write([("b", 1, "p0", "")], "delete")
    assert load(spark, source, target).outcome is Outcome.COMPLETED
    assert load(spark, source, target).outcome is Outcome.NOTHING_TO_DO
    assert target.rows() == expected(source)


def test_each_chain_has_its_own_position(spark: SparkSession, tmp_path: Path) -> None:
    one, two = new_log_table(tmp_path / "s1", 9), new_log_table(tmp_path / "s2", 6)
    target = new_log_table(tmp_path / "t", 9)
    one.write([("a", 1, "p0", "a1")])
    two.write([("b", 1, "p0", "b1")])
    load(spark, one, target, chain="one")
    load(spark, two, target, chain="two")
    two.write([("b", 2, "p0", "b2")])
    assert load(spark, one, target, chain="one").outcome is Outcome.NOTHING_TO_DO
    load(spark, two, target, chain="two")
    assert target.rows() == [("a", 1, "p0", "A1"), ("b", 2, "p0", "B2")]


def test_a_window_can_be_read_again(spark: SparkSession, tmp_path: Path) -> None:
    source, target = new_log_table(tmp_path / "s", 9), new_log_table(tmp_path / "t", 9)
    source.write([("a", 1, "p0", "a1")])
    load(spark, source, target)
    target.write([("a", 1, "p0", "")], "delete")
    assert load(spark, source, target, begin="earliest").rows.inserted == 1
    assert target.rows() == expected(source)


def test_overlapping_loads_write_each_change_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a load has read the position and changes, other loads and a write to the source run; then it continues."""
    source, target = new_log_table(tmp_path / "s", 9), new_log_table(tmp_path / "t", 9)
    source.write([("a", 1, "p0", "a1"), ("b", 1, "p0", "b1")])
    load(spark, source, target)
    source.write([("a", 2, "p0", "")], "delete")
    real, nested = change_loads.changes_of, [True]

    def slow(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        if nested.pop() if nested else False:
            load(spark, source, target)
            source.write([("a", 3, "p0", "a3")])
            load(spark, source, target)
        return found

    monkeypatch.setattr(change_loads, "changes_of", slow)
    assert load(spark, source, target).reused
    assert target.rows() == expected(source) == [("a", 3, "p0", "A3"), ("b", 1, "p0", "B1")]


@pytest.mark.parametrize("table_type", cases(["COPY_ON_WRITE", "MERGE_ON_READ"], ["MERGE_ON_READ"]))
def test_loads_that_crash_at_random_neither_lose_nor_double_changes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str
) -> None:
    source = new_log_table(tmp_path / "s", 9, hoodie__table__type=table_type)
    target = new_log_table(tmp_path / "t", 9, hoodie__table__type=table_type)
    choose, crashes = random.Random(7), 0
    real = change_loads.upsert
    for number in range(1, by_depth(3, 5)):
        source.write([(f"k{choose.randrange(8)}", number, "p0", f"v{number}") for _ in range(3)])
        if number % 2 == 0:
            source.write([source.rows()[0]], "delete")
        storage = FaultyStorage(target.storage, fail_at=choose.randrange(1, 40))
        monkeypatch.setattr(change_loads, "upsert", lambda *args, s=storage: real(*args, storage=s))
        try:
            load(spark, source, target)
        except Crash:
            crashes += 1
        monkeypatch.setattr(change_loads, "upsert", real)
    load(spark, source, target)
    assert crashes
    assert target.rows() == expected(source)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"operation": "insert"}, "has the operation insert"),
        ({"dry_run": True}, "is a dry run"),
    ],
)
def test_inserts_dry_runs_and_chains_without_a_name_are_refused(
    spark: SparkSession, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    from hudi_table_services.errors import InvalidRequestError

    target = new_log_table(tmp_path / "t", 9)
    with pytest.raises(InvalidRequestError, match=words):
        load_changes(spark, request_of(target, **fields), ChangeSource(base_path="/s", chain="c"))
    with pytest.raises(InvalidRequestError, match="The chain has no name"):
        load_changes(spark, request_of(target), ChangeSource(base_path="/s", chain=" "))
