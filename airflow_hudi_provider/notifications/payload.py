"""Build the payload of notifications about a task and its table: plain JSON values and a readable text."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlencode

from airflow.providers.common.compat.sdk import conf

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.registry import RegisteredTable, configured_tables, named_table, tables_of
from hudi_table_services.contract.health import HealthReport
from hudi_table_services.errors import UnhealthyTableError

_SHOWN_PENDING = 5
_METADATA_MEASURES = {
    "commits_since_compaction": "metadata_commits_since_compaction",
    "log_files": "metadata_log_files",
    "log_bytes": "metadata_log_bytes",
}
"""Maps names in the payload to measures of the health report."""
_LIMITS = ("fail_above", "warn_above")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSelection:
    """The table to read, and its limits.

    Attributes:
        base_path, hudi_conn_id, storage_conn_id: the same arguments as in operators. Without base_path and
            hudi_conn_id, the arguments of the task define the table.
        warn_above: maps each measure to its limit. An empty mapping means the default limits or, if the arguments of a
            health task define the table, the limits of that task.
        hudi_options: ``hoodie.clean.*`` keys that define which files cleaning keeps.
    """

    base_path: str | None = None
    hudi_conn_id: str | None = None
    storage_conn_id: str | None = None
    warn_above: Mapping[str, float] = field(default_factory=dict)
    hudi_options: Mapping[str, str] = field(default_factory=dict)

    def for_task(self, task: Any) -> "TableSelection":
        """Return this selection if it names a table. If not, return a new selection of the task's table.

        If this selection has no limits, the new selection has the limits of the task.
        """
        if self.base_path is not None or self.hudi_conn_id is not None:
            return self
        limits: dict[str, float] = {}
        for name in _LIMITS:
            limits |= {measure: float(limit) for measure, limit in (getattr(task, name, None) or {}).items()}
        return TableSelection(
            base_path=getattr(task, "base_path", None),
            hudi_conn_id=getattr(task, "hudi_conn_id", None),
            storage_conn_id=getattr(task, "storage_conn_id", None),
            warn_above=self.warn_above or limits,
            hudi_options=self.hudi_options,
        )


def health_payload(context: Mapping[str, Any], selection: TableSelection | None = None) -> dict[str, Any]:
    """Describe the outcome of a task or run, and the current health of its table.

    If the table cannot be read, the payload contains the error, and this function raises no error.

    Returns:
        A dictionary with the keys ``table``, ``run``, ``outcome``, ``error``, ``health``, ``health_error``, ``links``
        and ``text``. ``error`` contains kind, message and hint, or is None if there was no error. ``health`` contains
        status, findings, pending, measures, damage and metadata_table, or is None if the table could not be read.
        ``health_error`` is the reason why the table could not be read. ``text`` contains the other values as text.

    Args:
        context: context of a callback of a task or DAG, or of a deadline alert.
        selection: the table to read, and its limits. None means the table and the limits of the task.
    """
    selection = (selection or TableSelection()).for_task(context.get("task"))
    path, health, problem = _read_health(selection)
    run = _run(context)
    payload = {
        "table": {"name": path.rstrip("/").rpartition("/")[2], "base_path": path},
        "run": run,
        "outcome": _outcome(context),
        "error": _error(context),
        "health": None if health is None else _health(health),
        "health_error": problem,
        "links": _links(context, run, selection, path),
    }
    return {**payload, "text": text_of(payload)}


def needs_attention(payload: Mapping[str, Any]) -> bool:
    """Return whether the task failed, the table is not healthy, or the table could not be read."""
    health = payload["health"]
    return bool(payload["error"] or payload["health_error"] or health["status"] != "healthy")


def text_of(payload: Mapping[str, Any]) -> str:
    """Return the payload as a few lines of plain text."""
    run, error, health = payload["run"], payload["error"], payload["health"]
    task = ".".join(filter(None, [run["dag_id"], run["task_id"]]))
    head = " ".join(filter(None, [task, run["run_id"], payload["outcome"]]))
    lines = [f"Hudi table {payload['table']['name'] or '(unknown)'}: {head}".rstrip(": ")]
    if error is not None:
        lines.append(error["message"])
    if health is None:
        lines.append(f"The table was not read: {payload['health_error']}")
        return "\n".join(lines)
    lines.append(f"Health of the table: {health['status']}.")
    if health["damage"]:
        lines.append(health["damage"])
    lines += [
        f"- {each['title']} ({each['measure']}): {each['value']:g}, above {each['limit']:g}. {each['advice']}"
        for each in health["findings"]
    ]
    state = health["metadata_table"]
    if state["unusable"] or state["problem"]:
        lines.append(
            f"- metadata table: {' '.join(filter(None, [state['unusable'], state['problem'], state['path']]))}"
        )
    lines += [
        f"- pending {each['action']} {each['instant_time']}: {each['meaning']}. {each['next_step']}"
        for each in health["pending"]
    ]
    lines += [link for name, link in payload["links"].items() if name == "table"]
    return "\n".join(lines)


def _read_health(selection: TableSelection) -> tuple[str, HealthReport | None, str]:
    """Return the base path, the health report or None, and the reason why there is no report."""
    path = selection.base_path or ""
    try:
        hook = HudiHook(
            selection.base_path,
            hudi_conn_id=selection.hudi_conn_id,
            storage_conn_id=selection.storage_conn_id,
        )
        path = hook.location.base_path
        report = hook.health(warn_above=selection.warn_above, hudi_options=selection.hudi_options)
        return path, report, ""
    except UnhealthyTableError as error:
        evidence = error.evidence
        return (path, evidence, "") if isinstance(evidence, HealthReport) else (path, None, str(error))
    except Exception as error:
        return path, None, str(error) or type(error).__name__


def _health(report: HealthReport) -> dict[str, Any]:
    return {
        "status": report.status,
        "damage": report.damage,
        "findings": [{**asdict(each), "title": each.title} for each in report.findings],
        "measures": dict(report.measures),
        "pending": [
            {
                name: getattr(each, name)
                for name in ("instant_time", "action", "age_s", "meaning", "next_step")
            }
            for each in report.pending[:_SHOWN_PENDING]
        ],
        "pending_count": len(report.pending),
        "metadata_table": _metadata_table(report),
    }


def _metadata_table(report: HealthReport) -> dict[str, Any]:
    """Return the state and the partitions of the metadata table, and how much it has grown since its last compaction.

    A measure that is missing is None.
    """
    state = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(report.metadata_table_state).items()
    }
    measures = {name: report.measures.get(measure) for name, measure in _METADATA_MEASURES.items()}
    return {
        **state,
        "is_on": bool(report.metadata_table),
        "partitions": list(report.metadata_table),
        **{name: None if value is None else int(value) for name, value in measures.items()},
    }


def _error(context: Mapping[str, Any]) -> dict[str, Any] | None:
    error = context.get("exception")
    if error is None:
        return None
    kind = getattr(error, "kind", "") or type(error).__name__
    return {"kind": kind, "message": str(error) or kind, "hint": getattr(error, "hint", "")}


def _outcome(context: Mapping[str, Any]) -> str:
    if "deadline" in context:
        return "missed its deadline"
    if context.get("exception") is not None:
        return "failed"
    state = _of(_task_instance(context), "state") or _of(context.get("dag_run"), "state")
    return str(getattr(state, "value", state) or "")


def _run(context: Mapping[str, Any]) -> dict[str, Any]:
    ti, dag_run = _task_instance(context), context.get("dag_run")
    found = {name: _of(ti, name) or _of(dag_run, name) for name in ("dag_id", "run_id")}
    names = {**found, "task_id": _of(ti, "task_id")}
    index = _of(ti, "map_index")
    return {
        **{name: "" if value is None else str(value) for name, value in names.items()},
        "map_index": -1 if index is None else int(index),
        "try_number": int(_of(ti, "try_number") or 0),
    }


def _task_instance(context: Mapping[str, Any]) -> Any:
    return context.get("ti") or context.get("task_instance")


def _of(thing: Any, name: str) -> Any:
    """Return an attribute of an object, or a value of a dictionary. Deadline alerts use dictionaries, not objects."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _links(
    context: Mapping[str, Any], run: Mapping[str, Any], selection: TableSelection, path: str
) -> dict[str, str]:
    """Return the URLs of the table's page, the run's page and the log.

    Without the setting ``[api] base_url``, the result is empty.
    """
    root = (conf.get("api", "base_url", fallback="") or "").rstrip("/")
    if not root:
        return {}
    links = {"table": f"{root}/hudi/?{urlencode({'table': _table_id(context, selection, path)})}"}
    if run["dag_id"] and run["run_id"]:
        names = ("dag_id", "run_id", *(("task_id", "map_index") if run["task_id"] else ()))
        links["run"] = f"{root}/hudi/?{urlencode({name: run[name] for name in names})}"
    log = _of(_task_instance(context), "log_url")
    return {**links, **({"log": str(log)} if log else {})}


def _table_id(context: Mapping[str, Any], selection: TableSelection, path: str) -> str:
    """Return the id of the table on the pages.

    Search for the table in the task's outlets, then in ``[hudi] tables``. If neither contains the table, compute the id
    from the base path and the connection of the selection.
    """
    task, asked = context.get("task"), (selection.base_path, selection.hudi_conn_id)
    assets = (*(getattr(task, "outlets", None) or ()), getattr(task, "declared_asset", None))
    candidates = (*tables_of(assets), *_configured())
    found = named_table(candidates, path, *asked)
    if found is not None:
        return found.table_id
    return RegisteredTable.of("", selection.base_path or "", selection.hudi_conn_id, None).table_id


def _configured() -> list[RegisteredTable]:
    try:
        return list(configured_tables())
    except HudiTaskRefusedError:  # the pages report the malformed setting
        return []
