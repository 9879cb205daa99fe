"""What a load does if plans are pending on its partitions: it fails, waits, or releases file groups of the plans."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.triggers.pending_service import HudiPendingServiceTrigger
from hudi_table_services.hudi_format.table_service_plans import encode_compaction_plan
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CompactionOperation, CompactionPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks import turns
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.clustered_tables import cancel, complete, schedule
from support.airflow.task_context import TaskInstance, context
from support.small_tables import SmallTable

Operator = Callable[..., UpsertWithSizingOperator]
STRATEGY = "hoodie.clustering.updates.strategy"
REJECTED = "failed('PendingPlanError', True); sys.exit(75)"
NO_SPARK = "raise SystemExit('submitted')"


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path / "table")), request.param)
    made.commit(FileGroupId("city=a", "a-0"))
    return made


@pytest.fixture
def sent(operator: Operator, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run a task and return the options of the request that it submits."""

    def run(**arguments: Any) -> dict[str, Any]:
        note = tmp_path / "request.json"
        body = f"json.dump(request, open({str(note)!r}, 'w')); result(outcome='nothing_to_do', reason='none')"
        operator(body, **arguments).execute(context())
        return dict(json.loads(note.read_text())["options"])

    return run


def deferred_of(made: UpsertWithSizingOperator) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as deferred:
        made.execute(context())
    assert deferred.value.method_name == "execute_without_plans"
    return deferred.value


def trigger_of(deferred: TaskDeferred, **changes: Any) -> HudiPendingServiceTrigger:
    """Create the trigger as the triggerer does, with a short poll interval."""
    path, arguments = deferred.trigger.serialize()
    assert path.endswith("HudiPendingServiceTrigger")
    return HudiPendingServiceTrigger(**{**arguments, "poke_interval": 0.02, **changes})


def event_of(trigger: HudiPendingServiceTrigger, action: Callable[[], None]) -> dict[str, Any]:
    """Return the event that the trigger fires after this action; the trigger must not fire before the action."""

    async def wait() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            action()
            return dict((await asyncio.wait_for(waiting, 10)).payload)

    return asyncio.run(wait())


@pytest.mark.parametrize(
    ("choice", "strategy"),
    [
        (None, None),
        ("give_way", "GiveWayUpdateStrategy"),
        ("refuse", "SparkRejectUpdateStrategy"),
        ("wait", "SparkRejectUpdateStrategy"),
    ],
)
def test_the_request_has_the_update_strategy(
    sent: Callable[..., dict[str, Any]], choice: str | None, strategy: str | None
) -> None:
    assert sent(on_pending_plan=choice).get(STRATEGY) == strategy


def test_a_plan_is_released_by_default(table: SmallTable, sent: Callable[..., dict[str, Any]]) -> None:
    schedule(table)
    assert sent(partitions="city=a") == {}
    assert set(sent(partitions="city=a", on_pending_plan="give_way")) == {STRATEGY}


def test_the_error_of_a_refusal_before_spark_starts_names_the_plan_its_age_and_a_remedy(
    table: SmallTable, operator: Operator
) -> None:
    plan = schedule(table).requested_time
    made = operator(NO_SPARK, on_pending_plan="refuse", partitions=["city=a", "city=b"])
    with pytest.raises(HudiTaskError) as failure:
        made.execute(context())
    message = str(failure.value)
    assert f"clustering {plan} (requested, " in message
    assert " old, 1 file group in 'city=a')" in message
    assert f"CancelClusteringOperator(instant='{plan}')" in message
    assert failure.value.kind == "PendingPlanError"
    assert "submitted" not in message


def test_plans_of_other_partitions_are_ignored(
    table: SmallTable, sent: Callable[..., dict[str, Any]]
) -> None:
    schedule(table, partition="city=b")
    for choice in ("refuse", "wait"):
        assert sent(on_pending_plan=choice, partitions="city=a")


def schedule_compaction(table: SmallTable) -> str:
    """Request a compaction of the table's file group."""
    operation = CompactionOperation(
        base_instant_time="20260101000000001", file_id="a-0", partition_path="city=a"
    )
    plan = encode_compaction_plan(CompactionPlan(operations=(operation,)))
    return table.timeline_store.request(Action.COMPACTION, plan).requested_time


