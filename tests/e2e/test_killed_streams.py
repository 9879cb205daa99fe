"""After ``kill -9`` of the driver of a stream, `upsert_batches` has written each batch into the target exactly once."""

import json
import sys
from pathlib import Path

import pytest

from e2e.job_processes import SOURCES, JobProcess, environment, spark_settings
from judges.table_files import data_files, instant_names
from support.spark.log_tables import LogTable, Row, new_log_table

SCRIPT = Path(__file__).with_name("streaming_process.py")
PARTITIONS = 6
COMMITS = 3
FEW_TASKS = {"spark__master": "local[2]", "spark__sql__shuffle__partitions": "4"}
LONGEST_S = 240.0


class Stream:
    """The source, the target and the checkpoint of a stream, and the drivers that run the stream one after another."""

    def __init__(self, folder: Path, table_type: str) -> None:
        self._folder = folder
        self.source = new_log_table(folder / "source", 9)
        self.target = new_log_table(folder / "target", 9, hoodie__table__type=table_type)
        self.checkpoint = folder / "checkpoint"
        self.rows: list[list[Row]] = []
        for number in range(COMMITS):
            rows = [(f"{number}-{i}", number, f"p{i % PARTITIONS:02}", f"v{i}") for i in range(300)]
            self.source.write(rows, "insert")
            self.rows.append(rows)

    def driver(self, stop_after: int = -1) -> JobProcess:
        settings = spark_settings(self._folder / "conf", **FEW_TASKS)
        variables = environment(settings, PYTHONPATH=str(SOURCES), STREAM_STOP_AFTER=str(stop_after))
        places = (self.source.base_path, self.target.base_path, self.checkpoint)
        command = [sys.executable, SCRIPT, *places, json.dumps(self.target.options)]
        return JobProcess(command, variables, self._folder / "run")

    @property
    def completed(self) -> list[str]:
        """Names of the completed commits of the target."""
        if not (self.target.base_path / ".hoodie" / "timeline").exists():
            return []
        names = instant_names(self.target.base_path)
        return [name for name in names if name.endswith((".commit", ".deltacommit"))]

    def files(self) -> int:
        return len(data_files(self.target.base_path))

    def done_batches(self) -> list[str]:
        """The batches of which the checkpoint stores that they are done."""
        found = (path.name for path in (self.checkpoint / "commits").glob("*"))
        return sorted(name for name in found if name.isdigit())

    def rows_of(self, commits: int) -> list[Row]:
        return sorted(row for rows in self.rows[:commits] for row in rows)


@pytest.mark.thorough
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_drivers_that_are_killed_during_and_after_the_write_of_a_batch_lose_and_double_no_rows(
    tmp_path: Path, table_type: str
) -> None:
    stream = Stream(tmp_path, table_type)
    _kill_during_the_second_write(stream)
    assert stream.done_batches() == ["0"]
    assert len(stream.completed) == 1, "the kill came too late"
    assert stream.target.rows() == stream.rows_of(1)

    stopped = stream.driver(stop_after=1)
    try:
        written = stream.checkpoint.with_name("checkpoint.written")
        stopped.wait_for("second batch", lambda: written.exists() or None, LONGEST_S)
    finally:
        stopped.kill()
    # Spark has stored what the batch contains, but not that the batch is done. So the next driver repeats the batch.
    assert (stream.checkpoint / "offsets" / "1").exists()
    assert stream.done_batches() == ["0"]
    second = stream.completed[1:]
    assert len(second) == 1
    assert stream.target.rows() == stream.rows_of(2)

    ended = stream.driver().wait(LONGEST_S)
    assert ended.exit_code == 0, ended.log
    assert stream.done_batches() == ["0", "1", "2"]
    assert len(stream.completed) == COMMITS
    assert stream.completed[1:2] == second
    assert stream.target.rows() == stream.source.rows() == stream.rows_of(COMMITS)
    assert _request_ids(stream.target) == [f"copy/{_query_id(stream)}/{number}" for number in range(COMMITS)]
    assert not stream.target.leftovers()


def _kill_during_the_second_write(stream: Stream) -> None:
    killed = stream.driver()
    try:
        killed.wait_for("first commit", lambda: stream.completed or None, LONGEST_S)
        before = stream.files()
        killed.wait_for("uncommitted file", lambda: stream.files() > before or None, LONGEST_S)
    finally:
        killed.kill()


def _request_ids(table: LogTable) -> list[str]:
    store = table.timeline_store
    writes = store.load().completed_writes
    return [store.commit_metadata(write).extra_metadata["airflow.request_id"] for write in writes]


def _query_id(stream: Stream) -> str:
    return str(json.loads((stream.checkpoint / "metadata").read_text())["id"])
