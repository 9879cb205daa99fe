"""Tasks wait in the triggerer, without Spark, while an attempt of another task executes a clustering."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from operator_runs import COMPLETES, REPORTS

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.clustering import ClusteringOperator, ExecuteClusteringOperator
from airflow_hudi_provider.tasks.identity import identity_of
from hudi_table_services.errors import StorageError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.locks import turns
from hudi_table_services.storage.locks.heartbeat import HEARTBEATS
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.clustered_tables import complete, schedule
from support.airflow.held_plans import deferred_of, delete_heartbeat, event_of, write_heartbeat
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import context
from support.small_tables import SmallTable

NO_SPARK = "raise SystemExit('submitted')"
NOTHING = "result(outcome='nothing_to_do', reason='completed by others')"


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path / "table")), request.param)
    made.commit(FileGroupId("city=a", "a-0"))
    return made


@pytest.fixture
def execute(tmp_path: Path, connections: Callable[..., None]) -> Callable[..., Any]:
    """Create an operator that waits for other attempts; a program with the given body replaces spark-submit."""
    connections("spark_default", conn_type="spark", host="local[2]")

    def make(
        body: str = NO_SPARK, kind: type[Any] = ExecuteClusteringOperator, **arguments: Any
    ) -> ExecuteClusteringOperator | ClusteringOperator:
        given = {
            "task_id": "execute",
            "base_path": str(tmp_path / "table"),
            "spark_binary": stand_in(tmp_path, body),
            "when_held": "wait",
            "on_nothing": "succeed",
            **arguments,
        }
        made: ExecuteClusteringOperator | ClusteringOperator = kind(**given)
        return made

    return make


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "all"])
def test_the_task_waits_until_the_other_attempt_ends_and_executes_the_plan(
    table: SmallTable, execute: Callable[..., Any], is_named: bool
) -> None:
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    made = execute(COMPLETES + REPORTS, **({"instant": plan.requested_time} if is_named else {}))
    event = event_of(deferred_of(made), lambda: delete_heartbeat(table.storage, plan))
    assert event == {"answer": {"instants": [plan.requested_time], "held": []}}
    answer = made.execute_when_free(context(), event)
    assert (answer["outcome"], answer["reused"], answer["instants"]) == (
        "completed",
        False,
        [plan.requested_time],
    )


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "all"])
def test_a_plan_that_another_attempt_completed_counts_as_completed(
    table: SmallTable, execute: Callable[..., Any], is_named: bool
) -> None:
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    named = {"instant": plan.requested_time} if is_named else {}
    made = execute(NO_SPARK, on_nothing="skip", **named)
    event = event_of(deferred_of(made), lambda: complete(table, plan))
    answer = made.execute_when_free(context(), event)
    assert (answer["outcome"], answer["reused"], answer["instants"]) == (
        "completed",
        True,
        [plan.requested_time],
    )


def test_a_plan_that_no_attempt_is_executing_is_executed_without_waiting(
    table: SmallTable, execute: Callable[..., Any]
) -> None:
    write_heartbeat(table.storage, schedule(table))
    schedule(table, partition="city=b")
    assert execute(NOTHING).execute(context())["outcome"] == "nothing_to_do"


def test_an_inflight_plan_of_hudi_counts_as_being_executed_until_it_expires(
    table: SmallTable, execute: Callable[..., Any]
) -> None:
    plan = table.timeline_store.start(schedule(table))
    assert deferred_of(execute()).instants == [plan.requested_time]
    dead = execute(NOTHING, hudi_options={"hoodie.clustering.expiration.threshold.mins": "0"})
    assert dead.execute(context())["outcome"] == "nothing_to_do"


def test_the_task_waits_only_once(table: SmallTable, execute: Callable[..., Any]) -> None:
    """The job, not the task, waits for an attempt that begins after the first wait."""
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    made = execute("failed('InstantHeldError', True); sys.exit(75)")
    event = event_of(deferred_of(made), lambda: delete_heartbeat(table.storage, plan))
    write_heartbeat(table.storage, plan)
    with pytest.raises(HudiTaskError, match="InstantHeldError: It broke"):
        made.execute_when_free(context(), event)


def test_a_stale_heartbeat_ends_the_wait(table: SmallTable, execute: Callable[..., Any]) -> None:
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    long_ago = time.time() - 3600
    path = Path(table.storage.uri.removeprefix("file://")) / HEARTBEATS / plan.requested_time
    trigger = deferred_of(execute())
    assert event_of(trigger, lambda: os.utime(path, (long_ago, long_ago)))["answer"]["held"] == []


def test_the_task_waits_only_for_the_plans_that_it_names(
    table: SmallTable, execute: Callable[..., Any]
) -> None:
    executing, named = schedule(table), schedule(table, partition="city=b")
    write_heartbeat(table.storage, executing)
    assert execute(NOTHING, instant=named.requested_time).execute(context())["outcome"] == "nothing_to_do"


def test_the_task_takes_over_its_own_earlier_attempt(table: SmallTable, execute: Callable[..., Any]) -> None:
    made = execute(NOTHING)
    write_heartbeat(
        table.storage, schedule(table), owner=f"{identity_of(context(), made.retries, 'reuse')}/attempt 1"
    )
    assert made.execute(context())["outcome"] == "nothing_to_do"


def test_the_job_fails_if_a_plan_is_being_executed_and_the_task_must_not_wait(
    table: SmallTable, execute: Callable[..., Any]
) -> None:
    write_heartbeat(table.storage, schedule(table))
    with pytest.raises(HudiTaskError, match="InstantHeldError: It broke"):
        execute("failed('InstantHeldError', True); sys.exit(75)", when_held="fail").execute(context())


def test_a_clustering_waits_for_another_attempt_at_its_own_plan(
    table: SmallTable, execute: Callable[..., Any]
) -> None:
    made = execute(NOTHING, ClusteringOperator)
    assert made.execute(context())["outcome"] == "nothing_to_do"
    plan = schedule(table, request_id=identity_of(context(), made.retries, "reuse"))
    write_heartbeat(table.storage, plan)
    assert deferred_of(made).instants == [plan.requested_time]


def test_waiting_for_an_attempt_ends_after_the_limit(table: SmallTable, execute: Callable[..., Any]) -> None:
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    made = execute(hudi_options={"hoodie.airflow.clustering.wait.seconds": "0"})
    event = event_of(deferred_of(made))
    assert event == {"answer": {"instants": [plan.requested_time], "held": [plan.requested_time]}}
    with pytest.raises(HudiTaskError, match=f"still executing clustering {plan.requested_time}") as failure:
        made.execute_when_free(context(), event)
    assert failure.value.kind == "InstantHeldError"
    with pytest.raises(HudiTaskError, match="failed: no storage"):
        made.execute_when_free(context(), {"error": "no storage"})


def test_a_storage_failure_after_the_limit_ends_the_wait(
    table: SmallTable, execute: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_heartbeat(table.storage, schedule(table))
    trigger = deferred_of(execute(hudi_options={"hoodie.airflow.clustering.wait.seconds": "0"}))

    def fail(_hook: object) -> None:
        raise StorageError("The store is unavailable.")

    monkeypatch.setattr(trigger, "poll", fail)
    assert "The store is unavailable" in event_of(trigger)["error"]


def test_a_load_with_named_partitions_waits_for_a_plan_that_is_being_executed(
    table: SmallTable, operator: Callable[..., Any]
) -> None:
    """A plan that is being executed cannot release file groups. The next writers may write during the execution."""
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    made = operator(on_pending_plan="give_way", partitions="city=a", take_turns=True)
    queue = turns.WriterQueue(table.storage, table.clock)
    assert queue.wait(identity_of(context(), made.retries, "reuse")).is_turn
    trigger = deferred_of(made)
    assert queue.begin("another writer")
    queue.leave("another writer")
    event = event_of(trigger, lambda: delete_heartbeat(table.storage, plan))
    assert made.execute_when_free(context(), event)["outcome"] == "completed"


def test_a_load_submits_its_job_after_the_limit(table: SmallTable, operator: Callable[..., Any]) -> None:
    """The job may succeed, because only the job knows whether the plan contains files that the load changes."""
    write_heartbeat(table.storage, schedule(table))
    options = {"hoodie.airflow.clustering.wait.seconds": "0"}
    made = operator(on_pending_plan="give_way", partitions="city=a", hudi_options=options)
    assert made.execute_when_free(context(), event_of(deferred_of(made)))["outcome"] == "completed"


def test_a_preview_does_not_wait(table: SmallTable, operator: Callable[..., Any]) -> None:
    write_heartbeat(table.storage, schedule(table))
    made = operator(
        "result(outcome='planned')", on_pending_plan="give_way", partitions="city=a", dry_run=True
    )
    assert made.execute(context())["outcome"] == "planned"


@pytest.mark.parametrize("partitions", ["city=b", ()], ids=["others", "not named"])
def test_a_load_of_other_partitions_does_not_wait(
    table: SmallTable, operator: Callable[..., Any], partitions: Any
) -> None:
    write_heartbeat(table.storage, schedule(table))
    made = operator(on_pending_plan="give_way", partitions=partitions)
    assert made.execute(context())["outcome"] == "completed"


def test_the_log_names_the_awaited_plan_once(
    table: SmallTable,
    execute: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("INFO")
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    event_of(deferred_of(execute()), lambda: delete_heartbeat(table.storage, plan))
    logged = caplog.text + "".join(
        capfd.readouterr()
    )  # different versions of Airflow log to different outputs
    assert logged.count(f"Another attempt is executing these plans: {plan.requested_time}") == 1
