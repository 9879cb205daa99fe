"""Reads and streams in sessions of a Spark Connect server whose workers lack the engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from airflow_stack.connect_server import ConnectServer
from pyspark.sql import SparkSession

from hudi_table_services.reading.read_table import read_table, register_data_source
from support.spark.log_tables import LogTable, new_log_table

pytestmark = pytest.mark.thorough


@pytest.fixture
def session(server: ConnectServer) -> Iterator[SparkSession]:
    """A session of a user, which no job of this project opened."""
    spark = SparkSession.builder.remote(server.address).create()
    yield spark
    spark.stop()


@pytest.fixture
def table(tmp_path: Path) -> LogTable:
    found = new_log_table(tmp_path / "t", 9)
    found.write([(f"k{i}", 1, f"p{i % 2}", f"v{i}") for i in range(6)])
    found.write([("k0", 2, "p0", "w0")])
    return found


def test_read_table_uploads_the_engine(session: SparkSession, table: LogTable) -> None:
    frame = read_table(session, str(table.base_path), columns=["k", "v"], filters=[("p", "=", "p0")])
    assert sorted(map(tuple, frame.collect())) == [("k0", "w0"), ("k2", "v2"), ("k4", "v4")]


def test_the_client_reads_the_rows_of_a_key(session: SparkSession, tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "keys", 9, hoodie__table__type="COPY_ON_WRITE")
    table.write([(f"k{i}", 1, f"p{i % 2}", f"v{i}") for i in range(6)])
    frames = [
        read_table(
            session, str(table.base_path), columns=["v", "ts"], filters=[("k", "=", key), ("p", "=", "p0")]
        )
        for key in ("k0", "k1")
    ]
    for file in table.base_path.glob("p0/*.parquet"):
        file.unlink()
    # The client has read the rows.
    assert [list(map(tuple, frame.collect())) for frame in frames] == [[("v0", 1)], []]


@pytest.mark.skipif(not hasattr(SparkSession, "dataSource"), reason="Spark 3.5 has no Python data sources")
def test_the_data_source_runs_on_the_server(session: SparkSession, table: LogTable) -> None:
    register_data_source(session)
    frame = session.read.format("hudi_native").load(str(table.base_path))
    assert sorted(row["v"] for row in frame.collect()) == ["v1", "v2", "v3", "v4", "v5", "w0"]


def test_a_stream_runs_on_the_server_and_continues_from_its_checkpoint(
    session: SparkSession, table: LogTable, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark.sql.streaming.datasource", reason="Spark 4.2 is tested")
    register_data_source(session)

    def stream() -> list[tuple[str, str]]:
        """Append the new rows to Parquet files; return all rows of these files."""
        frame = session.readStream.format("hudi_native").load(str(table.base_path)).select("k", "v")
        places = {"path": str(tmp_path / "rows"), "checkpointLocation": str(tmp_path / "checkpoint")}
        query = frame.writeStream.format("parquet").options(**places).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return sorted((row["k"], row["v"]) for row in session.read.parquet(places["path"]).collect())

    first = [("k0", "w0"), *((f"k{i}", f"v{i}") for i in range(1, 6))]
    assert stream() == first
    table.write([("k1", 3, "p1", "w1"), ("k9", 3, "p1", "w9")])
    assert stream() == sorted([*first, ("k1", "w1"), ("k9", "w9")])
