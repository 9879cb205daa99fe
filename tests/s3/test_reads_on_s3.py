"""Reads of tables on an S3 server: `read_table`, the data source with storage options, and loads of changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.result import Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import StorageError
from hudi_table_services.jobs.change_loads import ChangeSource, load_changes
from hudi_table_services.model.instant import Instant
from hudi_table_services.reading.read_changes import read_changes
from hudi_table_services.reading.read_table import explain_read, open_read, read_table, register_data_source
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from s3_server import S3
from support.depth import cases
from support.reading.read_here import AS_OF, READ_OPTIMIZED, window
from support.spark.table_elsewhere import Row, TableElsewhere, rows_by_hudi_rs

COLUMNS = ["k", "ts", "p"]
KINDS = [(version, kind) for version in ("6", "8", "9") for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")]
FIRST: list[Row] = [(f"k{number}", 1, f"p{number % 2}") for number in range(8)]
SECOND: list[Row] = [(f"k{number}", 2, f"p{number % 2}") for number in range(3)]
DELETED = "k5"


@dataclass
class TableOnS3:
    """A table with an insert, an update and a delete.

    Attributes:
        now: the rows of the latest state.
        base: the rows of the base files.
    """

    table: TableElsewhere
    is_merge_on_read: bool
    now: list[Row] = field(default_factory=list)
    base: list[Row] = field(default_factory=list)

    def write(self) -> None:
        self.table.upsert(FIRST)
        self.table.upsert(SECOND)
        self.table.write([(DELETED, 2, "p1")], "delete")
        self.now = sorted({row[0]: row for row in (*FIRST, *SECOND) if row[0] != DELETED}.values())
        self.base = sorted(FIRST) if self.is_merge_on_read else self.now

    def completed(self) -> list[Instant]:
        storage = self.table.storage
        store = TimelineStore(storage, read_table_config(storage), SystemClock())
        return list(store.load().completed_writes)


@pytest.fixture(
    scope="module", params=cases(KINDS, [("9", "MERGE_ON_READ")], lambda kind: f"v{kind[0]}-{kind[1]}")
)
def made(spark: SparkSession, s3: S3, request: pytest.FixtureRequest) -> TableOnS3:
    """A table that tests only read."""
    version, kind = request.param
    return new_table(spark, s3, version, kind)


def new_table(spark: SparkSession, s3: S3, version: str, kind: str) -> TableOnS3:
    table = TableElsewhere(
        spark,
        s3.new_table(),
        s3.options,
        version,
        lambda uri: rows_by_hudi_rs(uri, s3.options),
        {"hoodie.table.type": kind},
    )
    found = TableOnS3(table, kind == "MERGE_ON_READ")
    found.write()
    return found


def rows(frame: DataFrame) -> list[Row]:
    return sorted((row["k"], row["ts"], row["p"]) for row in frame.collect())


def where(found: Iterable[Row], partition: str) -> list[Row]:
    return [row for row in found if row[2] == partition]


def test_every_read_of_a_table_on_s3_returns_its_rows(spark: SparkSession, s3: S3, made: TableOnS3) -> None:
    uri, first, second = made.table.uri, *made.completed()[:2]
    for options, wanted in (
        ({}, made.now),
        (READ_OPTIMIZED, made.base),
        ({AS_OF: first.requested_time}, sorted(FIRST)),
        (window(first.visible_from, second.visible_from), SECOND),
    ):
        assert rows(read_table(spark, uri, options, storage_options=s3.options)) == wanted, options
    filters = [("p", "=", "p1"), ("ts", ">", 0)]
    frame = read_table(spark, uri, columns=COLUMNS, filters=filters, storage_options=s3.options)
    assert rows(frame) == where(made.now, "p1")
    assert "1 file slice" in explain_read(uri, filters=filters, storage_options=s3.options)
    found = open_read(spark, uri, window(second.visible_from), storage_options=s3.options)
    assert (found.until, found.frame.count()) == (made.completed()[-1].visible_from, 0)
    changes = read_changes(spark, uri, first.visible_from, columns=COLUMNS, storage_options=s3.options)
    assert rows(changes.changed) == SECOND
    assert rows(changes.deleted) == [(DELETED, 1, "p1")]
    with pytest.raises(StorageError):
        read_table(spark, uri, storage_options={**s3.options, "aws_endpoint": "http://127.0.0.1:1"})


def test_the_data_source_reads_a_table_on_s3_with_storage_options(
    spark: SparkSession, s3: S3, made: TableOnS3
) -> None:
    """Spark passes the names of options in lower case, in whatever case the user writes them."""
    register_data_source(spark)
    uri = made.table.uri
    storage = {f"storage.{name.upper()}": value for name, value in s3.options.items()}
    frame = spark.read.format("hudi_native").options(**storage).load(uri)
    assert rows(frame) == made.now
    filtered = spark.read.format("hudi_native").options(**storage).option("filters", '[["p", "=", "p1"]]')
    assert rows(filtered.load(uri)) == where(made.now, "p1")
    given = ", ".join(f"'{name}' '{value}'" for name, value in {"path": uri, **storage}.items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW rows_on_s3 USING hudi_native OPTIONS ({given})")
    assert spark.sql("SELECT count(*) FROM rows_on_s3").collect()[0][0] == len(made.now)
    endpoint = {"storage.AWS_ENDPOINT": "http://127.0.0.1:1"}
    with pytest.raises(PySparkException, match="StorageError"):
        spark.read.format("hudi_native").options(**{**storage, **endpoint}).load(uri).collect()


@pytest.mark.thorough
@pytest.mark.parametrize(("version", "kind"), [("6", "COPY_ON_WRITE"), ("9", "MERGE_ON_READ")])
def test_loads_of_changes_copy_a_table_on_s3_with_its_deletes(
    spark: SparkSession, s3: S3, version: str, kind: str
) -> None:
    made = new_table(spark, s3, version, kind)
    target = made.table.beside("target")
    request = UpsertRequest(
        base_path=target.uri,
        storage_options=s3.options,
        table_name="t",
        record_key=("k",),
        partition_by=("p",),
        ordering_field="ts",
        options={"hoodie.write.table.version": str(made.table.version.value)},
    )
    source = ChangeSource(
        base_path=made.table.uri, chain="copy", columns=tuple(COLUMNS), storage_options=s3.options
    )
    assert load_changes(spark, request, source).rows.inserted == len(made.now)
    assert sorted(rows_by_hudi_rs(target.uri, s3.options)) == made.now
    assert load_changes(spark, request, source).outcome is Outcome.NOTHING_TO_DO
    made.table.upsert([("k0", 3, "p0"), ("new", 3, "p1")])
    made.table.write([("k1", 3, "p1")], "delete")
    counts = load_changes(spark, request, source).rows
    assert (counts.updated, counts.inserted, counts.deleted) == (1, 1, 1)
    wanted = {**{row[0]: row for row in made.now}, "k0": ("k0", 3, "p0"), "new": ("new", 3, "p1")}
    del wanted["k1"]
    assert sorted(rows_by_hudi_rs(target.uri, s3.options)) == sorted(wanted.values())
