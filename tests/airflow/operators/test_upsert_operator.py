"""The upsert operator: refused arguments, submission to Spark, and how the operator reacts to the end of the job."""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, task

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.tasks.identity import identity_of
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.airflow.task_context import StateStore, TaskInstance, context

NOON = datetime(2013, 1, 1, 12, tzinfo=timezone.utc)


def commits(tmp_path: Path) -> int:
    return len(load_snapshot(LocalStorage(str(tmp_path / "table"))).timeline.completed_writes)


# The request


def test_arguments_become_the_request(operator: Callable[..., UpsertWithSizingOperator]) -> None:
    made = operator(
        table_name="t",
        operation="insert",
        source_format="csv",
        source_options={"header": True},
        record_key="a, b",
        partition_by=["p"],
        ordering_field="ts",
        max_file_size=1000,
        small_file_limit=900,
        hudi_options={"hoodie.combine.before.insert": True},
    )
    from airflow_hudi_provider.tables.connection import TableLocation

    request = made.build_request(TableLocation(base_path="/t"), "r", "/result")
    assert (request.table_name, request.operation, request.record_key) == ("t", "insert", ("a", "b"))
    assert request.source is not None
    assert (request.source.format, request.source.options) == ("csv", {"header": "true"})
    assert request.options == {
        "hoodie.parquet.max.file.size": "1000",
        "hoodie.parquet.small.file.limit": "900",
        "hoodie.combine.before.insert": "true",
    }
    assert (request.request_id, request.result_path) == ("r", "/result")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"hudi_options": {"hoodie.parquet.max.file.sizes": 1}},
            r"load: .*Did you mean hoodie\.parquet\.max\.file\.size",
        ),
        ({"hudi_options": {"hoodie.parquet.max.file.sizes": "{{ 1 }}"}}, "load: .*Did you mean"),
        ({"max_file_size": 10, "small_file_limit": 20}, "load: .*is above"),
        ({"max_file_size": 10, "hudi_options": {"hoodie.parquet.max.file.size": 11}}, "load: .*11"),
        ({"source_path": None}, "load: .*needs a source"),
        ({"hudi_options": "a=b"}, "load: hudi_options must be a dictionary"),
        ({"source_options": "header=true"}, "load: .*source_options must be a dictionary, not 'header=true'"),
        ({"record_key": 5}, "load: .*record_key must be a string or a list of strings, not 5"),
        ({"partition_by": {"day": 1}}, "load: .*partition_by must be a string or a list of strings"),
        ({"source_sql": ["SELECT 1"]}, "load: .*source_sql must be a string"),
        ({"take_turns": "yes"}, "load: take_turns must be True or False, not 'yes'"),
        ({"dry_run": 1}, "load: dry_run must be True or False, not 1"),
        ({"operation": "upsrt"}, "load: operation='upsrt' must be 'upsert', .*Did you mean upsert\\?"),
        ({"operation": "UPSERT", "source_path": "{{ ds }}"}, "Only upper and lower case differ"),
        (
            {"timestamps_without_zone": "UTC"},
            "timestamps_without_zone='UTC' must be 'utc', 'session' or 'refuse'",
        ),
        ({"on_empty": "x"}, "on_empty='x' must be 'succeed', 'skip' or 'fail'"),
        ({"on_empty": "{{ x }}"}, "on_empty"),
        ({"on_rerun": "write"}, "on_rerun='write' must be 'reuse' or 'write_again'"),
        ({"base_path": None}, "base_path or hudi_conn_id"),
        ({"base_path": "lake/x"}, "load: base_path='lake/x' is relative"),
        ({"base_path": "lake/x", "source_path": "{{ ds }}"}, "load: base_path='lake/x' is relative"),
        ({"base_path": " "}, "load: base_path is empty"),
        ({"application": "mine.py"}, "load: application cannot be set"),
        ({"conn_id": "a", "spark_conn_id": "b"}, "load: conn_id='a' and spark_conn_id='b' differ"),
    ],
)
def test_wrong_arguments_fail_when_the_dag_is_parsed(
    operator: Callable[..., UpsertWithSizingOperator], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        operator(**arguments)


def test_outputs_of_other_tasks_are_checked_only_in_the_run(
    operator: Callable[..., UpsertWithSizingOperator],
) -> None:
    with DAG("d", schedule=None):

        @task
        def first() -> Any: ...

        given = first()
        for arguments in (
            {"hudi_options": given},
            {"hudi_options": {"hoodie.parquet.max.file.size": given}},
            {"hudi_options": "{{ params.o }}"},
            {"record_key": [given]},
            {"record_key": given.map(str)},
            {"operation": given.map(str)},
            {"source_options": {"header": given}},
        ):
            operator(**arguments, task_id=f"load_{len(str(arguments))}_{id(arguments)}")


def test_the_connection_can_be_given_as_conn_id(
    operator: Callable[..., UpsertWithSizingOperator], connections: Callable[..., None]
) -> None:
    connections("elsewhere", conn_type="spark", host="spark://elsewhere", port=7077)
    made = operator(conn_id="elsewhere", deploy_mode="cluster")
    with pytest.raises(HudiTaskRefusedError, match="spark://elsewhere:7077"):
        made.execute(context())


def test_an_unknown_argument_fails_when_the_dag_is_parsed(
    operator: Callable[..., UpsertWithSizingOperator],
) -> None:
    with pytest.raises(TypeError, match="ordering_fields"):
        operator(ordering_fields="ts")


def test_the_request_id_identifies_the_task_in_its_run(
    operator: Callable[..., UpsertWithSizingOperator],
) -> None:
    def identity(ti: TaskInstance, **arguments: Any) -> str:
        made = operator(**arguments)
        return identity_of(context(ti=ti), made.retries, made.on_rerun)

    assert identity(TaskInstance()) == "d/run 1/load"
    assert identity(TaskInstance(max_tries=7)) == "d/run 1/load"
    assert identity(TaskInstance(map_index=3)) == "d/run 1/load/3"
    again = {"on_rerun": "write_again", "retries": 2}
    assert identity(TaskInstance(max_tries=2), **again) == "d/run 1/load"
    assert identity(TaskInstance(max_tries=5), **again) == "d/run 1/load#3"


# Refusals before the submission


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"spark_conn_id": "k8s", "deploy_mode": "cluster"}, "apache-airflow-providers-cncf-kubernetes"),
        ({"base_path": "hdfs://namenode/lake/t"}, "InvalidRequestError: .*hdfs"),
        ({"spark_conn_id": "standalone", "deploy_mode": "cluster"}, "Spark runs no Python application there"),
        ({"spark_conn_id": "yarn", "deploy_mode": "cluster"}, "needs result_base_path"),
        ({"spark_binary": None, "env_vars": {"JAVA_HOME": "/no"}}, "Java was not found"),
        ({"spark_binary": None, "spark_conn_id": "named"}, "spark3-submit was not found"),
    ],
)
def test_an_impossible_submission_is_refused(
    operator: Callable[..., UpsertWithSizingOperator],
    connections: Callable[..., None],
    tmp_path: Path,
    airflow_db: None,
    arguments: dict[str, Any],
    message: str,
) -> None:
    connections("standalone", conn_type="spark", host="spark://master", port=7077)
    connections("yarn", conn_type="spark", host="yarn")
    connections("k8s", conn_type="k8s", host="https://cluster", port=6443)
    connections("named", conn_type="spark", host="local", extra={"spark-binary": "spark3-submit"})
    made = operator(**{"base_path": str(tmp_path / "table"), **arguments})
    with pytest.raises(HudiTaskRefusedError, match=message):
        made.execute(context())
    assert not (tmp_path / "table").exists()


