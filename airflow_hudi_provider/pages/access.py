"""Permissions of the pages. Only this module uses Airflow's authentication and its auth managers.

This module imports the same names from Airflow as the pages of Airflow's official providers do. FastAPI finds the type
`User` only at module level.
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
"""Guard for all routes except those of the page about errors: users must be logged in and may see plugin pages."""

MAY_SEE_XCOMS = Depends(requires_access_dag("GET", DagAccessEntity.XCOM))
"""Guard for routes that show return values of tasks. The guard reads ``dag_id`` from the URL's path."""

MAY_SEE_TASK_INSTANCES = Depends(requires_access_dag("GET", DagAccessEntity.TASK_INSTANCE))
"""Guard for routes that show states of tasks without return values.

The guard reads ``dag_id`` from the URL's path.
"""

User = GetUserDep


def may_see(user: User, table: RegisteredTable) -> bool:
    """Return whether the user may see the asset of the table.

    For a table without an asset, return whether the user may see assets in general.
    """
    details = None if table.asset_id is None else AssetDetails(id=str(table.asset_id))
    return bool(get_auth_manager().is_authorized_asset(method="GET", user=user, details=details))


def may_see_runs(user: User, dag_id: str) -> bool:
    """Return whether the user may see the runs of this DAG."""
    return bool(
        get_auth_manager().is_authorized_dag(
            method="GET", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag_id), user=user
        )
    )
