"""Find the sources of a table that is loaded with ``source_table``, and how far the table is behind its sources."""

from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.incremental import change_backlog, change_positions
from airflow_hudi_provider.pages.content_views import hook_of
from airflow_hudi_provider.pages.instants import moment_ms
from airflow_hudi_provider.pages.registered_tables import registered_tables
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.errors import HudiTableServiceError

if TYPE_CHECKING:
    from hudi_table_services.tables.reading.change_positions import ChainPosition


def sources_view(table: RegisteredTable) -> dict[str, Any]:
    """Return the position of each source and, if the source is a registered table, its commits after the position.

    The function reads only registered tables: a commit could name any path that the API server can read.
    """
    positions = change_positions(hook_of(table))
    registered = {each.table_id: each for each in registered_tables()} if positions else {}
    return {"sources": [_source(each, registered) for each in positions]}


def without_hidden_sources(sources: list[dict[str, Any]], visible: set[str]) -> list[dict[str, Any]]:
    """Return the sources, without the facts about sources that the user may not see. Changes no argument."""
    return [
        each
        if each["table_id"] is None or each["table_id"] in visible
        else {"table_id": None, "is_hidden": True}
        for each in sources
    ]


def _source(position: "ChainPosition", registered: dict[str, RegisteredTable]) -> dict[str, Any]:
    table_id = RegisteredTable.of("", position.source, None, None).table_id if position.source else ""
    source = registered.get(table_id)
    view: dict[str, Any] = {
        "chain": position.chain,
        "base_path": position.source,
        "table_id": source.table_id if source is not None else None,
        "name": source.name if source is not None else "",
        "position": position.time,
        "loaded_by": position.instant.requested_time,
        "is_hidden": False,
        "problem": "",
    }
    if source is None:
        return view
    try:
        return {**view, **_backlog(source, position.time)}
    except HudiTableServiceError as error:
        return {**view, "problem": error.message}


def _backlog(source: RegisteredTable, position: str) -> dict[str, Any]:
    hook = hook_of(source)
    config, found = hook.table_config(), change_backlog(hook, position)
    return {
        "position_ms": moment_ms(position, config),
        "commits": found.commits,
        "rows": found.rows,
        "since_ms": moment_ms(found.since, config),
        "is_exact": found.is_exact,
    }
