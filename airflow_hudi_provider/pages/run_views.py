"""What the Hudi tasks of one DAG run did, from what they returned."""

from collections.abc import Iterable, Mapping
from typing import Any

from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select

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


def run_view(dag_id: str, run_id: str, task_id: str = "", map_index: int | None = None) -> dict[str, Any]:
    """One entry for each task instance of the run that returned what our tasks return, in order of time.

    Args:
        task_id: of this task only; empty: of all.
        map_index: of this instance only; None: of all.
    """
    query = (
        select(XComModel)
        .where(XComModel.dag_id == dag_id, XComModel.run_id == run_id, XComModel.key.in_(_KEYS))
        .order_by(XComModel.timestamp)
        .limit(SHOWN_TASKS)
    )
    if task_id:
        query = query.where(XComModel.task_id == task_id)
    if map_index is not None:
        query = query.where(XComModel.map_index == map_index)
    with create_session() as session:
        found = [(row.task_id, row.map_index, _value(row)) for row in session.scalars(query)]
    return {"dag_id": dag_id, "run_id": run_id, "task_id": task_id, "tasks": list(_told(found))}


def _value(row: XComModel) -> Any:
    return XComModel.deserialize_value(row)


def _told(found: Iterable[tuple[str, int, Any]]) -> Iterable[dict[str, Any]]:
    """Only what has the shape of our results: other operators' return values are no business of this page."""
    for task_id, map_index, value in found:
        if isinstance(value, Mapping) and {"outcome", "operation", "base_path"} <= value.keys():
            told = {name: value[name] for name in _TOLD if name in value}
            yield {"task_id": task_id, "map_index": map_index, **told}
