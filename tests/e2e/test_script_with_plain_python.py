"""Jobs that plain Python runs from a checkout, with sources in formats that users have."""

import csv
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from e2e.job_processes import (
    SCRIPT,
    Ended,
    JobProcess,
    busy_workers,
    environment,
    jvm_of,
    run,
    spark_settings,
)
from e2e.orders import orders, stored, table_flags, write_parquet
from hudi_table_services.contract.result import Outcome
from hudi_table_services.services.registry import read_result

FIRST = orders(range(1000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain python")


@pytest.fixture(scope="module")
def variables(folder: Path) -> dict[str, str]:
    return environment(spark_settings(folder / "conf", spark__master="local[2]"))


@pytest.fixture(scope="module")
def base_path(folder: Path) -> Path:
    return folder / "tables" / "100 % örders"


def first_request(folder: Path, base_path: Path) -> list[str]:
    source = write_parquet(FIRST, folder / "landing" / "orders.parquet")
    result_path = str(folder / "results" / "first.json")
    return table_flags(base_path, source_path=str(source), request_id="load-1", result_path=result_path)


@pytest.fixture(scope="module")
def first(folder: Path, base_path: Path, variables: dict[str, str]) -> Ended:
    flags = first_request(folder, base_path)
    return run([sys.executable, SCRIPT, *flags], variables, folder / "run")


def files_below(base_path: Path) -> dict[str, tuple[int, int]]:
    """Size and modification time of each file below the base path."""
    found = [path for path in base_path.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def test_hudi_rs_reads_the_table_of_the_first_write(first: Ended, base_path: Path) -> None:
    assert first.exit_code == 0, first.log
    assert stored(base_path) == FIRST


def test_the_result_document_equals_the_result_that_the_job_printed(first: Ended, folder: Path) -> None:
    document = (folder / "results" / "first.json").read_text(encoding="utf-8")
    result = read_result(document)
    assert result == first.result
    assert (result.outcome, result.request_id, result.rows.inserted) == (Outcome.COMPLETED, "load-1", 1000)
    assert result.instant_time is not None
    assert result.spark_application_id is not None
    assert 0.5 < result.timings_s["spark_start"] < 300
    assert next(iter(result.timings_s)) == "spark_start"
    assert {p.partition_path for p in result.partitions} == {"region-000", "region-001", "region-002"}


@pytest.mark.usefixtures("first")
def test_a_second_job_with_the_same_request_id_writes_nothing(
    folder: Path, base_path: Path, variables: dict[str, str], first: Ended
) -> None:
    before = files_below(base_path)
    again = run([sys.executable, SCRIPT, *first_request(folder, base_path)], variables, folder / "run")
    assert again.exit_code == 0, again.log
    assert again.result.reused
    assert again.result.instant_time == first.result.instant_time
    assert files_below(base_path) == before


@pytest.mark.thorough
@pytest.mark.usefixtures("first")
def test_a_dry_run_reports_the_plan_and_writes_nothing(
    folder: Path, base_path: Path, variables: dict[str, str]
) -> None:
    before = files_below(base_path)
    source = write_parquet(orders(range(900, 1100), version=2), folder / "landing" / "dry.parquet")
    flags = table_flags(base_path, source_path=str(source))
    ended = run([sys.executable, SCRIPT, *flags, "--dry-run"], variables, folder / "run")
    assert ended.exit_code == 0, ended.log
    assert ended.result.outcome is Outcome.PLANNED
    assert ended.result.rows.inserted == 100
    assert all(partition.padded for partition in ended.result.partitions)
    assert files_below(base_path) == before


@pytest.mark.thorough
def test_a_request_document_can_have_a_csv_source_with_a_query(
    folder: Path, variables: dict[str, str]
) -> None:
    landing = folder / "landing" / "orders.csv"
    landing.parent.mkdir(exist_ok=True)
    with landing.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerows([("id", "region", "amount"), *(row[:3] for row in FIRST)])
    query = "SELECT id, region, amount, 1L AS version FROM source WHERE id < 500"
    base_path = folder / "tables" / "from csv"
    request = {
        "contract_version": 1,
        "base_path": str(base_path),
        "table_name": "orders",
        "source": {
            "path": str(landing),
            "format": "csv",
            "options": {"header": "true", "sep": ";", "inferSchema": "true"},
            "sql": query,
        },
        "record_key": ["id"],
        "partition_by": ["region"],
        "ordering_field": "version",
        "options": {"hoodie.write.table.version": "8"},
    }
    document = folder / "request.json"
    document.write_text(json.dumps(request), encoding="utf-8")
    ended = run([sys.executable, SCRIPT, "--request", str(document)], variables, folder / "run")
    assert ended.exit_code == 0, ended.log
    assert ended.result.completion_time is not None
    assert stored(base_path) == FIRST[:500]


def test_a_missing_source_is_reported_by_message_exit_code_and_document(
    folder: Path, variables: dict[str, str]
) -> None:
    missing, document = folder / "landing" / "not there", folder / "results" / "failed.json"
    base_path = folder / "tables" / "never made"
    flags = table_flags(base_path, source_path=str(missing), result_path=str(document), request_id="bad-1")
    ended = run([sys.executable, SCRIPT, *flags], variables, folder / "run")
    assert ended.exit_code == 64, ended.log
    result = read_result(document.read_text(encoding="utf-8"))
    assert (result.outcome, result.request_id) == (Outcome.FAILED, "bad-1")
    assert result.error is not None
    assert (result.error.kind, result.error.retryable) == ("InvalidRequestError", False)
    assert str(missing) in result.error.message
    assert result.error.message in ended.log
    assert not base_path.exists()


def test_a_failed_start_of_spark_is_reported_by_message_exit_code_and_document(
    folder: Path, variables: dict[str, str]
) -> None:
    document = folder / "results" / "no java.json"
    flags = [
        *table_flags(folder / "tables" / "t", source_path="/s", result_path=str(document)),
        "--no-source-check",
    ]
    ended = run(
        [sys.executable, SCRIPT, *flags], {**variables, "JAVA_HOME": str(folder / "no")}, folder / "run"
    )
    assert ended.exit_code == 70, ended.log
    error = read_result(document.read_text(encoding="utf-8")).error
    assert error is not None
    assert error.kind == "ExecutionFailedError"
    assert error.message.startswith("Spark needs Java, but ")
    assert "JAVA_HOME" in error.hint


def test_a_job_whose_jvm_is_killed_says_that_spark_ended_and_its_next_run_completes(
    folder: Path, variables: dict[str, str]
) -> None:
    base_path = folder / "tables" / "killed"
    rows = orders(range(400_000))
    source = write_parquet(rows, folder / "landing" / "large.parquet")
    document = folder / "results" / "killed.json"
    flags = table_flags(base_path, source_path=str(source), request_id="killed", result_path=str(document))
    command = [sys.executable, SCRIPT, *flags]
    job = JobProcess(command, variables, folder / "killed")

    def busy_jvm() -> int | None:
        if "Stage the incoming rows" not in job.log:
            return None
        jvm = jvm_of(job.process.pid)
        return jvm if busy_workers(jvm) else None

    os.kill(job.wait_for("worker that runs a task", busy_jvm), signal.SIGTERM)
    ended = job.wait()
    assert ended.exit_code == 70, ended.log
    error = read_result(document.read_text(encoding="utf-8")).error
    assert error is not None
    assert (error.kind, error.retryable) == ("ExecutionFailedError", True)
    assert error.message.startswith("Spark ended in the step: Stage the incoming rows")
    assert "run the request again" in error.hint
    again = run(command, variables, folder / "again")
    assert again.exit_code == 0, again.log
    assert stored(base_path) == rows
