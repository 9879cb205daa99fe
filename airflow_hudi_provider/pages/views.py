"""The dictionary `VIEWS` maps names to views of one table. This module also defines views that combine other views."""

from collections.abc import Callable
from typing import Any

from airflow_hudi_provider.pages.content_views import (
    Wanted,
    files_view,
    hook_of,
    overview_view,
    partitions_view,
    schema_view,
    settings_view,
)
from airflow_hudi_provider.pages.recent_values import RecentValues
from airflow_hudi_provider.pages.source_views import sources_view
from airflow_hudi_provider.pages.table_views import compaction_view, health_view, history_view, plan_view
from airflow_hudi_provider.tables.registry import RegisteredTable

View = dict[str, Any]
_kept: RecentValues[View] = RecentValues(256)


def _dated(name: str, view: Callable[[RegisteredTable], View]) -> Callable[[RegisteredTable, Wanted], View]:
    """Return a view that is cached for some seconds, and that contains the time when it was read."""

    def read(table: RegisteredTable, wanted: Wanted) -> View:
        dated = _kept.get((name, table), lambda: view(table), fresh=wanted.fresh)
        return {**dated.value, "as_of_ms": dated.as_of_ms}

    return read


def _if_created(view: Callable[[RegisteredTable, Wanted], View]) -> Callable[[RegisteredTable, Wanted], View]:
    """Wrap a view: if the table does not exist yet, return ``{"exists": False}`` instead of raising an error."""

    def read(table: RegisteredTable, wanted: Wanted) -> View:
        from hudi_table_services.storage.table_store import find_table_to_read

        if find_table_to_read(hook_of(table).storage) is None:
            return {"exists": False}
        return {"exists": True, **view(table, wanted)}

    return read


def summary_view(table: RegisteredTable, wanted: Wanted) -> View:
    """Return the overview and the state of the table, for the list of tables."""
    health = VIEWS["health"](table, wanted)
    names = ("status", "damage", "findings", "measures", "pending")
    return {**overview_view(table, wanted), **{name: health[name] for name in names}}


VIEWS: dict[str, Callable[[RegisteredTable, Wanted], View]] = {
    "overview": _if_created(overview_view),
    "summary": _if_created(summary_view),
    "health": _dated("health", health_view),
    "history": _dated("history", history_view),
    "plan": _dated("plan", plan_view),
    "compaction": _dated("compaction", compaction_view),
    "sources": _dated("sources", sources_view),
    "partitions": partitions_view,
    "files": files_view,
    "schema": _dated("schema", schema_view),
    "settings": _dated("settings", settings_view),
}
