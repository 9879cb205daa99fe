"""Many sensors wait in one triggerer and need no worker. The test kills the triggerer once.

The environment variable ``WAITING_TABLES`` sets the number of sensors, which must be even.
"""

from pathlib import Path

import pytest
from airflow_stack.api import AirflowApi, wait_until
from airflow_stack.stack import AirflowStack

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

LONG = 900.0
POOL = "two_slots"
GROUP = FileGroupId("city=a", "a-0")


def states(api: AirflowApi, run_id: str) -> dict[str, int]:
    found = api.get(f"/api/v2/dags/many_tables/dagRuns/{run_id}/taskInstances", limit=100)["task_instances"]
    all_states = [str(each["state"]) for each in found]
    return {state: all_states.count(state) for state in set(all_states)}


def slots(api: AirflowApi) -> tuple[int, int, int]:
    """Numbers of occupied, running and deferred slots of the pool."""
    pool = api.get(f"/api/v2/pools/{POOL}")
    return pool["occupied_slots"], pool["running_slots"], pool["deferred_slots"]


def start(api: AirflowApi, dag_id: str) -> str:
    return str(api.post(f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None})["dag_run_id"])


@pytest.mark.thorough
def test_many_sensors_wait_in_one_triggerer_and_occupy_no_pool_slot(
    stack: AirflowStack, folder: Path, waiting_tables: int
) -> None:
    api, half = stack.api, waiting_tables // 2
    api.post("/api/v2/pools", {"name": POOL, "slots": 2, "include_deferred": False})
    api.wait_for_dag("many_tables")
    api.wait_for_dag("another_task")
    tables = [
        SmallTable(LocalStorage(str(folder / "waiting" / f"{number:02d}")))
        for number in range(waiting_tables)
    ]
    for table in tables[half:]:
        table.commit(GROUP)  # these tables get their second commit below

    run_id = start(api, "many_tables")
    wait_until(
        lambda: states(api, run_id) == {"deferred": waiting_tables}, LONG, lambda: f"{states(api, run_id)}"
    )
    wait_until(lambda: slots(api) == (0, 0, waiting_tables), LONG, lambda: f"{slots(api)}")
    assert list(stack.processes).count("triggerer") == 1

    beside = start(api, "another_task")
    wait_until(
        lambda: api.task_instances("another_task", beside)["work"]["state"] == "success",
        LONG,
        lambda: f"the task does not get a slot: {api.task_instances('another_task', beside)}",
    )
    assert states(api, run_id) == {"deferred": waiting_tables}

    stack.stop("triggerer", kill=True)
    for table in tables[::2]:
        table.commit(GROUP)  # these commits complete while no triggerer is running
    stack.start("triggerer")
    wait_until(
        lambda: states(api, run_id) == {"deferred": half, "success": half},
        LONG,
        lambda: f"{states(api, run_id)}",
    )
    for table in tables[1::2]:
        table.commit(GROUP)
    wait_until(
        lambda: states(api, run_id) == {"success": waiting_tables}, LONG, lambda: f"{states(api, run_id)}"
    )
    assert slots(api) == (0, 0, 0)
