"""Find the DAGs and tasks that name a table as an asset, and the last failure of such tasks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from airflow.models.asset import (
    AssetModel,
    DagScheduleAssetReference,
    TaskInletAssetReference,
    TaskOutletAssetReference,
)
from airflow.models.dag import DagModel
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import or_, select

from airflow_hudi_provider.assets import base_path_of
from airflow_hudi_provider.tables.registry import RegisteredTable

MaySee = Callable[[str], bool]
"""Returns whether the user may see the DAG with this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableUsers:
    """Tasks that use a table, each as ``(dag_id, task_id)``, and the ids of the DAGs that the table triggers."""

    writers: list[tuple[str, str]] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)
    triggered: list[str] = field(default_factory=list)

    def shown(self, may_see: MaySee) -> dict[str, Any]:
        """Return the tasks and DAGs that the user may see, as JSON values."""

        def tasks(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
            return [{"dag_id": dag, "task_id": task} for dag, task in sorted(set(pairs)) if may_see(dag)]

        return {
            "writers": tasks(self.writers),
            "others": tasks(self.others),
            "triggered": [dag_id for dag_id in sorted(set(self.triggered)) if may_see(dag_id)],
        }


def users_of_tables() -> dict[str, TableUsers]:
    """Map the id of each table to the tasks and DAGs that name an asset of the table.

    The result does not contain DAGs whose file no longer exists.
    """
    found: dict[str, TableUsers] = {}
    task_references: tuple[tuple[Any, str], ...] = (
        (TaskOutletAssetReference, "writers"),
        (TaskInletAssetReference, "others"),
    )
    with create_session() as session:
        for kind, name in task_references:
            for uri, dag_id, task_id in session.execute(_references(kind, kind.task_id)):
                getattr(found.setdefault(_table_id(uri), TableUsers()), name).append((dag_id, task_id))
        for uri, dag_id in session.execute(_references(DagScheduleAssetReference)):
            found.setdefault(_table_id(uri), TableUsers()).triggered.append(dag_id)
    return found


def _references(kind: Any, *columns: Any) -> Any:
    return (
        select(AssetModel.uri, kind.dag_id, *columns)
        .join(kind, kind.asset_id == AssetModel.id)
        .join(DagModel, DagModel.dag_id == kind.dag_id)
        .where(AssetModel.uri.like("hudi://%"), DagModel.is_stale.is_not(True))
    )


def _table_id(uri: str) -> str:
    return RegisteredTable.of("", base_path_of(uri), None, None).table_id


def last_failure(tasks: Iterable[dict[str, str]]) -> dict[str, Any] | None:
    """Return the task instance that ended last among these tasks, if it failed; None in all other cases."""
    pairs = [(each["dag_id"], each["task_id"]) for each in tasks]
    if not pairs:
        return None
    query = (
        select(TaskInstance)
        .where(
            or_(*((TaskInstance.dag_id == dag) & (TaskInstance.task_id == task) for dag, task in pairs)),
            TaskInstance.state.in_(("failed", "success")),
        )
        .order_by(TaskInstance.end_date.desc())
        .limit(1)
    )
    with create_session() as session:
        newest = session.scalar(query)
        if newest is None or newest.state != "failed":
            return None
        return {
            "dag_id": newest.dag_id,
            "run_id": newest.run_id,
            "task_id": newest.task_id,
            "map_index": newest.map_index if newest.map_index >= 0 else "",
            "ended_ms": round(newest.end_date.timestamp() * 1000) if newest.end_date else None,
        }
