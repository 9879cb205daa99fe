"""Writes whose options of the bucket index contradict the table are refused before they change the table."""

from pathlib import Path

import pytest

from hudi_table_services.errors import (
    CorruptTableError,
    HudiTableServiceError,
    InvalidDataError,
    InvalidRequestError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.table_service_plans import encode_requested_replace
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import ClusteringGroup, ClusteringPlan, ClusteringSlice
from hudi_table_services.storage.clock import SystemClock
from support.spark.bucket_tables import INDEX, SIMPLE, assert_buckets, java_bucket, new_bucket_table, rows_of
from support.spark.log_tables import LogTable
from support.with_logs.clusterings_here import execute, schedule

KEYS = [f"key-{number}" for number in range(20)]
OLD = rows_of(*KEYS)
COUNT = "hoodie.bucket.index.num.buckets"


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LogTable:
    made = new_bucket_table(tmp_path / "t", request.param, 6)
    made.write(OLD)
    return made


def assert_refused(
    table: LogTable,
    error: type[HudiTableServiceError],
    message: str,
    options: dict[str, str],
    operation: str = "upsert",
    partition: str = "a",
) -> None:
    before = table.files()
    with pytest.raises(error, match=message):
        table.write([("n", 2, partition, "new")], operation, options=options)
    assert table.files() == before


@pytest.mark.parametrize("operation", ["upsert", "insert", "bulk_insert", "delete"])
@pytest.mark.parametrize("partition", ["a", "new partition"])
def test_a_number_of_buckets_that_is_too_small_for_the_file_ids_is_refused(
    table: LogTable, operation: str, partition: str
) -> None:
    assert_refused(table, InvalidRequestError, f"{COUNT}=2 does not fit", {COUNT: "2"}, operation, partition)


@pytest.mark.parametrize("count", ["5", "8", "256"])
@pytest.mark.parametrize("operation", ["upsert", "insert_overwrite"])
def test_a_number_of_buckets_that_is_too_large_for_the_stored_keys_is_refused(
    table: LogTable, count: str, operation: str
) -> None:
    message = f"{COUNT}={count} and the hash fields k do not fit .* which belongs to bucket"
    assert_refused(table, InvalidRequestError, message, {COUNT: count}, operation)


def test_another_number_of_buckets_is_refused_even_if_only_a_looked_up_key_does_not_fit(
    tmp_path: Path,
) -> None:
    """The smallest and the greatest key of the file fit both numbers; only the key between them does not."""
    table = new_bucket_table(tmp_path / "t", "COPY_ON_WRITE", 6)
    keys = [f"{number:03d}" for number in range(200)]
    fitting = [key for key in keys if java_bucket(key, count=2) == java_bucket(key, count=4) == 0]
    other = [key for key in keys if java_bucket(key, count=2) == 0 and java_bucket(key, count=4) == 2]
    between = next(key for key in other if fitting[0] < key < fitting[-1])
    table.write([(key, 1, "a", "old") for key in (fitting[0], between, fitting[-1])], options={COUNT: "2"})
    before = table.files()
    with pytest.raises(InvalidRequestError, match=f"has the key '{between}', which belongs to bucket 2 of 4"):
        table.write([(between, 2, "a", "new")])
    assert table.files() == before


def test_a_table_of_another_index_is_refused(table: LogTable, tmp_path: Path) -> None:
    other = LogTable(tmp_path / "other", {**table.options, **SIMPLE})
    other.write(OLD)
    message = "does not begin with the number of a bucket"
    assert_refused(other, InvalidRequestError, message, INDEX)
    assert_refused(other, InvalidRequestError, message, INDEX, partition="new partition")


def test_new_rows_are_refused_if_the_options_choose_another_index(table: LogTable) -> None:
    assert_refused(table, UnsupportedTableError, "cannot add rows with hoodie.index.type=SIMPLE", SIMPLE)
    table.write(rows_of(KEYS[0], ts=2, v="new"), options=SIMPLE)
    table.write(rows_of(KEYS[1], ts=2), "delete", options=SIMPLE)
    assert table.rows() == sorted([*rows_of(KEYS[0], ts=2, v="new"), *OLD[2:]])
    assert_buckets(table)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("consistent_hashing_metadata/a", "bucket index with consistent hashing"),
        ("partition_bucket_index_meta/configs", "different numbers of buckets"),
    ],
)
def test_bucket_indexes_for_which_hudi_stores_files_are_refused(
    table: LogTable, folder: str, message: str
) -> None:
    stored = table.base_path / ".hoodie/.bucket_index" / folder
    stored.mkdir(parents=True)
    (stored / "00000000000000.hashing_meta").write_text("{}")
    assert_refused(table, UnsupportedTableError, message, {})


def test_a_hash_field_must_be_a_key_field(table: LogTable) -> None:
    message = "hoodie.bucket.index.hash.field names v, but the record key consists of k"
    assert_refused(table, InvalidRequestError, message, {"hoodie.bucket.index.hash.field": "v"})


def test_two_file_groups_of_one_bucket_are_refused(table: LogTable) -> None:
    ids = (s.file_group_id.file_id for s in table.slices() if s.file_group_id.partition_path == "a")
    first, old, *_ = ids
    new = first[:8] + old[8:]
    for path in sorted(table.base_path.rglob("*")):
        if path.is_file() and path.name.startswith(old):
            path.rename(path.with_name(path.name.replace(old, new)))
        elif path.is_file() and path.parent.name == ".hoodie":
            path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
    assert_refused(table, CorruptTableError, "has two file groups", {})


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_keys_that_releases_of_hudi_hash_differently_need_a_later_table_version(
    tmp_path: Path, kind: str
) -> None:
    rows = [("10:30", 1, "a", "x"), ("k", 1, "a", "x")]
    old = new_bucket_table(tmp_path / "old", kind, 6)
    with pytest.raises(InvalidDataError, match="1 row of 2 have a record key .* for example '10:30'"):
        old.write(rows)
    assert not (old.base_path / ".hoodie/hoodie.properties").exists()
    new = new_bucket_table(tmp_path / "new", kind, 9)
    new.write(rows)
    new.write([("10:30", 2, "a", "y")])
    assert new.rows() == [("10:30", 2, "a", "y"), ("k", 1, "a", "x")]
    assert_buckets(new)


def test_a_clustering_is_not_planned(table: LogTable) -> None:
    before = table.files()
    with pytest.raises(UnsupportedTableError, match="has a bucket index .* cannot be clustered"):
        schedule(table.storage, SystemClock())
    assert table.files() == before


def test_a_plan_of_a_clustering_is_not_executed(table: LogTable) -> None:
    slices = tuple(
        ClusteringSlice(
            partition_path=s.file_group_id.partition_path,
            file_id=s.file_group_id.file_id,
            data_file_path=f"{table.base_path}/{s.base_file_path}",
        )
        for s in table.slices()
        if s.file_group_id.partition_path == "a"
    )
    plan = ClusteringPlan(groups=(ClusteringGroup(slices=slices),))
    table.timeline_store.request(Action.REPLACE_COMMIT, encode_requested_replace(plan))
    with pytest.raises(UnsupportedTableError, match="has a bucket index .* cannot be clustered"):
        execute(table.storage, SystemClock())
    assert table.rows() == sorted(OLD)
