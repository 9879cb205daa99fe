"""What the Hudi tasks of one DAG run did, from what they returned."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_hudi_provider.links import TABLE_LINK

if TYPE_CHECKING:
    from sqlalchemy import Select

SHOWN_TASKS = 200
_KEYS = ("return_value", "health")
_TOLD = (
    "outcome",
    "operation",
    "table_name",
    "base_path",
    "reused",
    "reason",
    "instant_time",
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
    """One entry for each Hudi task instance of the run: first those that returned something, in order of time.

    Those that began and returned nothing have only ``task_id``, ``map_index``, ``operator`` and ``state``.

    Args:
        task_id: of this task only; empty: of all.
        map_index: of this instance only; None: of all.

    Returns:
        None: there is no such run.
    """
    with create_session() as session:
        if session.scalar(select(DagRun.id).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id)) is None:
            return None
        wanted = partial(_wanted, dag_id=dag_id, run_id=run_id, task_id=task_id, map_index=map_index)
        query = wanted(select(XComModel), XComModel).where(XComModel.key.in_((*_KEYS, TABLE_LINK.xcom_key)))
        found = list(session.scalars(query.order_by(XComModel.timestamp).limit(SHOWN_TASKS * 2)))
        returned = [
            (row.task_id, row.map_index, XComModel.deserialize_value(row))
            for row in found
            if row.key in _KEYS
        ]
        ours = {(row.task_id, row.map_index) for row in found if row.key not in _KEYS}
        states = [
            {
                "task_id": each.task_id,
                "map_index": each.map_index,
                "operator": each.operator,
                "state": each.state,
            }
            for each in session.scalars(wanted(select(TaskInstance), TaskInstance))
            if (each.task_id, each.map_index) in ours
        ]
    told = list(_told(returned))
    with_result = {(each["task_id"], each["map_index"]) for each in told}
    others = [each for each in states if (each["task_id"], each["map_index"]) not in with_result]
    others.sort(key=lambda each: (each["task_id"], each["map_index"]))
    return {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "tasks": [*told, *others][:SHOWN_TASKS]}


def _wanted(
    query: "Select[Any]", rows: Any, *, dag_id: str, run_id: str, task_id: str, map_index: int | None
) -> "Select[Any]":
    query = query.where(rows.dag_id == dag_id, rows.run_id == run_id)
    if task_id:
        query = query.where(rows.task_id == task_id)
    return query if map_index is None else query.where(rows.map_index == map_index)


def _told(found: Iterable[tuple[str, int, Any]]) -> Iterable[dict[str, Any]]:
    """Only what has the shape of our results: other operators' return values are no business of this page."""
    for task_id, map_index, value in found:
        if isinstance(value, Mapping) and {"outcome", "operation", "base_path"} <= value.keys():
            told = {name: value[name] for name in _TOLD if name in value}
            yield {"task_id": task_id, "map_index": map_index, **told}
