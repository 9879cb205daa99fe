"""Permissions of the pages. Only this module uses Airflow's authentication and its auth managers.

Official providers import the same names for their pages; FastAPI resolves them at module level only.
"""

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import (
    AccessView,
    AssetDetails,
    DagAccessEntity,
    DagDetails,
)
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag, requires_access_view
from fastapi import Depends

from airflow_hudi_provider.tables.registry import RegisteredTable

MAY_SEE_PLUGINS = Depends(requires_access_view(AccessView.PLUGINS))
"""For every route, static files included: the user is logged in and may see pages of plugins."""

MAY_SEE_XCOMS = Depends(requires_access_dag("GET", DagAccessEntity.XCOM))
"""For return values of tasks. Reads ``dag_id`` from the path."""

MAY_SEE_TASK_INSTANCES = Depends(requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE))
"""For states of tasks that returned nothing. Reads ``dag_id`` from the path."""

User = GetUserDep


def may_see(user: User, table: RegisteredTable) -> bool:
    """Whether the user may see the asset of the table; for a table without an asset, assets in general."""
    details = None if table.asset_id is None else AssetDetails(id=str(table.asset_id))
    return bool(get_auth_manager().is_authorized_asset(method="GET", user=user, details=details))


def may_see_runs(user: User, dag_id: str) -> bool:
    """Whether the user may see the runs of this DAG."""
    return bool(
        get_auth_manager().is_authorized_dag(
            method="GET", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag_id), user=user
        )
    )
