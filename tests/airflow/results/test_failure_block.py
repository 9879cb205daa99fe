"""What the log of a failed task says at its end: a block with message, advice and state of the table, no traceback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.results.failure import FAILURE_KEY

Operator = Callable[..., UpsertWithSizingOperator]


@pytest.fixture
def failed_run(
    run_dag: Callable[..., Any],
    operator: Operator,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., tuple[str, dict[str, str]]]:
    """Run a load that fails, and return the log and the failure that was pushed for the Hudi tab."""

    def run(body: str = "raise SystemExit('submitted')", **arguments: Any) -> tuple[str, dict[str, str]]:
        with DAG("fails", schedule=None) as dag:
            operator(body, **arguments)
        done = run_dag(dag)
        (task,) = done.get_task_instances()
        assert task.state == "failed"
        return caplog.text + "".join(capfd.readouterr()), task.xcom_pull(task_ids="load", key=FAILURE_KEY)

    return run


def test_a_wrong_source_is_refused_without_spark(failed_run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_text("")
    source = tmp_path / "peple.parquet"
    log, failure = failed_run(source_path=str(source), check_source=True, table_name="t")
    assert "FAILED: InvalidRequestError" in log
    assert "What happened The source" in log
    assert failure["message"] == f"The source {str(source)!r} does not exist."
    assert "Table now     Nothing was written: readers see the table as it was before." in log
    assert "/hudi/static/errors.html#invalidrequesterror" in log
    assert "Task failed with exception: InvalidRequestError" in log
    assert "Traceback" not in log
    assert "submitted" not in log
    assert failure["kind"] == "InvalidRequestError"
    assert failure["table"] == str(tmp_path / "table")
    assert "people.parquet" in failure["hint"]


def test_an_error_of_the_job_names_the_pending_write(failed_run: Callable[..., Any]) -> None:
    log, failure = failed_run("begin(); failed('StorageError', False); sys.exit(74)")
    assert "What happened It broke." in log
    assert "What to do    Fix it." in log
    assert "was pending: readers see the table as it was before" in failure["table_now"]
    assert "Traceback" not in log


def test_errors_before_the_table_is_known_have_a_block(failed_run: Callable[..., Any]) -> None:
    log, failure = failed_run(hudi_conn_id="no_such_connection")
    assert "There is no connection 'no_such_connection' (hudi_conn_id)" in log
    assert "Traceback" not in log
    assert failure["table_now"] == "Nothing was done."


def test_other_exceptions_keep_their_traceback(
    failed_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(UpsertWithSizingOperator, "build_request", broken)
    monkeypatch.setattr(UpsertWithSizingOperator, "check_when_the_dag_is_read", lambda _: None)
    log, failure = failed_run()
    assert "RuntimeError: a bug" in log
    assert "Traceback" in log
    assert failure is None
