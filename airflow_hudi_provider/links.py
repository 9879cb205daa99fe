"""Links of tasks in Airflow's UI: to the page of the task's table, and to Spark's UI while a job runs.

Airflow reads a link from XCom. It pushes what `get_link` gives once a task has ended or is deferred; `LinkedTask`
pushes it before the work begins, so that it can be followed meanwhile.
"""

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from airflow.providers.common.compat.sdk import BaseOperatorLink

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from airflow.providers.common.compat.sdk import Context

    from airflow_hudi_provider.tables.registry import RegisteredTable

_LOG = logging.getLogger(__name__)
# Without a leading slash, so that it holds below a path prefix too.
_PAGE = "plugin/hudi-tables"


class HudiTableLink(BaseOperatorLink):
    """To the table's page, where the task's DAG or the configuration names the table; else there is no link."""

    name = "Hudi table"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Relative to Airflow's base URL; empty: there is none."""
        return table_address(operator)


class HudiSparkUiLink(BaseOperatorLink):
    """To the UI of the Spark driver, which is gone with the job."""

    name = "Spark UI"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Empty: a task that is over has none any more."""
        return ""


TABLE_LINK, SPARK_UI_LINK = HudiTableLink(), HudiSparkUiLink()


class LinkedTask:
    """An operator of one table. A link that cannot be made or pushed is no reason for a task to fail."""

    operator_extra_links = (TABLE_LINK,)
    _linking_ti: Any = None

    def push_table_link(self, context: "Context") -> None:
        """Let the table be followed from now on. Call it once the arguments are rendered."""
        self._linking_ti = context.get("ti")
        if address := table_address(self):
            self._push(TABLE_LINK, address)

    def _push(self, link: BaseOperatorLink, address: str) -> None:
        try:
            self._linking_ti.xcom_push(key=link.xcom_key, value=address)
        except Exception as error:
            _LOG.debug("No link %r: %s", link.name, error)


class SparkLinkedTask(LinkedTask):
    """One that may run a Spark job."""

    operator_extra_links = (TABLE_LINK, SPARK_UI_LINK)

    def push_spark_ui(self, address: str) -> None:
        """Let Spark's UI be followed while the job runs."""
        self._push(SPARK_UI_LINK, address)


def table_address(task: Any) -> str:
    """Where the page of the task's table is; empty: nothing that the worker knows puts the table on a page."""
    try:
        found = _named(task)
    except Exception as error:
        _LOG.debug("No link to a table: %s", error)
        return ""
    return f"{_PAGE}?{urlencode({'table': found.table_id})}" if found is not None else ""


def _named(task: Any) -> "RegisteredTable | None":
    # Where a DAG is read, assets are imported only if it has some.
    from airflow_hudi_provider.tables.registry import named_table, tables_of

    if task.base_path is None and task.hudi_conn_id is None:
        return None
    path = HudiHook(task.base_path, hudi_conn_id=task.hudi_conn_id).location.base_path
    candidates = (*tables_of(_assets_of_dag(task)), *_configured())
    return named_table(candidates, path, task.base_path, task.hudi_conn_id)


def _assets_of_dag(task: Any) -> "Iterator[Any]":
    """Those by which any task of the DAG, or its schedule, names a table."""
    dag = task.get_dag()
    for each in (task, *(dag.tasks if dag is not None else ())):
        yield from each.outlets or ()
        yield from each.inlets or ()
    yield from _within(getattr(getattr(dag, "timetable", None), "asset_condition", None))


def _within(condition: Any) -> "Iterator[Any]":
    """The assets of a schedule; conditions hold others in ``objects``, on every Airflow from 3.1 on."""
    parts = getattr(condition, "objects", None)
    if parts is None:
        yield condition
    for part in parts or ():
        yield from _within(part)


def _configured() -> "Iterable[RegisteredTable]":
    from airflow_hudi_provider.tables.registry import configured_tables

    try:
        return tuple(configured_tables())
    except HudiTaskRefusedError:  # the pages tell what is wrong with the setting
        return ()
