"""Find the DAGs and tasks that name a table as an asset."""

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
from airflow.utils.session import create_session
from sqlalchemy import select

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
