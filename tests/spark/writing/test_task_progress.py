"""Progress that a job reports while Spark runs its tasks."""

import logging
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress, progress_path
from hudi_table_services.execution import task_progress
from hudi_table_services.execution.spark_tasks import map_batches, run_tasks
from hudi_table_services.execution.task_progress import Phase, TaskCounts


def reported(caplog: pytest.LogCaptureFixture) -> list[JobProgress]:
    return [getattr(record, PROGRESS_FIELD) for record in caplog.records if hasattr(record, PROGRESS_FIELD)]


def test_a_job_reports_its_finished_tasks_rows_and_bytes(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(task_progress, "INTERVAL_S", 0.1)

    def work(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    tasks = [0.1, 0.1, 0.3, 0.3, 0.6, 0.6, 0.6, 0.6]
    done = run_tasks(
        spark, tasks, work, description="Write 8 file groups", measure=lambda _: (1_000, 1 << 20)
    )
    assert done == tasks
    assert "Write 8 file groups" in [record.getMessage() for record in caplog.records]
    progress = reported(caplog)
    counts = [each.done for each in progress]
    assert counts == sorted(counts)
    assert any(0 < count < 8 for count in counts)
    assert {each.total for each in progress} == {8}
    middle = next(each for each in progress if 0 < each.done < 8)
    assert middle.rows == middle.done * 1_000
    assert middle.written_bytes == middle.done << 20
    assert middle.remaining_s is not None
    assert middle.text.startswith(f"Write 8 file groups: {middle.done} of 8 done, {middle.rows:,} rows, ")
    assert middle.text.endswith(" left")


def test_the_remaining_time_depends_on_the_weights_of_the_tasks(spark: SparkSession) -> None:
    counts = TaskCounts.of(spark)
    assert counts is not None
    phase = Phase("Write", [1, 1, 8], counts)
    assert phase.at(10.0).remaining_s is None
    counts.add(1, (5, 50))
    counts.add(1, (5, 50))
    assert phase.at(10.0) == JobProgress(
        phase="Write", done=2, total=3, rows=10, written_bytes=100, elapsed_s=10.0, remaining_s=40.0
    )
    for _ in range(3):
        counts.add(8, (0, 0))  # Spark repeated a task
    assert (phase.at(50.0).done, phase.at(50.0).remaining_s) == (3, 0.0)


@pytest.mark.parametrize("parts", [1, 4])
def test_the_read_of_a_source_reports_its_finished_spark_tasks(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(task_progress, "INTERVAL_S", 0.1)

    def work(batches: Iterator[pa.RecordBatch]) -> int:
        context = TaskContext.get()
        assert context is not None
        # The other tasks end while task 1 runs, so the progress shows them as finished.
        time.sleep(3.0 if context.partitionId() == 1 else 0.2)
        return sum(batch.num_rows for batch in batches)

    counted = map_batches(spark.range(0, 400, 1, parts), work, description="Stage rows")
    assert sum(counted) == 400
    assert "Stage rows" in [record.getMessage() for record in caplog.records]
    progress = reported(caplog)
    if parts == 1:
        assert progress == []  # a single task is either running or finished
        return
    assert {(each.phase, each.total) for each in progress} == {("Stage rows", parts)}
    assert 0 in [each.done for each in progress]
    assert max(each.done for each in progress) > 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.4, "12 s"), (60.0, "1 min 0 s"), (3_725.0, "1 h 2 min")],
)
def test_the_progress_text_contains_the_remaining_time(seconds: float, words: str) -> None:
    progress = JobProgress(phase="Write", done=1, total=2, remaining_s=seconds)
    assert progress.text == f"Write: 1 of 2 done, about {words} left"


def test_the_progress_document_is_in_the_folder_of_the_result_document() -> None:
    assert progress_path("s3://lake/results/flights.json") == "s3://lake/results/flights.progress.json"
    assert progress_path("/results/flights") == "/results/flights.progress.json"