@pytest.mark.parametrize("operation", ["upsert", "delete"])
def test_a_pending_compaction_does_not_delay_a_write_to_log_files(
    table: SmallTable, sent: Callable[..., dict[str, Any]], operation: str
) -> None:
    schedule_compaction(table)
    for choice in ("refuse", "wait"):
        assert sent(on_pending_plan=choice, operation=operation, partitions="city=a")


@pytest.mark.parametrize("operation", ["insert_overwrite", "insert_overwrite_table"])
def test_a_write_that_replaces_file_groups_regards_a_pending_compaction(
    table: SmallTable, operator: Operator, operation: str
) -> None:
    plan = schedule_compaction(table)
    given = {"operation": operation, "partitions": "city=a"}
    with pytest.raises(HudiTaskError, match=rf"CancelCompactionOperator\(instant='{plan}'\)"):
        operator(NO_SPARK, on_pending_plan="refuse", **given).execute(context())
    trigger = trigger_of(deferred_of(operator(NO_SPARK, on_pending_plan="wait", **given)))
    assert trigger.services == ["clustering", "compaction"]


def test_the_job_refuses_the_write_if_the_task_does_not_name_partitions(
    table: SmallTable, operator: Operator, sent: Callable[..., dict[str, Any]]
) -> None:
    schedule(table)
    assert sent(on_pending_plan="refuse") == {STRATEGY: "SparkRejectUpdateStrategy"}
    with pytest.raises(HudiTaskError, match="PendingPlanError: It broke"):
        operator(REJECTED, on_pending_plan="refuse").execute(context())


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_inserted_rows_do_not_conflict_with_plans(
    table: SmallTable, sent: Callable[..., dict[str, Any]], operation: str
) -> None:
    schedule(table)
    for choice in ("refuse", "wait"):
        assert sent(on_pending_plan=choice, operation=operation, partitions="city=a")


def test_an_overwrite_of_the_table_is_refused_for_any_plan(table: SmallTable, operator: Operator) -> None:
    schedule(table)
    with pytest.raises(HudiTaskError, match="PendingPlanError: Nothing was done"):
        operator(NO_SPARK, on_pending_plan="refuse", operation="insert_overwrite_table").execute(context())


def test_the_partitions_of_a_delete_are_read_from_its_options(table: SmallTable, operator: Operator) -> None:
    schedule(table)

    def deletes(pattern: str, body: str) -> UpsertWithSizingOperator:
        options = {"hoodie.datasource.write.partitions.to.delete": pattern}
        return operator(body, operation="delete_partition", on_pending_plan="refuse", hudi_options=options)

    with pytest.raises(HudiTaskError, match="PendingPlanError: Nothing was done"):
        deletes("city=b,city=a", NO_SPARK).execute(context())
    with pytest.raises(HudiTaskError, match="PendingPlanError: It broke"):
        deletes("city=*", REJECTED).execute(context())
    nothing = "result(outcome='nothing_to_do', reason='none')"
    assert deletes("city=b", nothing).execute(context())["outcome"] == "nothing_to_do"


def test_a_global_index_makes_plans_of_all_partitions_relevant(table: SmallTable, operator: Operator) -> None:
    """With a global index, the old version of a row may be in another partition than the new version."""
    schedule(table)
    everywhere = {"hoodie.index.type": "GLOBAL_SIMPLE"}
    deferred_of(operator(NO_SPARK, on_pending_plan="wait", partitions="city=b", hudi_options=everywhere))


@pytest.mark.parametrize("partitions", ["city=a", ()], ids=["named", "not named"])
@pytest.mark.parametrize("end", [complete, cancel])
def test_the_load_waits_until_the_plan_has_ended_and_continues(
    table: SmallTable, operator: Operator, partitions: Any, end: Callable[..., None]
) -> None:
    plan = schedule(table)
    made = operator(on_pending_plan="wait", partitions=partitions)
    event = event_of(trigger_of(deferred_of(made)), lambda: end(table, plan))
    assert made.execute_without_plans(context(), event)["outcome"] == "completed"


