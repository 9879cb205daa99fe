"""The pending-service sensor and its trigger on real timelines of both layouts."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.sensors.pending_service import HudiPendingServiceSensor
from airflow_hudi_provider.triggers.pending_service import HudiPendingServiceTrigger
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.clustered_tables import complete, schedule
from support.small_tables import SmallTable

CONTEXT: Any = {}


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path / "trips")), request.param)
    made.commit(FileGroupId("city=a", "a-0"))
    return made


def sensor(table: SmallTable, **arguments: Any) -> HudiPendingServiceSensor:
    return HudiPendingServiceSensor(task_id="wait", base_path=table.storage.base_path, **arguments)


def is_done(table: SmallTable, **arguments: Any) -> bool:
    return sensor(table, **arguments).poke(CONTEXT).is_done


def test_the_sensor_waits_until_clusterings_complete(table: SmallTable) -> None:
    assert is_done(table)
    plan = schedule(table)
    waiting = sensor(table).poke(CONTEXT)
    assert not waiting.is_done
    assert [(each["service"], each["instant"]) for each in waiting.xcom_value["pending"]] == [
        ("clustering", plan.requested_time)
    ]
    complete(table, plan)
    assert is_done(table)


def test_the_sensor_ignores_plans_of_other_partitions(table: SmallTable) -> None:
    schedule(table)
    pending = sensor(table).poke(CONTEXT).xcom_value["pending"]
    (path,) = pending[0]["partitions"]
    assert not is_done(table, partitions=[path])
    assert not is_done(table, partitions=f"elsewhere, {path}")
    assert is_done(table, partitions="elsewhere")


def test_the_sensor_waits_for_other_services_only_if_named(table: SmallTable) -> None:
    table.begin(Action.ROLLBACK)
    write = table.begin()
    assert is_done(table)
    assert not is_done(table, services="rollback")
    assert is_done(table, services=["clean", "restore"])
    assert write.requested_time  # a pending write is not a table service


def test_an_unknown_service_is_refused_and_a_missing_table_has_nothing_pending(
    table: SmallTable, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="unknown names: 'cleaning'"):
        sensor(table, services="cleaning")
    missing = {"task_id": "wait", "base_path": str(tmp_path / "none")}
    assert HudiPendingServiceSensor(**missing).poke(CONTEXT).is_done
    with pytest.raises(HudiTaskRefusedError, match="TableNotFoundError"):
        HudiPendingServiceSensor(if_missing="fail", **missing).poke(CONTEXT)


def test_the_sensor_defers_and_the_trigger_fires_when_the_plan_completes(table: SmallTable) -> None:
    plan = schedule(table)
    with pytest.raises(TaskDeferred) as deferred:
        sensor(table, deferrable=True, poke_interval=0.05).execute(CONTEXT)
    path, arguments = deferred.value.trigger.serialize()
    assert path.endswith("HudiPendingServiceTrigger")
    trigger = HudiPendingServiceTrigger(**arguments)

    async def first_event() -> Any:
        async with aclosing(trigger.run()) as events:
            task = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.2)
            assert not task.done()
            complete(table, plan)
            return (await asyncio.wait_for(task, 10)).payload

    assert asyncio.run(first_event()) == {"answer": {"pending": []}}
