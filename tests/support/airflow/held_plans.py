"""Attempts of other tasks that are executing a plan, and tasks that wait for these attempts in the triggerer."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.triggers.held_plan import HudiHeldPlanTrigger
from hudi_table_services.model.instant import Instant
from hudi_table_services.storage.locks.heartbeat import HEARTBEATS
from hudi_table_services.storage.stores.storage import Storage
from support.airflow.task_context import context


def write_heartbeat(storage: Storage, plan: Instant, owner: str = "another task/attempt 1") -> None:
    """Write the heartbeat of an attempt that is executing the plan."""
    storage.write(f"{HEARTBEATS}/{plan.requested_time}", owner.encode())


def delete_heartbeat(storage: Storage, plan: Instant) -> None:
    storage.delete(f"{HEARTBEATS}/{plan.requested_time}")


def deferred_of(made: Any) -> HudiHeldPlanTrigger:
    """Execute a task and return its trigger, with a short poll interval."""
    with pytest.raises(TaskDeferred) as deferred:
        made.execute(context())
    assert deferred.value.method_name == "execute_when_free"
    path, arguments = deferred.value.trigger.serialize()
    assert path.endswith("HudiHeldPlanTrigger")
    return HudiHeldPlanTrigger(**{**arguments, "poke_interval": 0.02})


def event_of(trigger: HudiHeldPlanTrigger, action: Callable[[], None] | None = None) -> dict[str, Any]:
    """Return the event of the trigger; if an action is given, the trigger must not fire before the action."""

    async def wait() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            waiting = asyncio.ensure_future(anext(events))
            if action is not None:
                await asyncio.sleep(0.2)
                assert not waiting.done()
                action()
            return dict((await asyncio.wait_for(waiting, 10)).payload)

    return asyncio.run(wait())
