"""Tasks that start a supervised run, and a program for the run that waits until the test lets it continue."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark import run_files
from airflow_hudi_provider.spark.supervised_run import SupervisedRun
from airflow_hudi_provider.triggers.spark_run import HudiSparkRunTrigger
from support.airflow.task_context import context

SUCCEED = "i = commit(); result(outcome='completed', instant_time=i.requested_time)"
LINE = "2024-05-01 10:00:00,000 INFO Wrote 3 of 5 file groups"
TIMEOUT_S = 30.0


def only_run(runs: Path) -> SupervisedRun:
    (folder,) = runs.iterdir()
    return SupervisedRun(folder)


def deferred(task: UpsertWithSizingOperator, **fields: Any) -> HudiSparkRunTrigger:
    """Execute the task and return its trigger as the triggerer creates it."""
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(**fields))
    assert stopped.value.method_name == "execute_when_over"
    trigger = stopped.value.trigger
    path, arguments = trigger.serialize()
    assert path == "airflow_hudi_provider.triggers.spark_run.HudiSparkRunTrigger"
    return HudiSparkRunTrigger(**{**arguments, "poke_interval": 0.05})


def event_of(trigger: HudiSparkRunTrigger) -> dict[str, Any]:
    async def wait() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            return (await asyncio.wait_for(anext(events), TIMEOUT_S)).payload

    return asyncio.run(wait())


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def waiting_program(tmp_path: Path) -> str:
    """Return program text that records its start, prints lines and waits for the file ``go``."""
    return (
        f"open({str(tmp_path / 'begun')!r}, 'a').write('x'); print('a line of Spark', flush=True); "
        f"print({LINE!r}, flush=True)\n"
        f"import time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)\n"
    )


def count_starts(tmp_path: Path) -> int:
    path = tmp_path / "begun"
    return len(path.read_text()) if path.exists() else 0


def processes(runs: Path) -> list[psutil.Process]:
    state = run_files.read_json(only_run(runs).folder / run_files.STATE) or {}
    driver = psutil.Process(state["pid"])
    return [driver, *driver.children(recursive=True)]
