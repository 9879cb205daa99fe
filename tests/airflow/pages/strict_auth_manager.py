"""An auth manager for tests with Airflow's simple roles. It reserves one asset and one DAG for administrators."""

from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

HIDDEN_ASSET_ID = "2"
HIDDEN_DAG_ID = "hidden"


class StrictAuthManager(SimpleAuthManager):
    def is_authorized_asset(self, *, user: Any, details: Any = None, **arguments: Any) -> bool:
        if details is not None and details.id == HIDDEN_ASSET_ID and user.role != "admin":
            return False
        return super().is_authorized_asset(user=user, details=details, **arguments)

    def is_authorized_dag(self, *, user: Any, details: Any = None, **arguments: Any) -> bool:
        if details is not None and details.id == HIDDEN_DAG_ID and user.role != "admin":
            return False
        return super().is_authorized_dag(user=user, details=details, **arguments)
