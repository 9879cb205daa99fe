"""The log of a failed task ends with a block that contains message, advice and state of the table, but no traceback."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import CancelClusteringOperator
from airflow_hudi_provider.operators.recovery import RepairOperator, RestoreOperator, RollbackOperator
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.results.argument_names import operators_by_script, with_arguments
from airflow_hudi_provider.results.failure import FAILURE_KEY
from hudi_table_services.services.registry import SERVICES

Operator = Callable[..., UpsertWithSizingOperator]


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""Control sequences with which the log of Airflow 3.1 colours its lines."""


@pytest.fixture
def failed_run(
    run_dag: Callable[..., Any],
    operator: Operator,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[str, dict[str, str]]]:
    """Run a load that fails, and return the log and the failure that was pushed for the Hudi tab."""
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example")

    def run(body: str = "raise SystemExit('submitted')", **arguments: Any) -> tuple[str, dict[str, str]]:
        with DAG("fails", schedule=None) as dag:
            operator(body, **arguments)
        done = run_dag(dag)
        (task,) = done.get_task_instances()
        assert task.state == "failed"
        log = _COLOUR.sub("", caplog.text + "".join(capfd.readouterr()))
        return log, task.xcom_pull(task_ids="load", key=FAILURE_KEY)

    return run


def test_a_wrong_source_is_refused_without_spark(failed_run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_text("")
    source = tmp_path / "peple.parquet"
    log, failure = failed_run(source_path=str(source), check_source=True, table_name="t")
    assert "FAILED: InvalidRequestError" in log
    assert "What happened The source" in log
    assert failure["message"] == f"The source {str(source)!r} does not exist."
    assert "Table now     Nothing was written: there is no table yet." in log
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


def test_the_block_has_no_link_if_the_address_of_airflow_is_not_configured(
    failed_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW__API__BASE_URL")
    log, failure = failed_run(hudi_conn_id="no_such_connection")
    assert "FAILED: HudiTaskRefusedError" in log
    assert failure["page"] == ""
    assert "errors.html" not in log


def test_wrapped_lines_of_the_block_have_at_most_90_characters(failed_run: Callable[..., Any]) -> None:
    log, failure = failed_run(base_path="relative/{{ 'path' }}")
    assert len(failure["message"]) > 90
    block = re.findall(r"\[error *\] (  .*?) +\[", log)
    assert "What happened base_path='relative/path' is relative." in block[0]
    assert len(block) > 4
    assert max(map(len, block)) <= 90


def test_a_wrong_base_path_causes_no_second_message_about_metrics(failed_run: Callable[..., Any]) -> None:
    log, _ = failed_run(base_path="relative/{{ run_id }}")
    assert "is relative" in log
    assert "Metrics were not emitted" not in log


def test_errors_before_the_table_is_known_have_a_block(failed_run: Callable[..., Any]) -> None:
    log, failure = failed_run(hudi_conn_id="no_such_connection")
    assert "There is no connection 'no_such_connection' (hudi_conn_id)" in log
    assert "Traceback" not in log
    assert failure["table_now"] == "Nothing was done."
    assert "FAILED: HudiTaskRefusedError" in log
    assert "/hudi/static/errors.html#huditaskrefusederror" in log


def test_a_misspelt_connection_gets_the_similar_one(failed_run: Callable[..., Any]) -> None:
    _, failure = failed_run(spark_conn_id="spark_defualt")
    assert failure["hint"].startswith(
        "Did you mean 'spark_default'? If not, create it under Admin → Connections"
    )
    _, failure = failed_run(spark_conn_id="another_cluster")
    assert failure["hint"].startswith("Create it under Admin → Connections")


@pytest.mark.parametrize("rule", ["all_done", "all_success"])
def test_a_service_after_a_failed_first_load_says_that_there_is_no_table(
    run_dag: Callable[..., Any], operator: Operator, tmp_path: Path, rule: str
) -> None:
    with DAG("no_table", schedule=None) as dag:
        load = operator(source_path=str(tmp_path / "none.parquet"), check_source=True, table_name="t")
        clean = CleanOperator(task_id="clean", base_path=str(tmp_path / "table"), trigger_rule=rule)
        load >> clean
    tasks = {each.task_id: each for each in run_dag(dag).get_task_instances()}
    failure = tasks["clean"].xcom_pull(task_ids="clean", key=FAILURE_KEY)
    if rule == "all_success":
        assert (tasks["clean"].state, failure) == ("upstream_failed", None)
        return
    assert tasks["clean"].state == "failed"
    assert failure["kind"] == "TableNotFoundError"
    assert failure["message"].endswith("/table: no write has completed there.")
    assert failure["hint"].startswith("Run a load first: the load creates the table.")
    assert failure["hint"].endswith(
        "This task has trigger_rule='all_done', so it also runs after a failed load."
    )
    assert (failure["table"], failure["table_now"]) == (str(tmp_path / "table"), "")


def test_the_state_of_the_table_does_not_repeat_the_error(
    failed_run: Callable[..., Any], run_dag: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("1,Ada")
    _, failure = failed_run(base_path=str(tmp_path / "people.csv"), table_name="t")
    assert failure["message"].endswith("people.csv is a file; a table is a folder.")
    assert failure["table_now"] == "It could not be read, for the same reason."
    with DAG("other_files", schedule=None) as dag:
        CleanOperator(task_id="clean", base_path=str(tmp_path / "people.csv" / "table"))
    (clean,) = run_dag(dag).get_task_instances()
    failure = clean.xcom_pull(task_ids="clean", key=FAILURE_KEY)
    assert failure["table_now"] == "It could not be read, for the same reason."


def test_a_load_into_a_folder_with_other_files_says_that_there_is_no_table(
    failed_run: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("1,Ada")
    _, failure = failed_run(base_path=str(tmp_path), table_name="t")
    assert failure["kind"] == "InvalidRequestError"
    assert failure["hint"].startswith("Give an empty or new folder")
    assert failure["table_now"] == "There is no table."


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


def test_the_block_names_arguments_instead_of_flags(failed_run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_text("1,Ada")
    log, failure = failed_run(source_path=str(tmp_path / "people.parquet"), check_source=True, table_name="t")
    assert failure["hint"] == "Set `source_format` to the format of the file, such as csv or json."
    assert "What to do    Set `source_format` to the format" in log
    assert "--source-format" not in log


@pytest.mark.parametrize(
    ("text", "operator", "shown"),
    [
        (
            "Set --timestamps-without-zone=utc or --timestamps-without-zone=session.",
            UpsertWithSizingOperator,
            'Set timestamps_without_zone="utc" or timestamps_without_zone="session".',
        ),
        (
            "Remove skip_unchanged (--skip-unchanged), or --dry-run and --no-source-check.",
            UpsertWithSizingOperator,
            "Remove `skip_unchanged`, or `dry_run` and check_source=False.",
        ),
        (
            "Set the source option header=true; a source query (--source-sql) can name the columns.",
            UpsertWithSizingOperator,
            'Set source_options={"header": "true"}; a source query (`source_sql`) can name the columns.',
        ),
        (
            "Set the source option nullValue to read this text as null.",
            UpsertWithSizingOperator,
            "Set nullValue in source_options to read this text as null.",
        ),
        (
            "Set --source-option sep=';' or --source-option nullValue=n/a.",
            UpsertWithSizingOperator,
            'Set source_options={"sep": ";"} or source_options={"nullValue": "n/a"}.',
        ),
        (
            "With --option hoodie.write.set.null.for.missing.columns=true, the write stores null.",
            UpsertWithSizingOperator,
            'With hudi_options={"hoodie.write.set.null.for.missing.columns": "true"}, the write stores null.',
        ),
        ("Give --instant or --all-failed.", RollbackOperator, "Give `instant` or `all_failed`."),
        (
            "Run the job without --execute to list the files; then raise --max-files.",
            RepairOperator,
            "Run the job with preview=True to list the files; then raise `max_files`.",
        ),
        (
            "Delete the savepoint first: delete_savepoint.py --base-path TABLE --instant 20260102030405678.",
            RollbackOperator,
            'Delete the savepoint first: DeleteSavepointOperator(instant="20260102030405678").',
        ),
        (
            "Drop it with rebuild_metadata_table.py --drop all, undo the write, then run rebuild_metadata_table.py.",
            UpsertWithSizingOperator,
            'Drop it with RebuildMetadataTableOperator(drop="all"), undo the write, then run '
            "RebuildMetadataTableOperator.",
        ),
        (
            "The source 'clean.py' or \"clean.py\" does not exist. Run clean.py.",
            UpsertWithSizingOperator,
            "The source 'clean.py' or \"clean.py\" does not exist. Run CleanOperator.",
        ),
        ("Give --savepoint.", RestoreOperator, "Give `savepoint`."),
        (
            "Run repair_orphan_files.py --execute first.",
            UpsertWithSizingOperator,
            "Run RepairOperator(preview=False) first.",
        ),
        (
            "Set --all-failed, --result-path and /lake/clean.py, and the source option header=true.",
            CancelClusteringOperator,
            "Set --all-failed, --result-path and /lake/clean.py, and the source option header=true.",
        ),
    ],
)
def test_flags_and_scripts_become_arguments_and_operators(text: str, operator: type, shown: str) -> None:
    assert with_arguments(text, operator) == shown


def test_every_script_has_an_operator() -> None:
    scripts = {script.file_name for service in SERVICES for script in service.scripts}
    assert scripts == operators_by_script().keys()
