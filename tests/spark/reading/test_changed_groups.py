"""Aggregates of a chain: after each load, the target equals the aggregates of the whole source."""

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.change_loads import ChangeSource, load_changed_groups, load_source
from hudi_table_services.reading.changed_groups import read_changed_groups
from hudi_table_services.reading.read_table import read_table
from support.spark.log_tables import LogTable, new_log_table

KINDS = pytest.mark.parametrize(
    ("version", "table_type"),
    [
        (6, "COPY_ON_WRITE"),
        pytest.param(9, "COPY_ON_WRITE", marks=pytest.mark.thorough),
        (9, "MERGE_ON_READ"),
    ],
)
SUMS = "SELECT v, p, count(*) AS n, sum(ts) AS total FROM source GROUP BY v, p HAVING sum(ts) < 1000"
"""The groups are the values of v: a change of v moves a row to another group."""


def request_of(target: Path, **fields: Any) -> UpsertRequest:
    values = {
        "base_path": str(target),
        "table_name": "sums",
        "record_key": ("v", "p"),
        "partition_by": ("p",),
    }
    return UpsertRequest(**{**values, **fields})


def load(spark: SparkSession, source: LogTable, target: Path, **fields: Any) -> JobResult:
    spec = SourceSpec(table=str(source.base_path), mode="changed_groups", sql=SUMS)
    return load_source(spark, request_of(target, **fields), spec)


def sums(target: Path, spark: SparkSession) -> list[tuple[Any, ...]]:
    rows = read_table(spark, str(target), columns=["v", "p", "n", "total"]).collect()
    return sorted(tuple(row) for row in rows)


def expected(source: LogTable) -> list[tuple[Any, ...]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for _, ts, p, v in source.rows():
        groups.setdefault((v, p), []).append(ts)
    return sorted((*key, len(found), sum(found)) for key, found in groups.items() if sum(found) < 1000)


@KINDS
def test_moved_and_emptied_groups_follow_the_source(
    spark: SparkSession, tmp_path: Path, version: int, table_type: str
) -> None:
    source = new_log_table(tmp_path / "s", version, hoodie__table__type=table_type)
    target = tmp_path / "t"
    source.write([("a", 1, "p0", "x"), ("b", 2, "p0", "x"), ("c", 3, "p1", "y"), ("d", 4, "p1", "z")])
    assert load(spark, source, target).rows.inserted == 3
    assert sums(target, spark) == expected(source)
    source.write([("b", 5, "p0", "w")])  # the row leaves the group x
    source.write([("d", 6, "p1", "")], "delete")  # the group z becomes empty
    result = load(spark, source, target)
    assert (result.rows.inserted, result.rows.updated, result.rows.deleted) == (1, 1, 1)
    assert sums(target, spark) == expected(source)
    source.write([("a", 2000, "p0", "x")])  # the query does not return the group x any more
    load(spark, source, target)
    assert sums(target, spark) == expected(source) == [("w", "p0", 1, 5), ("y", "p1", 1, 3)]
    assert load(spark, source, target).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.thorough
def test_random_changes_equal_a_full_computation(spark: SparkSession, tmp_path: Path) -> None:
    source, target = new_log_table(tmp_path / "s", 9), tmp_path / "t"
    choose = random.Random(3)
    for number in range(1, 6):
        rows = {
            (k := f"k{choose.randrange(30)}"): (k, number, f"p{len(k) % 2}", choose.choice("wxyz"))
            for _ in range(12)
        }
        source.write(list(rows.values()))
        if number % 2:
            source.write(choose.sample(source.rows(), 4), "delete")
        load(spark, source, target)
        assert sums(target, spark) == expected(source)


def test_only_changed_groups_are_read(spark: SparkSession, tmp_path: Path) -> None:
    source = new_log_table(tmp_path / "s", 9, hoodie__table__type="COPY_ON_WRITE")
    source.write([("a", 1, "p0", "x"), ("b", 2, "p0", "x"), ("c", 3, "p0", "y"), ("d", 3, "p0", "z")])
    begin = source.newest()[0].visible_from
    source.write([("b", 5, "p0", "w")])
    found = read_changed_groups(spark, str(source.base_path), begin, ["v"])
    assert sorted(row.v for row in found.keys.collect()) == ["w", "x"]
    assert sorted(row.k for row in found.rows.collect()) == ["a", "b"]
    source.write([("e", 1, "p0", "y")])  # a later commit does not change what the frames return
    assert sorted(row.k for row in found.rows.collect()) == ["a", "b"]


def test_groups_with_a_null_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    source, target = new_log_table(tmp_path / "s", 9), tmp_path / "t"
    source.write([("a", 1, "p0", "x"), ("b", 2, "p0", None)])
    load(spark, source, target)
    source.write([("a", 3, "p0", None)])
    load(spark, source, target)
    assert sums(target, spark) == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"record_key": ("v",)}, "partitioned by 'p', which is not part of its record key v"),
        ({"ordering_field": "total"}, "cannot have the ordering field|has the ordering field 'total'"),
        ({"record_key": ("u", "p")}, "has no column 'u', by which its rows are to be grouped"),
    ],
)
def test_unsuitable_targets_are_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    source = new_log_table(tmp_path / "s", 9)
    source.write([("a", 1, "p0", "x")])
    with pytest.raises(InvalidRequestError, match=words):
        load(spark, source, tmp_path / "t", **fields)
    assert not (tmp_path / "t").exists()


def test_groups_without_their_key_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = new_log_table(tmp_path / "s", 9)
    source.write([("a", 1, "p0", "x")])

    def without_key(rows: DataFrame) -> DataFrame:
        return rows.groupBy("p").count()

    chain = ChangeSource(base_path=str(source.base_path), chain="c")
    with pytest.raises(InvalidRequestError, match="have no column 'v'"):
        load_changed_groups(spark, request_of(tmp_path / "t"), chain, without_key)
