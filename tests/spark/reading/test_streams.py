"""Streams of the data source ``hudi_native``: batches, checkpoints, and writes that happen once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.stream_batches import upsert_batches
from hudi_table_services.reading.read_table import register_data_source
from support.depth import cases
from support.spark.log_tables import LogTable, new_log_table

pytest.importorskip(
    "pyspark.sql.streaming.datasource", reason="Spark 4.2 is the first release with limits of batches"
)

START, COMMITS = "hoodie.datasource.streaming.startOffset", "hoodie.airflow.stream.commits.per.batch"
BYTES = "hoodie.airflow.stream.bytes.per.batch"
KINDS = [(version, kind) for version in (6, 8, 9) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")]
ATTEMPTS = 4
NO_PROCESS = "Python worker failed to connect back"
Work = Callable[[DataFrame, int], None]
Rows = list[tuple[str, str]]


def read_all(
    spark: SparkSession, table: LogTable, checkpoint: Path, work: Work, options: dict[str, str] | None = None
) -> None:
    """Run a query until it has read all commits that exist when it starts."""
    frame = spark.readStream.format("hudi_native").options(**(options or {})).load(str(table.base_path))
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(work)
    for attempt in range(ATTEMPTS):
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            # Spark waits only ten seconds for the Python process that plans the batches. If this process is too slow,
            # no batch has begun, so the query can start again.
            if NO_PROCESS not in str(error) or attempt == ATTEMPTS - 1:
                raise
        else:
            return
        finally:
            query.stop()


def collector(found: list[Rows]) -> Work:
    def collect(batch: DataFrame, number: int) -> None:
        found.append(sorted((row["k"], row["v"]) for row in batch.collect()))

    return collect


@pytest.mark.parametrize("kind", cases(KINDS, [(9, "MERGE_ON_READ")], lambda kind: f"{kind[0]}-{kind[1]}"))
def test_a_batch_has_a_limit_of_commits_and_a_stream_continues_from_its_checkpoint(
    spark: SparkSession, tmp_path: Path, kind: tuple[int, str]
) -> None:
    register_data_source(spark)
    version, table_type = kind
    table = new_log_table(tmp_path / "t", version, hoodie__table__type=table_type)
    table.write([("a", 1, "p0", "a1"), ("b", 1, "p1", "b1")])
    table.write([("a", 2, "p0", "a2")])
    found: list[Rows] = []
    read_all(spark, table, tmp_path / "c", collector(found), {COMMITS: "1"})
    assert found == [[("a", "a1"), ("b", "b1")], [("a", "a2")]]
    found.clear()
    table.write([("b", 2, "p1", "b2")])
    table.write([("b", 3, "p1", "b3"), ("new", 3, "p1", "n3")])
    read_all(spark, table, tmp_path / "c", collector(found))
    assert found == [[("b", "b3"), ("new", "n3")]]
    found.clear()
    read_all(spark, table, tmp_path / "c", collector(found))
    assert found == []


@pytest.mark.parametrize("version", cases([6, 8, 9], [6]))
def test_a_batch_has_a_limit_of_bytes_and_at_least_one_commit(
    spark: SparkSession, tmp_path: Path, version: int
) -> None:
    register_data_source(spark)
    table = new_log_table(tmp_path / "t", version, hoodie__table__type="COPY_ON_WRITE")
    sizes = []
    for number in range(4):
        table.write([(f"k{number}", 1, f"p{number}", f"v{number}")])
        sizes.append(sum(stat.file_size_bytes for stat in table.newest()[1].write_stats))
    rows = [(f"k{number}", f"v{number}") for number in range(4)]
    found: list[Rows] = []
    read_all(spark, table, tmp_path / "two", collector(found), {BYTES: str(max(sizes) * 2)})
    assert found == [rows[:2], rows[2:]]
    found.clear()
    read_all(spark, table, tmp_path / "one", collector(found), {BYTES: "1"})
    assert found == [[row] for row in rows]


def test_a_stream_can_begin_after_a_given_commit(spark: SparkSession, tmp_path: Path) -> None:
    register_data_source(spark)
    table = new_log_table(tmp_path / "t", 9)
    table.write([("a", 1, "p0", "a1")])
    first = table.newest()[0].visible_from
    table.write([("b", 1, "p0", "b1")])
    found: list[Rows] = []
    options = {START: first, "filters": '[["k", "!=", "c"]]'}
    read_all(spark, table, tmp_path / "c", collector(found), options)
    table.write([("c", 1, "p0", "c1"), ("d", 1, "p0", "d1")])
    read_all(spark, table, tmp_path / "c", collector(found), options)
    assert found == [[("b", "b1")], [("d", "d1")]]


def test_a_query_that_dies_after_the_commit_of_a_batch_writes_the_batch_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    register_data_source(spark)
    source, target = new_log_table(tmp_path / "s", 9), new_log_table(tmp_path / "t", 9)
    source.write([("a", 1, "p0", "a1"), ("b", 1, "p0", "b1")])
    source.write([("a", 2, "p0", "a2")])
    request = UpsertRequest(
        base_path=str(target.base_path),
        request_id="copy",
        table_name="t",
        record_key=("k",),
        partition_by=("p",),
        ordering_field="ts",
        options=target.options,
    )
    checkpoint = tmp_path / "c"
    write = upsert_batches(request, str(checkpoint))
    columns = ["k", "ts", "p", "v"]

    def dies(batch: DataFrame, number: int) -> None:
        write(batch.select(columns), number)
        raise RuntimeError("the driver dies")

    limit = {COMMITS: "1"}
    with pytest.raises(StreamingQueryException, match="the driver dies"):
        read_all(spark, source, checkpoint, dies, limit)
    assert len(target.timeline_store.load().completed_writes) == 1
    read_all(spark, source, checkpoint, lambda batch, number: write(batch.select(columns), number), limit)
    assert len(target.timeline_store.load().completed_writes) == 2
    assert target.rows() == source.rows() == [("a", 2, "p0", "a2"), ("b", 1, "p0", "b1")]