def test_a_missing_spark_is_reported(
    operator: Callable[..., UpsertWithSizingOperator], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from airflow_hudi_provider.spark import environment as spark_environment

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    monkeypatch.setattr(spark_environment, "_spark_of_this_python", lambda: None)
    made = operator(spark_binary=None, env_vars={"JAVA_HOME": str(tmp_path), "PATH": "/no"})
    with pytest.raises(HudiTaskRefusedError, match="spark-submit was not found.*pip install pyspark"):
        made.execute(context())


@pytest.mark.parametrize("rendered", ["", " ", [""], {"hoodie.parquet.max.file.size": ""}, None])
@pytest.mark.parametrize(
    "field", ["source_path", "source_sql", "record_key", "ordering_field", "spark_conn_id"]
)
def test_a_template_that_renders_to_nothing_is_refused(
    operator: Callable[..., UpsertWithSizingOperator], field: str, rendered: Any
) -> None:
    made = operator(**{field: "{{ params.x }}"})
    setattr(made, field, rendered)
    with pytest.raises(HudiTaskRefusedError, match=f"'{field}' .*template"):
        made.execute(context())


def test_an_empty_data_interval_is_refused_with_a_hint(
    operator: Callable[..., UpsertWithSizingOperator],
) -> None:
    made = operator(source_path="/landing/{{ data_interval_start | ds }}")
    with pytest.raises(HudiTaskRefusedError, match="CronDataIntervalTimetable"):
        made.execute(context(data_interval_start=NOON, data_interval_end=NOON))
    plain = operator()
    plain.execute(context(data_interval_start=NOON, data_interval_end=NOON))


# The end of the job


def test_a_completed_request_is_not_submitted_again(
    operator: Callable[..., UpsertWithSizingOperator], tmp_path: Path
) -> None:
    first = operator().execute(context())
    assert not first["reused"]
    again = operator("raise SystemExit('submitted again')").execute(context())
    assert again["reused"]
    assert [partition["partition_path"] for partition in again["partitions"]] == ["city=a"]
    assert commits(tmp_path) == 1


def test_a_cleared_task_with_write_again_writes_again(
    operator: Callable[..., UpsertWithSizingOperator], tmp_path: Path
) -> None:
    arguments = {"on_rerun": "write_again"}
    operator(**arguments).execute(context())
    operator(**arguments).execute(context())
    assert commits(tmp_path) == 1, "a retry by Airflow itself"
    operator(**arguments).execute(context(ti=TaskInstance(max_tries=1)))
    assert commits(tmp_path) == 2


def test_an_archived_commit_is_not_repeated(
    operator: Callable[..., UpsertWithSizingOperator], tmp_path: Path
) -> None:
    kept = {"task_state_store": StateStore()}
    operator().execute(context(**kept))
    (first,) = (tmp_path / "table" / ".hoodie").glob("*.commit")
    # The instant of this second run stays on the active timeline.
    operator().execute(context(ti=TaskInstance(run_id="run 2")))
    for path in first.parent.glob(f"{first.stem}.*"):
        path.unlink()
    with pytest.raises(
        HudiTaskRefusedError, match=f"{first.stem} completed this request.*archived.*write_again"
    ):
        operator().execute(context(**kept))
    again = operator(on_rerun="write_again").execute(context(ti=TaskInstance(max_tries=1), **kept))
    assert not again["reused"]


def test_a_rolled_back_commit_is_repeated(
    operator: Callable[..., UpsertWithSizingOperator], tmp_path: Path
) -> None:
    kept = {"task_state_store": StateStore()}
    operator().execute(context(ti=TaskInstance(run_id="run 0")))
    operator().execute(context(**kept))
    latest = max((tmp_path / "table" / ".hoodie").glob("*.commit"))
    for path in latest.parent.glob(f"{latest.stem}.*"):
        path.unlink()
    assert not operator().execute(context(**kept))["reused"]


@pytest.mark.skipif(
    not hasattr(UpsertWithSizingOperator, "external_id_key"),
    reason="this Airflow does not reconnect to drivers",
)
def test_the_id_of_an_ended_driver_is_deleted(
    operator: Callable[..., UpsertWithSizingOperator], connections: Callable[..., None], tmp_path: Path
) -> None:
    """If the id stayed, the success of this driver would count as the success of the next job.

    Airflow keeps the id of a driver when a user clears the task.
    """
    store = StateStore(spark_job_id="driver-1", k8s_driver_status="Succeeded")
    connections("yarn", conn_type="spark", host="yarn")
    on_cluster = {"spark_conn_id": "yarn", "deploy_mode": "cluster"}
    made = operator(**on_cluster, result_base_path=str(tmp_path / "results"))
    made.execute(context(task_state_store=store))
    assert set(store) == {"hudi_commit"}


def test_a_job_that_succeeds_without_a_commit_fails_the_task(
    operator: Callable[..., UpsertWithSizingOperator],
) -> None:
    with pytest.raises(HudiTaskError, match="nothing was committed.*no result document"):
        operator("pass").execute(context())
    with pytest.raises(HudiTaskError, match="no completed instant on the timeline has the request id"):
        operator("result(outcome='completed', instant_time='20260101000000000')").execute(context())


@pytest.mark.parametrize(
    "ending", ["", "; failed('StorageError', True)", "; open(result_path, 'w').write('{')"]
)
def test_a_task_succeeds_if_its_failed_job_completed_the_commit(
    operator: Callable[..., UpsertWithSizingOperator], ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    document = operator(f"commit(){ending}; sys.exit(3)").execute(context())
    assert (document["outcome"], document["reused"]) == ("completed", True)


@pytest.mark.parametrize(
    ("kind", "retryable", "error"),
    [
        ("FileGroupConflictError", True, HudiTaskError),
        ("StorageError", True, HudiTaskError),
        ("InvalidDataError", False, HudiTaskRefusedError),
    ],
)
def test_conflicts_and_storage_errors_are_retried_and_bad_rows_are_not(
    operator: Callable[..., UpsertWithSizingOperator], kind: str, retryable: bool, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"{kind}: It broke. Fix it."):
        operator(f"failed({kind!r}, {retryable}); sys.exit(65)").execute(context())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(1)", "no result document.*Nothing was committed"),
        ("open(result_path, 'w').write('{\"contract_version\": 1, \"req')", "cannot be read"),
        ("open(result_path, 'w').write('{\"contract_version\": 99}')", "99"),
        ("request['request_id'] = 'other'; result(outcome='completed')", "belongs to another request"),
    ],
    ids=["exit code alone", "half-written", "newer contract", "stale"],
)
def test_an_invalid_result_document_is_reported(
    operator: Callable[..., UpsertWithSizingOperator], body: str, message: str
) -> None:
    with pytest.raises(HudiTaskError, match=message):
        operator(body).execute(context())


EMPTY = "result(outcome='nothing_to_do', reason='the source has no rows')"


def test_an_empty_source_succeeds_skips_or_fails(
    operator: Callable[..., UpsertWithSizingOperator],
) -> None:
    assert operator(EMPTY).execute(context())["outcome"] == "nothing_to_do"
    with pytest.raises(AirflowSkipException, match="the source has no rows"):
        operator(EMPTY, on_empty="skip").execute(context())
    with pytest.raises(HudiTaskRefusedError, match="the source has no rows"):
        operator(EMPTY, on_empty="fail").execute(context())
