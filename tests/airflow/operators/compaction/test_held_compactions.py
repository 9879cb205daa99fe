"""Tasks wait in the triggerer, without Spark, while an attempt of another task executes a compaction."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.compaction import CompactionOperator, ExecuteCompactionOperator
from airflow_hudi_provider.tasks.identity import identity_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.held_plans import deferred_of, delete_heartbeat, event_of, write_heartbeat
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import context
from support.compaction import jobs_here
from support.compaction.written_table import WrittenTable, a_row
from support.jobs_on_tables import later

NO_SPARK = "raise SystemExit('submitted')"
NOTHING = "result(outcome='nothing_to_do', reason='completed by others')"
EXECUTES = """
from hudi_table_services.storage.stores.local import LocalStorage
from support.compaction import jobs_here
from support.jobs_on_tables import later
done = jobs_here.execute(LocalStorage(base_path), later(1), *request.get("instants", ()),
    request_id=request["request_id"])
open(result_path, 'w').write(done.to_json())
"""
GROUPS = {place: FileGroupId(f"city={place}", f"{place}-0") for place in ("a", "b")}


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> WrittenTable:
    """A table with a log file in each of two partitions."""
    made = WrittenTable(LocalStorage(str(tmp_path / "table")), request.param, clock=later(-1))
    made.insert({group: [a_row(place, 1)] for place, group in GROUPS.items()})
    made.log({group: [a_row(place, 2)] for place, group in GROUPS.items()})
    return made


@pytest.fixture
def execute(tmp_path: Path, connections: Callable[..., None]) -> Callable[..., Any]:
    """Create an operator that waits for other attempts; a program with the given body replaces spark-submit."""
    connections("spark_default", conn_type="spark", host="local[2]")

    def make(body: str = NO_SPARK, kind: type[Any] = ExecuteCompactionOperator, **arguments: Any) -> Any:
        given = {
            "task_id": "execute",
            "base_path": str(tmp_path / "table"),
            "spark_binary": stand_in(tmp_path, body),
            "when_held": "wait",
            "on_nothing": "succeed",
            **arguments,
        }
        return kind(**given)

    return make


def schedule(table: WrittenTable, place: str = "a", request_id: str = "") -> Instant:
    """Schedule a compaction of one partition."""
    identity = {"request_id": request_id} if request_id else {}
    result = jobs_here.schedule(
        table.storage, later(0), partitions=(GROUPS[place].partition_path,), **identity
    )
    (plan,) = jobs_here.report_of(result).instants
    (instant,) = table.timeline_store.load().find(plan)
    return instant


def complete(table: WrittenTable, plan: Instant) -> None:
    delete_heartbeat(table.storage, plan)
    jobs_here.execute(table.storage, later(1), plan.requested_time, request_id="another task")


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "all"])
def test_the_task_waits_until_the_other_attempt_dies_and_executes_the_compaction(
    table: WrittenTable, execute: Callable[..., Any], is_named: bool
) -> None:
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    made = execute(EXECUTES, **({"instant": plan.requested_time} if is_named else {}))
    event = event_of(deferred_of(made), lambda: delete_heartbeat(table.storage, plan))
    assert event == {"answer": {"instants": [plan.requested_time], "held": []}}
    answer = made.execute_when_free(context(), event)
    assert (answer["outcome"], answer["reused"], answer["instants"]) == (
        "completed",
        False,
        [plan.requested_time],
    )


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "all"])
def test_a_compaction_that_another_attempt_completed_counts_as_completed(
    table: WrittenTable, execute: Callable[..., Any], is_named: bool
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


def test_the_task_does_not_wait_if_it_can_execute_one_of_the_compactions(
    table: WrittenTable, execute: Callable[..., Any]
) -> None:
    executing, free = schedule(table), schedule(table, "b")
    write_heartbeat(table.storage, executing)
    assert execute(NOTHING).execute(context())["outcome"] == "nothing_to_do"
    assert execute(NOTHING, instant=free.requested_time).execute(context())["outcome"] == "nothing_to_do"
    assert deferred_of(execute(instant=executing.requested_time)).instants == [executing.requested_time]


def test_an_inflight_compaction_of_hudi_counts_as_being_executed_until_it_expires(
    table: WrittenTable, execute: Callable[..., Any]
) -> None:
    plan = table.timeline_store.start(schedule(table))
    trigger = deferred_of(execute())
    assert (trigger.service, trigger.instants) == ("compaction", [plan.requested_time])
    dead = execute(NOTHING, hudi_options={"hoodie.airflow.compaction.expiration.minutes": "0"})
    assert dead.execute(context())["outcome"] == "nothing_to_do"


def test_a_compaction_task_waits_for_another_attempt_at_its_own_plan(
    table: WrittenTable, execute: Callable[..., Any]
) -> None:
    made = execute(NOTHING, CompactionOperator)
    assert made.execute(context())["outcome"] == "nothing_to_do"
    plan = schedule(table, request_id=identity_of(context(), made.retries, "reuse"))
    write_heartbeat(table.storage, plan)
    assert deferred_of(made).instants == [plan.requested_time]
    own = f"{identity_of(context(), made.retries, 'reuse')}/attempt 1"
    write_heartbeat(table.storage, plan, owner=own)
    assert made.execute(context())["outcome"] == "nothing_to_do", (
        "the task takes over its own earlier attempt"
    )


def test_a_task_that_must_not_wait_starts_its_job(table: WrittenTable, execute: Callable[..., Any]) -> None:
    write_heartbeat(table.storage, schedule(table))
    with pytest.raises(HudiTaskError, match="InstantHeldError: It broke"):
        execute("failed('InstantHeldError', True); sys.exit(75)", when_held="fail").execute(context())


def test_waiting_for_a_compaction_ends_after_the_limit(
    table: WrittenTable, execute: Callable[..., Any]
) -> None:
    plan = schedule(table)
    write_heartbeat(table.storage, plan)
    made = execute(hudi_options={"hoodie.airflow.compaction.wait.seconds": "0"})
    event = event_of(deferred_of(made))
    assert event == {"answer": {"instants": [plan.requested_time], "held": [plan.requested_time]}}
    with pytest.raises(HudiTaskError, match="hoodie.airflow.compaction.wait.seconds") as failure:
        made.execute_when_free(context(), event)
    assert failure.value.kind == "InstantHeldError"
    assert f"still executing compaction {plan.requested_time}" in str(failure.value)


def test_the_hook_finds_held_compactions_by_partition(table: WrittenTable, tmp_path: Path) -> None:
    executing, _ = schedule(table), schedule(table, "b")
    write_heartbeat(table.storage, executing, owner="me/attempt 1")
    hook = HudiHook(table.storage.base_path)
    assert hook.held_plans("compaction") == (executing,)
    assert hook.held_plans("compaction", partitions=["city=b"]) == ()
    assert hook.held_plans("compaction", request_id="me") == ()
    assert hook.held_plans("clustering") == ()
    assert HudiHook(str(tmp_path / "none")).held_plans("compaction") == ()
