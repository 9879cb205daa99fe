"""Writes to merge-on-read tables whose tasks run in Spark's workers. `tests/unit` has the tests of each rule."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.depth import by_depth, cases
from support.spark.writing import Row, TableUnderTest

OLD: list[Row] = [(f"k{i:03}", 1, "ab"[i % 2], float(i)) for i in range(200)]
MARKED = "k string, ts bigint, p string, v double, _hoodie_is_deleted boolean"
TURNS = by_depth(4, 20)


def new_table(spark: SparkSession, base_path: Path, version: str, **options: str) -> TableUnderTest:
    table = TableUnderTest(
        spark,
        base_path,
        hoodie__table__type="MERGE_ON_READ",
        hoodie__write__table__version=version,
        **options,
    )
    table.has_default_metadata_table = version == "9"
    return table


def log_counts(table: TableUnderTest) -> list[int]:
    return [len(s.log_files) for s in load_snapshot(LocalStorage(str(table.base_path))).all_slices]


@pytest.mark.parametrize("version", cases(["6", "8", "9"], ["6", "9"]))
@pytest.mark.parametrize("encoding", ["avro", "parquet"])
def test_rows_are_correct_after_updates_inserts_and_deletes(
    spark: SparkSession, tmp_path: Path, version: str, encoding: str
) -> None:
    options = {"hoodie__logfile__data__block__format": encoding}
    table = new_table(spark, tmp_path / "t", version, **options)
    table.write(OLD)
    changed: list[Row] = [(key, 2, partition, -1.0) for key, _, partition, _ in OLD[::3]]
    result = table.write(changed)
    assert (result.action, result.rows.updated, result.rows.inserted) == ("deltacommit", len(changed), 0)
    assert log_counts(table) == [1, 1]
    inserted: list[Row] = [(f"n{i}", 2, "a", 0.0) for i in range(5)]
    assert table.write(inserted).rows.inserted == 5
    assert table.write([row[:4] for row in OLD[:4]], "delete").rows.deleted == 4
    expected = {row[0]: row for row in (*OLD, *changed, *inserted)}
    assert table.rows() == sorted(expected[key] for key in expected.keys() - {row[0] for row in OLD[:4]})
    assert table.leftovers() == set()


def test_rows_that_are_marked_as_deleted_are_deleted(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(spark, tmp_path / "t", "9")
    table.write([(*row, False) for row in OLD], schema=MARKED)
    result = table.write([(*OLD[0][:3], None, True), ("k001", 2, "b", 7.0, False)], schema=MARKED)
    assert (result.rows.updated, result.rows.deleted) == (1, 1)
    assert table.rows() == sorted([("k001", 2, "b", 7.0), *OLD[2:]])


def test_rows_stay_correct_after_random_writes_to_many_slices(spark: SparkSession, tmp_path: Path) -> None:
    chosen = random.Random(7)
    table = new_table(spark, tmp_path / "t", "9", hoodie__parquet__small__file__limit="0")
    keys = [(f"k{i:04}", f"p{i % 5}") for i in range(1000)]
    rows = {key: (key, 1, partition, 0.0) for key, partition in keys[:600]}
    for start in range(0, 600, 200):
        table.write(list(rows.values())[start : start + 200], "insert")
    for turn in range(2, 2 + TURNS):
        batch: list[Row] = [
            (key, turn, partition, float(turn)) for key, partition in chosen.sample(keys, 150)
        ]
        result = table.write(batch)
        assert result.rows.inserted == len({row[0] for row in batch} - rows.keys())
        rows |= {row[0]: row for row in batch}
        assert table.rows() == sorted(rows.values())
    assert sum(log_counts(table)) >= 15


@pytest.mark.parametrize("kind", ["MERGE_ON_READ", "COPY_ON_WRITE"])
def test_with_a_bucket_index_each_partition_has_one_file_group_for_each_bucket(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    options = {
        "hoodie__table__type": kind,
        "hoodie__write__table__version": "9",
        "hoodie__index__type": "BUCKET",
        "hoodie__bucket__index__num__buckets": "3",
    }
    table = TableUnderTest(spark, tmp_path / "t", **options)
    table.write(OLD)
    new: list[Row] = [(f"n{i}", 2, "ab"[i % 2], 0.0) for i in range(50)]
    changed: list[Row] = [(key, 2, partition, -1.0) for key, _, partition, _ in OLD[:20]]
    result = table.write([*new, *changed])
    assert (result.rows.inserted, result.rows.updated) == (50, 20)
    assert table.rows() == sorted([*new, *changed, *OLD[20:]])
    groups = [s.file_group_id for s in load_snapshot(LocalStorage(str(table.base_path))).all_slices]
    assert sorted((g.partition_path, int(g.file_id[:8])) for g in groups) == [
        (partition, number) for partition in "ab" for number in range(3)
    ]
    with pytest.raises(InvalidRequestError, match=r"num\.buckets=4"):
        table.write(new, options={"hoodie.bucket.index.num.buckets": "4"})
