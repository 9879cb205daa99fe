"""Tasks that take turns in writing to a table are deferred while they wait, and always leave the writer queue."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.triggers.turn import HudiTurnTrigger
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks import turns
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import context

Operator = Callable[..., UpsertWithSizingOperator]

REQUEST = "d/run 1/load"


@pytest.fixture
def queue(tmp_path: Path) -> WriterQueue:
    return WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())


def places(tmp_path: Path) -> list[str]:
    return [stored.path for stored in LocalStorage(str(tmp_path / "table")).list_files(turns.FOLDER)]


def test_a_task_whose_turn_it_is_writes_and_leaves_the_queue(operator: Operator, tmp_path: Path) -> None:
    made = operator(take_turns=True)
    assert made.execute(context())["outcome"] == "completed"
    assert places(tmp_path) == []


def test_a_failed_task_leaves_the_queue(operator: Operator, tmp_path: Path) -> None:
    made = operator("sys.exit(1)", take_turns=True)
    with pytest.raises(HudiTaskError):
        made.execute(context())
    assert places(tmp_path) == []


def test_a_retry_that_finds_its_work_done_removes_the_place_of_the_killed_try(
    operator: Operator, queue: WriterQueue, tmp_path: Path
) -> None:
    made = operator(take_turns=True)
    made.execute(context())
    assert queue.begin(REQUEST), "the killed worker left its place in the queue"
    again = operator(take_turns=True)
    again.execute(context())
    assert again.last_result is not None
    assert again.last_result.reused
    assert places(tmp_path) == []


def test_a_task_is_deferred_until_the_writer_before_it_leaves_the_queue(
    operator: Operator, queue: WriterQueue, tmp_path: Path
) -> None:
    assert queue.begin("another writer")
    made = operator(take_turns=True)
    with pytest.raises(TaskDeferred) as deferred:
        made.execute(context())
    assert deferred.value.method_name == "execute_in_turn"
    trigger = deferred.value.trigger
    assert isinstance(trigger, HudiTurnTrigger)
    again = HudiTurnTrigger(**{**trigger.serialize()[1], "poke_interval": 0.02})
    assert again.serialize()[0] == trigger.serialize()[0]

    async def wait() -> dict:
        async with aclosing(again.run()) as events:
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            queue.leave("another writer")
            return (await asyncio.wait_for(waiting, 10)).payload

    event = asyncio.run(wait())
    assert made.execute_in_turn(context(), event)["outcome"] == "completed"
    assert places(tmp_path) == []


def test_a_task_that_is_cleared_while_it_waits_leaves_the_queue(
    operator: Operator, queue: WriterQueue, tmp_path: Path
) -> None:
    assert queue.begin("another writer")
    with pytest.raises(TaskDeferred) as deferred:
        operator(take_turns=True).execute(context())
    assert queue.wait("behind").ahead[1:] == (deferred.value.trigger.owner,)
    trigger = deferred.value.trigger
    asyncio.run(trigger.on_kill())
    assert queue.wait("behind").ahead == ("another writer",)
    assert trigger.poll(HudiHook(str(tmp_path / "table"))) is None, (
        "a check that began before the end of the task must not join the queue again"
    )
    assert queue.wait("behind").ahead == ("another writer",)


def test_an_error_of_the_trigger_fails_the_task(
    operator: Operator, queue: WriterQueue, tmp_path: Path
) -> None:
    queue.wait(REQUEST)
    with pytest.raises(HudiTaskError, match="failed: no storage"):
        operator(take_turns=True).execute_in_turn(context(), {"error": "no storage"})
    assert places(tmp_path) == []


def test_a_task_that_does_not_take_turns_does_not_wait(operator: Operator, queue: WriterQueue) -> None:
    assert queue.begin("another writer")
    assert operator().execute(context())["outcome"] == "completed"
