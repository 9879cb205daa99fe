"""Links on tasks in Airflow's UI. They open the page of the task's table, and Spark's UI while a job runs.

Airflow reads links from XComs, and pushes the value of `get_link` when a task ends or is deferred. Tasks of this
package push their links earlier, so that users can open the links while the task is running.
"""

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from airflow.providers.common.compat.sdk import BaseOperatorLink, conf

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from airflow.providers.common.compat.sdk import Context

    from airflow_hudi_provider.tables.registry import RegisteredTable

_LOG = logging.getLogger(__name__)
# The address has no leading slash, so that the link also works if Airflow is served below a path prefix.
_PAGE = "plugin/hudi-tables"


class HudiTableLink(BaseOperatorLink):
    """Link to the table's page. The link is empty unless the task's DAG or the configuration names the table."""

    name = "Hudi table"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return an address relative to Airflow's base URL, or an empty string if there is no link."""
        return table_address(operator)


class HudiSparkUiLink(BaseOperatorLink):
    """Link to the UI of the Spark driver. The UI exists only while the job runs."""

    name = "Spark UI"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return an empty string, because Spark's UI does not exist after the job has ended."""
        return ""


TABLE_LINK, SPARK_UI_LINK = HudiTableLink(), HudiSparkUiLink()


def push_table_link(task: Any, context: "Context") -> None:
    """Push the link to the page of the task's table, and log the address of the page.

    Users can then open the page while the task is running.

    Call this function after the arguments are rendered. The task does not fail if the link cannot be pushed.
    """
    if address := table_address(task):
        _push(context, TABLE_LINK, address)
        if root := address_of_airflow():
            task.log.info("Page of the table: %s/%s", root, address)  # Airflow shows the address as a link


def address_of_airflow() -> str:
    """Return the address of Airflow's UI, without a slash at its end. Empty without the setting ``[api] base_url``."""
    return (conf.get("api", "base_url", fallback="") or "").rstrip("/")


def push_spark_ui(context: "Context", address: str) -> None:
    """Push the link to Spark's UI, so that users can open the UI while the job runs."""
    _push(context, SPARK_UI_LINK, address)


def _push(context: "Context", link: BaseOperatorLink, address: str) -> None:
    try:
        context["ti"].xcom_push(key=link.xcom_key, value=address)
    except Exception as error:
        _LOG.debug("The link %r was not pushed: %s", link.name, error)


def table_address(task: Any) -> str:
    """Return the address of the page of the task's table.

    The address is empty if neither the DAG nor the configuration names the table.
    """
    try:
        found = _named(task)
    except Exception as error:
        _LOG.debug("There is no link to a table: %s", error)
        return ""
    return f"{_PAGE}?{urlencode({'table': found.table_id})}" if found is not None else ""


def _named(task: Any) -> "RegisteredTable | None":
    # Import these names inside the function, so that Airflow imports no assets when it parses a DAG without assets.
    from airflow_hudi_provider.tables.registry import named_table, tables_of

    if task.base_path is None and task.hudi_conn_id is None:
        return None
    path = HudiHook(task.base_path, hudi_conn_id=task.hudi_conn_id).location.base_path
    candidates = (*tables_of(_assets_of_dag(task)), *_configured())
    return named_table(candidates, path, task.base_path, task.hudi_conn_id)


def _assets_of_dag(task: Any) -> "Iterator[Any]":
    """Yield the assets of the DAG's tasks and of its schedule."""
    dag = task.get_dag()
    for each in (task, *(dag.tasks if dag is not None else ())):
        yield from each.outlets or ()
        yield from each.inlets or ()
        if (declared := getattr(each, "declared_asset", None)) is not None:
            yield declared  # the outlets of a running task do not contain the declared asset
    yield from _within(getattr(getattr(dag, "timetable", None), "asset_condition", None))


def _within(condition: Any) -> "Iterator[Any]":
    """Yield the assets in the condition of a schedule.

    A condition contains its parts in ``objects`` (Airflow 3.1 and later).
    """
    parts = getattr(condition, "objects", None)
    if parts is None:
        yield condition
    for part in parts or ():
        yield from _within(part)


def _configured() -> "Iterable[RegisteredTable]":
    from airflow_hudi_provider.tables.registry import configured_tables

    try:
        return tuple(configured_tables())
    except HudiTaskRefusedError:  # the pages report the malformed setting
        return ()
