"""Find the last failed run of each task that writes or uses a table."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import Select, and_, exists, not_, or_, select
from sqlalchemy.orm import Session, aliased

from airflow_hudi_provider.links import TABLE_LINK
from airflow_hudi_provider.pages.recent_values import RecentValues
from airflow_hudi_provider.pages.table_users import MaySee, TableUsers
from hudi_table_services.storage.clock import SystemClock

_KEY_OF_INSTANCE = ("dag_id", "run_id", "task_id", "map_index")

_OLDEST = timedelta(days=90)
"""Older failures are not searched, because the metadata database can contain the runs of years."""

_IDS_PER_QUERY = 500
"""Databases limit the number of parameters of a query."""

Failure = dict[str, Any]
_linked: RecentValues[dict[str, list[Failure]]] = RecentValues(1)


def last_failures(table_id: str, users: TableUsers, may_see: MaySee, *, fresh: bool = False) -> list[Failure]:
    """Return the newest failed instance of each task of a table, newest first.

    A failed instance does not count after 90 days, or if a later run of the same task has succeeded or has found
    nothing to do. For a mapped task, only later instances with the same table count. An instance belongs to the table
    if its task names an asset of the table, or if the link "Hudi table" of the instance leads to the table. The link
    covers tasks whose base path is known only at run time: from a template, a connection or a mapped argument.

    Args:
        table_id: id of the table.
        users: the tasks that name an asset of the table.
        may_see: returns whether the user may see a DAG. The function leaves out the instances of other DAGs.
        fresh: read the links again, unless they were read in the last two seconds.
    """
    linked = _linked.get("", _failures_by_link, fresh=fresh).value.get(table_id, [])
    named = _failures_of((*users.writers, *users.others), may_see)
    seen = [each for each in (*named, *linked) if may_see(each["dag_id"])]
    newest: dict[tuple[str, str], Failure] = {}
    for each in sorted(seen, key=lambda each: each["ended_ms"], reverse=True):
        newest.setdefault((each["dag_id"], each["task_id"]), each)
    return list(newest.values())


def _failures_of(tasks: Iterable[tuple[str, str]], may_see: MaySee) -> list[Failure]:
    """Return the failures of these tasks without a later success."""
    pairs = [pair for pair in sorted(set(tasks)) if may_see(pair[0])]
    if not pairs:
        return []
    is_wanted = or_(*((TaskInstance.dag_id == dag) & (TaskInstance.task_id == task) for dag, task in pairs))
    with create_session() as session:
        return [
            _failure(row) for row in _without_success(session, _newest(session, _failed().where(is_wanted)))
        ]


def _failures_by_link() -> dict[str, list[Failure]]:
    """Map the ids of tables to the failed task instances whose links lead to the table."""
    query = (
        _failed()
        .join(DagModel, DagModel.dag_id == TaskInstance.dag_id)
        .where(XComModel.key == TABLE_LINK.xcom_key, DagModel.is_stale.is_not(True))
    )
    found: dict[str, list[Failure]] = {}
    with create_session() as session:
        linked = [row for row in _newest(session, query) if _tables(row)]
        failed = _without_success(session, linked)
        removed = _among(session, _removed(), [row.id for row in failed])
        for row in failed:
            for table_id in _tables(row) if row.id not in removed else ():
                found.setdefault(table_id, []).append(_failure(row))
    return found


def _failed() -> "Select[Any]":
    """Select the failed task instances with their links, newest first."""
    columns = (*(getattr(TaskInstance, name) for name in _KEY_OF_INSTANCE), TaskInstance.end_date)
    return (
        select(TaskInstance.id, *columns, XComModel.value)
        .outerjoin(XComModel, _is_link_of(XComModel, TaskInstance))
        .where(TaskInstance.state == "failed", TaskInstance.end_date > SystemClock().now() - _OLDEST)
        .order_by(TaskInstance.end_date.desc())
    )


def _newest(session: Session, query: "Select[Any]") -> list[Any]:
    """Return the newest row of each task and table. A later success of this row is also later than the other rows."""
    found: dict[Any, Any] = {}
    for row in session.execute(query):
        found.setdefault((row.dag_id, row.task_id, _tables(row)), row)
    return list(found.values())


def _without_success(session: Session, rows: list[Any]) -> list[Any]:
    """Return the rows without a later success in another run.

    This function searches the runs of few tasks, because the metadata database can contain very many runs.
    """
    of_one_table = [row.id for row in rows if row.map_index >= 0 and _tables(row)]
    others = [row.id for row in rows if row.map_index < 0 or not _tables(row)]
    ended = {
        *_among(session, _succeeded_later(of_same_table=True), of_one_table),
        *_among(session, _succeeded_later(of_same_table=False), others),
    }
    return [row for row in rows if row.id not in ended]


def _succeeded_later(*, of_same_table: bool) -> "Select[Any]":
    """Select the ids of instances if another run of the task later succeeded or found nothing to do.

    Services skip their task if they find nothing to do. Only an instance that ran has pushed its link, so a skipped
    instance without a link did not run.
    """
    later, link, own_link = aliased(TaskInstance), aliased(XComModel), aliased(XComModel)
    has_link = exists().where(_is_link_of(link, later)).correlate(later)
    has_same_link = (
        exists()
        .where(_is_link_of(link, later), _is_link_of(own_link, TaskInstance), link.value == own_link.value)
        .correlate(later, TaskInstance)
    )
    return select(TaskInstance.id).where(
        exists()
        .where(
            later.dag_id == TaskInstance.dag_id,
            later.task_id == TaskInstance.task_id,
            later.run_id != TaskInstance.run_id,
            later.end_date > TaskInstance.end_date,
            later.state.in_(("success", "skipped")),
            has_same_link if of_same_table else or_(later.state == "success", has_link),
        )
        .correlate(TaskInstance)
    )


def _removed() -> "Select[Any]":
    """Select the ids of instances if a later run of the DAG lacks the task, which hence cannot succeed.

    A run that a user has cleared starts again, so its start alone does not show that the run is later.
    """
    own_run, run, instance = aliased(DagRun), aliased(DagRun), aliased(TaskInstance)
    is_in_run = (
        exists()
        .where(
            instance.dag_id == run.dag_id,
            instance.run_id == run.run_id,
            instance.task_id == TaskInstance.task_id,
        )
        .correlate(run, TaskInstance)
    )
    lacks_task = (
        exists()
        .where(
            run.dag_id == TaskInstance.dag_id,
            run.start_date > TaskInstance.end_date,
            run.run_after > own_run.run_after,
            not_(is_in_run),
        )
        .correlate(own_run, TaskInstance)
    )
    is_own = (own_run.dag_id == TaskInstance.dag_id) & (own_run.run_id == TaskInstance.run_id)
    return select(TaskInstance.id).join(own_run, is_own).where(lacks_task)


def _among(session: Session, query: "Select[Any]", ids: list[Any]) -> set[Any]:
    """Return those of the ids of task instances that the query selects."""
    found: set[Any] = set()
    for first in range(0, len(ids), _IDS_PER_QUERY):
        some = ids[first : first + _IDS_PER_QUERY]
        found.update(session.execute(query.where(TaskInstance.id.in_(some))).scalars())
    return found


def _is_link_of(xcom: Any, instance: Any) -> Any:
    """Return an SQL condition: the XCom is the link "Hudi table" of the task instance."""
    same = (getattr(xcom, name) == getattr(instance, name) for name in _KEY_OF_INSTANCE)
    return and_(xcom.key == TABLE_LINK.xcom_key, *same)


def _tables(row: Any) -> tuple[str, ...]:
    """Return the id of the table to which the link of the instance leads, or an empty tuple."""
    address = urlsplit(str(XComModel.deserialize_value(row) or ""))
    return tuple(parse_qs(address.query).get("table", ()))


def _failure(row: Any) -> Failure:
    return {
        "dag_id": row.dag_id,
        "run_id": row.run_id,
        "task_id": row.task_id,
        "map_index": row.map_index if row.map_index >= 0 else "",
        "ended_ms": round(row.end_date.timestamp() * 1000),
    }