def test_the_load_also_waits_for_a_plan_scheduled_during_the_wait(
    table: SmallTable, operator: Operator
) -> None:
    plan = schedule(table)
    made = operator(on_pending_plan="wait")
    event = event_of(trigger_of(deferred_of(made)), lambda: complete(table, plan))
    schedule(table)
    with pytest.raises(TaskDeferred):
        made.execute_without_plans(context(), event)


def test_the_task_waits_for_plans_of_all_partitions_if_only_the_job_finds_the_plan(
    operator: Operator, tmp_path: Path
) -> None:
    """The plan is newer than the check of the task, or is on partitions that the task does not name.

    The task leaves the writer queue.
    """
    made = operator(REJECTED, on_pending_plan="wait", partitions="city=a", take_turns=True)
    deferred = deferred_of(made)
    assert trigger_of(deferred).partitions == []
    assert list(LocalStorage(str(tmp_path / "table")).list_files(turns.FOLDER)) == []


def test_a_job_that_fails_for_a_reason_other_than_a_plan_fails_the_task(operator: Operator) -> None:
    conflict = "failed('FileGroupConflictError', True); sys.exit(75)"
    with pytest.raises(HudiTaskError, match="FileGroupConflictError"):
        operator(conflict, on_pending_plan="wait").execute(context())


def test_a_task_that_waits_for_a_plan_does_not_block_the_writer_queue(
    table: SmallTable, operator: Operator
) -> None:
    schedule(table)
    queue = turns.WriterQueue(table.storage, table.clock)
    deferred_of(operator(NO_SPARK, on_pending_plan="wait", take_turns=True))
    assert queue.begin("another writer")


def test_a_task_that_is_refused_in_its_turn_leaves_the_writer_queue(
    table: SmallTable, operator: Operator
) -> None:
    queue = turns.WriterQueue(table.storage, SystemClock())
    assert queue.begin("another writer")
    made = operator(NO_SPARK, on_pending_plan="refuse", partitions=["city=a"], take_turns=True)
    with pytest.raises(TaskDeferred) as deferred:
        made.execute(context())
    owner = deferred.value.trigger.owner
    queue.leave("another writer")
    schedule(table)
    with pytest.raises(HudiTaskError, match="Cancel"):
        made.execute_in_turn(context(), {"owner": owner})
    assert list(table.storage.list_files(turns.FOLDER)) == []


def test_waiting_for_a_plan_ends_after_the_timeout(table: SmallTable, operator: Operator) -> None:
    plan = schedule(table).requested_time
    made = operator(NO_SPARK, on_pending_plan="wait", pending_plan_timeout=0)
    trigger = trigger_of(deferred_of(made))

    async def first() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            return dict((await asyncio.wait_for(anext(events), 10)).payload)

    event = asyncio.run(first())
    with pytest.raises(
        HudiTaskError,
        match=rf"pending_plan_timeout\), these plans are still pending: clustering {plan} .*Cancel",
    ):
        made.execute_without_plans(context(), event)
    with pytest.raises(HudiTaskError, match="failed: no storage"):
        made.execute_without_plans(context(), {"error": "no storage"})


def test_a_load_that_is_already_written_does_not_wait(table: SmallTable, operator: Operator) -> None:
    made = operator(on_pending_plan="wait")
    assert made.execute(context())["outcome"] == "completed"
    schedule(table)
    assert operator(NO_SPARK, on_pending_plan="wait").execute(context())["reused"]


def test_an_unknown_choice_is_refused(operator: Operator) -> None:
    with pytest.raises(
        ValueError, match="load: on_pending_plan='hope' must be 'refuse', 'wait' or 'give_way'"
    ):
        operator(on_pending_plan="hope")
    made = operator(NO_SPARK, on_pending_plan="{{ params.plan }}")
    made.on_pending_plan = "hope"
    with pytest.raises(HudiTaskRefusedError, match="on_pending_plan='hope' is unknown"):
        made.execute(context(ti=TaskInstance()))
    with pytest.raises(ValueError, match="Give the argument or the key"):
        operator(on_pending_plan="refuse", hudi_options={STRATEGY: "SparkAllowUpdateStrategy"})
