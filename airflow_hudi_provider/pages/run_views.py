"""Read the data for the page about one DAG run: the return values of its Hudi tasks."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import exists, not_, or_, select

from airflow_hudi_provider import operators, sensors
from airflow_hudi_provider.links import TABLE_LINK
from airflow_hudi_provider.results.failure import FAILURE_KEY
from airflow_hudi_provider.results.task_outcome import SKIPPED_KEY

if TYPE_CHECKING:
    from sqlalchemy import Select

SHOWN_TASKS = 200
_KEYS = ("return_value", "health", SKIPPED_KEY)
_FAILED = ("failed", "up_for_retry", "upstream_failed")
_KEY_OF_INSTANCE = ("dag_id", "run_id", "task_id", "map_index")
_SHOWN = (
    "outcome",
    "operation",
    "table_name",
    "base_path",
    "reused",
    "reason",
    "instant_time",
    "instant",
    "instants",
    "files_before",
    "files_after",
    "rows",
    "partition_count",
    "timings_s",
    "warnings",
    "picture",
    "status",
    "findings",
    "count",
    "bytes",
)


def run_view(
    dag_id: str, run_id: str, task_id: str = "", map_index: int | None = None
) -> dict[str, Any] | None:
    """List the Hudi tasks of a run in the order in which they started, with the return value if there is one.

    The entry of a task without a return value contains only ``task_id``, ``map_index``, ``operator`` and ``state``. If
    the state is ``failed``, ``up_for_retry`` or ``upstream_failed``, the entry also contains ``failure``: the fields of
    the block at the end of the task's log, or None if the task stored no such block.

    Args:
        task_id: id of the only task to list. If empty, list all tasks.
        map_index: index of the only instance of a mapped task to list. If None, list all instances.

    Returns:
        The view, or None if the run does not exist.
    """
    wanted = partial(_wanted, dag_id=dag_id, run_id=run_id, task_id=task_id, map_index=map_index)
    with create_session() as session:
        if session.scalar(select(DagRun.id).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id)) is None:
            return None
        query = wanted(select(XComModel), XComModel).where(XComModel.key.in_(_KEYS))
        rows = session.scalars(query.order_by(XComModel.timestamp).limit(SHOWN_TASKS))
        returned = [(row.task_id, row.map_index, XComModel.deserialize_value(row)) for row in rows]
        columns: tuple[Any, ...] = (
            TaskInstance.task_id,
            TaskInstance.map_index,
            TaskInstance.operator,
            TaskInstance.state,
        )
        query = wanted(select(*columns), TaskInstance).where(
            or_(TaskInstance.operator.in_(_hudi_operators()), _has_xcom(TABLE_LINK.xcom_key)),
            not_(_has_xcom(*_KEYS)),
            TaskInstance.state.is_not(None),
        )
        begun = session.execute(query.order_by(*columns[:2]).limit(SHOWN_TASKS)).all()
        query = wanted(select(XComModel), XComModel).where(XComModel.key == FAILURE_KEY).limit(SHOWN_TASKS)
        failures = {
            (row.task_id, row.map_index): XComModel.deserialize_value(row) for row in session.scalars(query)
        }
        names = {each[0] for each in (*returned, *begun)}
        query = wanted(select(*columns[:2], TaskInstance.start_date), TaskInstance)
        query = query.where(TaskInstance.task_id.in_(names))
        started = {(row.task_id, row.map_index): row.start_date for row in session.execute(query)}
        others = [
            {**row._mapping, "failure": failures.get((row.task_id, row.map_index))}
            if row.state in _FAILED
            else dict(row._mapping)
            for row in begun
        ]
    tasks = [*_results(returned), *others]
    tasks.sort(key=lambda task: _start(started.get((task["task_id"], task["map_index"]))))
    return {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "tasks": tasks}


def _start(moment: datetime | None) -> tuple[bool, float]:
    """Return a key that sorts tasks by their start. Tasks that have not started come last."""
    return (moment is None, moment.timestamp() if moment is not None else 0.0)


def _has_xcom(*keys: str) -> Any:
    """Return an SQL condition: the task instance has one of these XComs.

    The condition also matches tasks of operators that users derive from the operators of this package.
    """
    same = (getattr(XComModel, name) == getattr(TaskInstance, name) for name in _KEY_OF_INSTANCE)
    return exists().where(*same, XComModel.key.in_(keys))


@cache
def _hudi_operators() -> tuple[str, ...]:
    """Return the names of the operators and sensors of this package."""
    found: set[str] = set()
    for package in (operators, sensors):
        for each in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{each.name}")
            kinds = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
            found.update(kind.__name__ for kind in kinds if _has_table_link(kind))
    return tuple(sorted(found))


def _has_table_link(kind: type) -> bool:
    return TABLE_LINK in getattr(kind, "operator_extra_links", ())


def _wanted(
    query: "Select[Any]", rows: Any, *, dag_id: str, run_id: str, task_id: str, map_index: int | None
) -> "Select[Any]":
    query = query.where(rows.dag_id == dag_id, rows.run_id == run_id)
    if task_id:
        query = query.where(rows.task_id == task_id)
    return query if map_index is None else query.where(rows.map_index == map_index)


def _results(found: Iterable[tuple[str, int, Any]]) -> Iterable[dict[str, Any]]:
    """Yield the return values that have the keys of this package's results. Skip other return values."""
    for task_id, map_index, value in found:
        if isinstance(value, Mapping) and {"outcome", "operation", "base_path"} <= value.keys():
            shown = {name: value[name] for name in _SHOWN if name in value}
            yield {"task_id": task_id, "map_index": map_index, **shown}
