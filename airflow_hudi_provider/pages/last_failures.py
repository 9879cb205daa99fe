"""Find the last failed run of the tasks that write or use a table."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import Select, exists, not_, or_, select
from sqlalchemy.orm import aliased

from airflow_hudi_provider.links import TABLE_LINK
from airflow_hudi_provider.pages.recent_values import RecentValues
from airflow_hudi_provider.pages.table_users import MaySee, TableUsers
from hudi_table_services.storage.clock import SystemClock

_KEY_OF_INSTANCE = ("dag_id", "run_id", "task_id", "map_index")

_OLDEST = timedelta(days=90)
"""Older failures are not searched, because the metadata database can contain the runs of years."""

Failure = dict[str, Any]
_linked: RecentValues[dict[str, list[Failure]]] = RecentValues(1)


def last_failure(table_id: str, users: TableUsers, may_see: MaySee, *, fresh: bool = False) -> Failure | None:
    """Return the newest failed task instance of a table, or None.

    A failed instance does not count if a later run of the same task has succeeded, or after 90 days. An instance
    belongs to the table if its task names an asset of the table, or if the link "Hudi table" of the instance leads to
    the table. The link covers tasks whose base path is known only at run time: from a template, a connection or a
    mapped argument.

    Args:
        table_id: id of the table.
        users: the tasks that name an asset of the table.
        may_see: returns whether the user may see a DAG. The function leaves out the instances of other DAGs.
        fresh: read the links again, unless they were read in the last two seconds.
    """
    linked = _linked.get("", _failures_by_link, fresh=fresh).value.get(table_id, [])
    named = _failures_of((*users.writers, *users.others), may_see)
    seen = [each for each in (*named, *linked) if may_see(each["dag_id"])]
    return max(seen, key=lambda each: each["ended_ms"], default=None)


def _failures_of(tasks: Iterable[tuple[str, str]], may_see: MaySee) -> list[Failure]:
    """Return the newest failure of these tasks as the only element, or an empty list."""
    pairs = [pair for pair in sorted(set(tasks)) if may_see(pair[0])]
    if not pairs:
        return []
    is_wanted = or_(*((TaskInstance.dag_id == dag) & (TaskInstance.task_id == task) for dag, task in pairs))
    with create_session() as session:
        return [_failure(row) for row in session.execute(_failed().where(is_wanted).limit(1))]


def _failures_by_link() -> dict[str, list[Failure]]:
    """Map the ids of tables to the failed task instances whose links lead to the table."""
    same = [getattr(XComModel, name) == getattr(TaskInstance, name) for name in _KEY_OF_INSTANCE]
    query = (
        _failed()
        .add_columns(XComModel.value)
        .join(XComModel, same[0] & same[1] & same[2] & same[3])
        .join(DagModel, DagModel.dag_id == TaskInstance.dag_id)
        .where(XComModel.key == TABLE_LINK.xcom_key, DagModel.is_stale.is_not(True), not_(_is_removed()))
    )
    found: dict[str, list[Failure]] = {}
    with create_session() as session:
        for row in session.execute(query):
            address = urlsplit(str(XComModel.deserialize_value(row) or ""))
            for table_id in parse_qs(address.query).get("table", []):
                found.setdefault(table_id, []).append(_failure(row))
    return found


def _failed() -> "Select[Any]":
    """Select the failed task instances without a later success of the same task in another run, newest first."""
    later = aliased(TaskInstance)
    has_succeeded = exists().where(
        later.dag_id == TaskInstance.dag_id,
        later.task_id == TaskInstance.task_id,
        later.run_id != TaskInstance.run_id,
        later.state == "success",
        later.end_date > TaskInstance.end_date,
    )
    columns = (*(getattr(TaskInstance, name) for name in _KEY_OF_INSTANCE), TaskInstance.end_date)
    return (
        select(*columns)
        .where(
            TaskInstance.state == "failed",
            TaskInstance.end_date > SystemClock().now() - _OLDEST,
            not_(has_succeeded),
        )
        .order_by(TaskInstance.end_date.desc())
    )


def _is_removed() -> Any:
    """Return an SQL condition: a later run of the DAG does not contain the task, which hence cannot succeed."""
    run, instance = aliased(DagRun), aliased(TaskInstance)
    is_in_run = (
        exists()
        .where(
            instance.dag_id == run.dag_id,
            instance.run_id == run.run_id,
            instance.task_id == TaskInstance.task_id,
        )
        .correlate(run, TaskInstance)
    )
    return (
        exists()
        .where(run.dag_id == TaskInstance.dag_id, run.start_date > TaskInstance.end_date, not_(is_in_run))
        .correlate(TaskInstance)
    )


def _failure(row: Any) -> Failure:
    return {
        "dag_id": row.dag_id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "map_index": row.map_index if row.map_index >= 0 else "",
        "ended_ms": round(row.end_date.timestamp() * 1000),
    }
