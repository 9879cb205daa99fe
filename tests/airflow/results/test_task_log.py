"""Lines of jobs and results in the log of a task."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.results.argument_names import with_argument_names
from airflow_hudi_provider.results.log import SparkLogSorter, log_result, messages_of_engine
from hudi_table_services.contract.result import FileStats, JobResult, Outcome, PartitionReport, RowCounts
from support.airflow.task_context import context


class Lines:
    """A logger that collects its messages."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, message: str, *arguments: Any) -> None:
        self.lines.append(message % arguments if arguments else message)

    warning = error = debug = info


def test_the_task_log_shows_lines_of_the_job_and_folds_lines_of_spark() -> None:
    log = Lines()
    sorter = SparkLogSorter(log)
    for line in (
        "26/11/21 10:00:00 INFO SparkContext: Running Spark",
        "26/11/21 10:00:01 INFO Utils: 100% done",
        "2026-11-21 10:00:02,123 INFO Staged 5 rows of 2 partitions",
        "2026-11-21 10:00:03,123 WARNING Rolling back 1",
        "Traceback",
    ):
        sorter.info(line)
    sorter.close()
    sorter.close()
    assert log.lines == [
        "::group::Spark",
        "26/11/21 10:00:00 INFO SparkContext: Running Spark",
        "26/11/21 10:00:01 INFO Utils: 100% done",
        "::endgroup::",
        "Staged 5 rows of 2 partitions",
        "Rolling back 1",
        "::group::Spark",
        "Traceback",
        "::endgroup::",
    ]


def test_a_warning_of_the_checks_before_spark_appears_once() -> None:
    log = Lines()
    with messages_of_engine(UpsertWithSizingOperator) as shown:
        logging.getLogger("hudi_table_services.services.writing").warning("The column %s", "at")
        logging.getLogger("another.package").warning("other")
    assert shown == {"The column at"}
    sorter = SparkLogSorter(log, shown=shown)
    for text in ("The column at", "The lock was not refreshed", "The lock was not refreshed"):
        sorter.info(f"2026-11-21 10:00:03,123 WARNING {text}")
    warnings = ("The column at", "The lock was not refreshed", "New")
    log_result(log, JobResult(request_id="r", outcome=Outcome.COMPLETED, warnings=warnings), shown)
    assert [line for line in log.lines if line in warnings] == [
        "The lock was not refreshed",
        "The lock was not refreshed",
        "New",
    ]


def test_warnings_name_arguments_instead_of_flags(caplog: pytest.LogCaptureFixture) -> None:
    log, text = Lines(), "load the rows again with this source query (--source-sql): SELECT 1"
    with messages_of_engine(UpsertWithSizingOperator) as shown, caplog.at_level(logging.WARNING):
        logging.getLogger("hudi_table_services.services.writing").warning("%s", text)
    assert shown == {text}, "the job may log the same text"
    assert [record.getMessage() for record in caplog.records] == [
        "load the rows again with this source query (`source_sql`): SELECT 1"
    ]
    sorter = SparkLogSorter(log, operator=UpsertWithSizingOperator)
    sorter.info(f"2026-11-21 10:00:03,123 WARNING {text}")
    result = JobResult(request_id="r", outcome=Outcome.COMPLETED, warnings=(text,))
    log_result(log, result, operator=UpsertWithSizingOperator)
    assert sum("(`source_sql`)" in line for line in log.lines) == 2
    assert "--source-sql" not in "".join(log.lines)
    assert "(`source_sql`)" in with_argument_names(result, UpsertWithSizingOperator).warnings[0]


def test_a_note_of_the_checks_before_spark_appears_once() -> None:
    log, engine = Lines(), logging.getLogger("hudi_table_services")
    level = engine.level
    engine.setLevel(logging.INFO)
    try:
        with messages_of_engine(UpsertWithSizingOperator) as shown:
            logging.getLogger("hudi_table_services.services.writing").info("The source is not checked")
            logging.getLogger("hudi_table_services.commits.stopwatch").info("read table took 0.0 s")
    finally:
        engine.setLevel(level)
    assert shown == {"The source is not checked"}
    sorter = SparkLogSorter(log, shown=shown)
    for text in ("The source is not checked", "read table took 0.0 s", "read table took 0.0 s"):
        sorter.info(f"2026-11-21 10:00:03,123 INFO {text}")
    assert log.lines == ["read table took 0.0 s", "read table took 0.0 s"]


def test_the_log_of_a_result_contains_a_table_and_a_summary() -> None:
    partition = PartitionReport(
        partition_path="2013-01",
        record_size="50 bytes per record from 2 files",
        record_size_bytes=50.0,
        files_before=FileStats.of([1000]),
        files_after=FileStats.of([3 << 20, 2048]),
    )
    result = JobResult(
        request_id="r",
        outcome=Outcome.COMPLETED,
        action="commit",
        instant_time="20260101000000000",
        rows=RowCounts(inserted=7),
        files_before=partition.files_before,
        files_after=partition.files_after,
        partitions=(partition,),
        warnings=("a warning",),
    )
    log = Lines()
    log_result(log, result)
    text = "\n".join(log.lines)
    assert text.count("::group::") == text.count("::endgroup::") == 2
    assert "2013-01       1 → 2" in text
    assert (
        "commit 20260101000000000: 7 inserted, 0 updated, 0 deleted; 1 → 2 files, 1,000 B → 3.0 MiB "
        "in 1 written partition" in text
    )
    assert log.lines[-1] == "a warning"


def test_every_outcome_has_a_summary() -> None:
    for outcome in Outcome:
        assert JobResult(request_id="r", outcome=outcome, reason="because").summary()


def test_the_log_of_a_load_contains_a_note_of_worker_and_job_once(
    operator: Callable[..., Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / "rows.csv").write_text("id,city\n1,a\n")
    note = (
        "The types of the columns are not checked before Spark starts, because the option inferSchema is set."
    )
    job = f"""
print("2026-11-21 10:00:02,123 INFO {note}", flush=True)
print("2026-11-21 10:00:02,124 INFO Staged 1 row", flush=True)
i = commit()
result(outcome="completed", instant_time=i.requested_time)
"""
    task = operator(
        job,
        source_path=str(tmp_path / "rows.csv"),
        source_format="csv",
        source_options={"header": "true", "inferSchema": "true"},
        check_source=True,
        table_name="trips",
    )
    task.execute(context())
    log = caplog.text + "".join(capfd.readouterr())
    assert log.count("Staged 1 row") == log.count(note)
    assert log.count(note) == 1, log
