"""The upsert operator with a source table: skipped, retried, cleared and refused tasks, without Spark."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.incremental import change_backlog, change_positions
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark.job_exchange import JobExchange
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.identity import owner_of
from hudi_table_services.model.write_stat import LOAD_REQUEST_KEY
from hudi_table_services.tables.reading.change_positions import POSITION_KEY, SOURCE_KEY
from support.airflow.airflow_versions import LOOKS_UP_CONNECTIONS_ANYWHERE
from support.airflow.task_context import TaskInstance, context
from support.spark.log_tables import LogTable, new_log_table

CANARY = "canary-47c1d"
NO_SPARK = "raise SystemExit('submitted')"


@pytest.fixture
def source(tmp_path: Path) -> LogTable:
    made = new_log_table(tmp_path / "source", 9, hoodie__table__type="COPY_ON_WRITE")
    made.write([("a", 1, "p0", "a1"), ("b", 1, "p0", "b1")])
    return made


@pytest.fixture
def load(
    operator: Callable[..., UpsertWithSizingOperator], tmp_path: Path, source: LogTable
) -> Callable[..., UpsertWithSizingOperator]:
    def make(**arguments: Any) -> UpsertWithSizingOperator:
        given = {
            "source_path": None,
            "source_table": str(source.base_path),
            "check_source": True,
            "table_name": "t",
            "record_key": "k",
            "partition_by": "p",
        }
        return operator(NO_SPARK, **{**given, **arguments})

    return make


@pytest.fixture
def loaded(source: LogTable, tmp_path: Path) -> LogTable:
    """The target, in which the task of run 1 has loaded the source."""
    target = new_log_table(tmp_path / "table", 9, hoodie__table__type="COPY_ON_WRITE")
    chain = str(source.base_path).strip("/")
    stored = {
        f"_{POSITION_KEY}{chain}": source.newest()[0].visible_from,
        f"_{SOURCE_KEY}{chain}": str(source.base_path),
        f"_{LOAD_REQUEST_KEY}": "d/run 1/load",
    }
    target.write([("a", 1, "p0", "a1"), ("b", 1, "p0", "b1")], options=stored, request_id="changes/1")
    return target


def in_run(number: int, max_tries: int = 0) -> Any:
    return context(ti=TaskInstance(max_tries=max_tries, run_id=f"run {number}"))


def test_arguments_become_the_source(load: Callable[..., UpsertWithSizingOperator]) -> None:
    made = load(
        source_table="s3://lake/flights",
        source_mode="changed_groups",
        source_sql="SELECT k, p, count(*) AS n FROM source GROUP BY k, p",
        source_begin="earliest",
        source_first_begin="2026-01-01",
    )
    spec = made.build_request(TableLocation(base_path="/t"), "r", "").source
    assert spec is not None
    assert (spec.table, spec.mode, spec.chain) == ("s3://lake/flights", "changed_groups", "lake/flights")
    assert (spec.begin, spec.first_begin) == ("earliest", "2026-01-01")
    assert made.lineage_inputs() == ["s3://lake/flights"]
    assert made.on_empty == "skip"
    assert load(source_table=None, source_path="/landing").on_empty == "succeed"


def test_a_source_table_can_be_relative_to_the_connection(
    load: Callable[..., UpsertWithSizingOperator], connections: Callable[..., None]
) -> None:
    connections("lake", conn_type="hudi", host="s3://lake/")
    made = load(base_path="clean", source_table="flights", hudi_conn_id="lake")
    spec = made.build_request(made.find_table().location, "r", "").source
    assert spec is not None
    assert spec.table == "s3://lake/flights"


def test_the_source_can_have_a_connection_of_its_own(
    load: Callable[..., UpsertWithSizingOperator], connections: Callable[..., None]
) -> None:
    connections("other", conn_type="aws", login="key", password=CANARY)
    made = load(source_storage_conn_id="other")
    before = made.build_request(TableLocation(base_path="/t"), "r", "")
    assert before.source is not None
    assert before.source.storage_options == {}
    with pytest.raises(HudiTaskError, match="submitted|exit|Cannot execute") as failed:
        made.execute(in_run(1))
    assert CANARY not in str(failed.value)
    request = made.build_request(TableLocation(base_path="/t"), "r", "")
    assert request.source is not None
    assert (request.source.storage_options or {})["aws_secret_access_key"] == CANARY
    assert CANARY not in repr(request)
    assert CANARY not in owner_of(in_run(1), request)
    assert owner_of(in_run(1), request) == owner_of(in_run(1), before.without_credentials())
    with JobExchange("", ("d", "r", "t"), {}) as exchange:
        exchange.put_request(request)
        assert Path(exchange.request_uri.removeprefix("file://")).stat().st_mode & 0o077 == 0


@pytest.mark.skipif(
    not LOOKS_UP_CONNECTIONS_ANYWHERE, reason="Airflow 3.1 finds connections only inside of tasks"
)
def test_the_error_names_a_missing_connection_of_a_source(
    load: Callable[..., UpsertWithSizingOperator],
) -> None:
    with pytest.raises(HudiTaskRefusedError, match=r"no connection 'none' \(source_storage_conn_id\)"):
        load(source_storage_conn_id="none").execute(in_run(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source_path": "/landing"}, "load: .*and also a path"),
        (
            {"source_mode": "incrementel"},
            "source_mode='incrementel' must be 'incremental' or 'changed_groups'",
        ),
        ({"source_table": None, "source_path": "/a", "source_begin": "earliest"}, "load: The field 'begin'"),
        ({"source_table": "flights"}, "load: source_table='flights' is relative"),
        ({"operation": "bulk_insert"}, "load: .*operation bulk_insert"),
        ({"dry_run": True}, "load: .*dry run"),
        ({"source_mode": "changed_groups", "ordering_field": "ts"}, "load: .*ordering field 'ts'"),
    ],
)
def test_invalid_combinations_of_arguments_fail_when_the_dag_is_parsed(
    load: Callable[..., UpsertWithSizingOperator], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load(**arguments)


def test_a_run_without_new_commits_is_skipped_before_spark_starts(
    load: Callable[..., UpsertWithSizingOperator], source: LogTable, loaded: LogTable
) -> None:
    position = source.newest()[0].visible_from
    with pytest.raises(
        AirflowSkipException, match=f"has no commit after {position}, the position of the chain"
    ):
        load().execute(in_run(2))
    answer = load(on_empty="succeed").execute(in_run(2))
    assert (answer["outcome"], answer["request_id"]) == ("nothing_to_do", "d/run 2/load")
    with pytest.raises(HudiTaskRefusedError, match="has no commit after"):
        load(on_empty="fail").execute(in_run(2))


def test_the_template_of_source_begin_may_render_to_nothing(
    load: Callable[..., UpsertWithSizingOperator], loaded: LogTable
) -> None:
    made = load(source_begin="{{ params.begin }}")
    made.source_begin = ""
    with pytest.raises(AirflowSkipException):
        made.execute(in_run(2))


def test_a_retried_or_cleared_task_finds_its_commit(
    load: Callable[..., UpsertWithSizingOperator], source: LogTable, loaded: LogTable
) -> None:
    source.write([("c", 1, "p0", "c1")])
    for tries in (0, 3):
        answer = load().execute(in_run(1, max_tries=tries))
        assert (answer["reused"], answer["instant_time"]) == (True, loaded.newest()[0].requested_time)
        assert answer["rows"]["inserted"] == 2


def test_a_new_commit_starts_spark_and_so_does_a_clearing_with_write_again(
    load: Callable[..., UpsertWithSizingOperator], source: LogTable, loaded: LogTable
) -> None:
    source.write([("c", 1, "p0", "c1")])
    with pytest.raises(HudiTaskError, match="submitted|exit|Cannot execute"):
        load().execute(in_run(2))
    with pytest.raises(HudiTaskError, match="submitted|exit|Cannot execute"):
        load(on_rerun="write_again").execute(in_run(1, max_tries=1))


def test_a_source_that_does_not_exist_fails_without_a_retry(
    load: Callable[..., UpsertWithSizingOperator], tmp_path: Path
) -> None:
    with pytest.raises(HudiTaskRefusedError, match=f"{tmp_path}/nothing is not a Hudi table"):
        load(source_table=f"{tmp_path}/nothing").execute(in_run(1))


def test_the_error_about_a_misspelt_source_table_proposes_the_table(
    load: Callable[..., UpsertWithSizingOperator], source: LogTable
) -> None:
    with pytest.raises(HudiTaskRefusedError, match=f"Did you mean {source.base_path}[?]"):
        load(source_table=f"{source.base_path}x").execute(in_run(1))


def test_an_incremental_window_can_begin_at_a_stored_position(source: LogTable, loaded: LogTable) -> None:
    (position,) = change_positions(HudiHook(str(loaded.base_path)))
    hook = HudiHook(position.source)
    assert hook.incremental_window(position.time).is_empty
    source.write([("c", 1, "p0", "c1")])
    window = hook.incremental_window(position.time)
    assert (window.count, window.until) == (1, source.newest()[0].visible_from)
    backlog = change_backlog(hook, position.time)
    assert (backlog.commits, backlog.rows, backlog.since) == (1, 1, window.until)
    assert change_positions(HudiHook(str(loaded.base_path) + "-none")) == ()
