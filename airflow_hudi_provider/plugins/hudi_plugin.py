"""The plugin adds macros for templates, and pages in the UI. Its entry point is in the group ``airflow.plugins``."""

from datetime import datetime, timezone
from typing import Any

from airflow.providers.common.compat.sdk import AirflowPlugin


def instant_time(moment: datetime) -> str:
    """Convert a time to an instant time in UTC: ``{{ macros.hudi.instant_time(data_interval_start) }}``."""
    utc = moment.astimezone(timezone.utc)
    return utc.strftime("%Y%m%d%H%M%S") + f"{utc.microsecond // 1000:03d}"


class LazyPages:
    """The web application of the UI pages. The application is built at the first request.

    All processes of Airflow load plugins, but only the API server needs a web application.
    """

    def __init__(self) -> None:
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from airflow_hudi_provider.pages.app import build_app

            self._app = build_app()
        await self._app(scope, receive, send)


def _view(name: str, query: str, destination: str, url_route: str) -> dict[str, str]:
    # The href has no leading slash, so that the link also works if Airflow is served below a path prefix.
    return {"name": name, "href": f"hudi/{query}", "destination": destination, "url_route": url_route}


class HudiPlugin(AirflowPlugin):
    """Adds ``macros.hudi`` to templates, "Hudi tables" to the navigation, and a panel to runs and task instances."""

    name = "hudi"
    macros = [instant_time]  # noqa: RUF012 - as Airflow declares it
    fastapi_apps = [{"app": LazyPages(), "url_prefix": "/hudi", "name": "Hudi tables"}]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        {
            **_view("Hudi tables", "", "nav", "hudi-tables"),
            "category": "browse",
            "icon": "hudi/static/icon.svg",
            "icon_dark_mode": "hudi/static/icon-dark.svg",
        },
        _view("Hudi", "?dag_id={DAG_ID}&run_id={RUN_ID}", "dag_run", "hudi-run"),
        _view(
            "Hudi",
            "?dag_id={DAG_ID}&run_id={RUN_ID}&task_id={TASK_ID}&map_index={MAP_INDEX}",
            "task_instance",
            "hudi-task",
        ),
    ]
