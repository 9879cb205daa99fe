"""Find the location and the credentials of a table, from arguments and connections.

Error messages name the missing argument or connection.
"""

import difflib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook, Connection

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.tables.storage_connection import storage_options

_EXAMPLES = {
    "spark_conn_id": ("spark", "local[2]", "local[2] runs Spark on the worker"),
    "hudi_conn_id": ("hudi", "/data/lake", "the host is the folder of the tables"),
}
"""Maps the argument that names a connection to type and host of an example, and to the meaning of the host."""

_DEFAULTS = {"spark_conn_id": "spark_default", "hudi_conn_id": "hudi_default"}
"""Maps an argument to the id of the connection that Airflow's hook uses by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLocation:
    """Result of `locate_table`.

    Attributes:
        base_path: URI or absolute path of the table.
        storage_options: credentials and endpoint of the table's object store. They are never logged.
        spark_conn_id, result_base_path: values from the hudi connection. Empty if the connection does not set them.
        root: base path of the hudi connection, without a slash at the end; empty if there is no connection.
    """

    base_path: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    spark_conn_id: str = ""
    result_base_path: str = ""
    root: str = ""


def locate_table(
    base_path: str | None, hudi_conn_id: str | None, storage_conn_id: str | None
) -> TableLocation:
    """Locate a table. Arguments override values of the connection.

    A relative base path is below the connection's base path.

    Raises:
        HudiTaskRefusedError: a connection does not exist or has a wrong type, or there is no base path.
    """
    hudi = None if hudi_conn_id is None else find_connection(hudi_conn_id, "hudi_conn_id", ("hudi",))
    extra = {} if hudi is None else hudi.extra_dejson
    storage_id = storage_conn_id or extra.get("storage_conn_id") or ""
    return TableLocation(
        base_path=_base_path(base_path, hudi),
        storage_options=storage_options(find_connection(storage_id, "storage_conn_id")) if storage_id else {},
        spark_conn_id=extra.get("spark_conn_id") or "",
        result_base_path=extra.get("result_base_path") or "",
        root=_root(hudi),
    )


def find_connection(conn_id: str, argument: str, types: tuple[str, ...] = ()) -> Connection:
    """Return a connection, or raise an error if the connection does not exist.

    Without this check, Airflow's hooks use defaults for a missing connection: YARN in the Spark hook, and AWS in the
    S3 hook.

    Raises:
        HudiTaskRefusedError: the connection does not exist, or `types` does not contain its type.
    """
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise _no_connection(conn_id, argument) from None
    if types and connection.conn_type not in types:
        raise HudiTaskRefusedError(
            f"Connection {conn_id!r} ({argument}) is of type {connection.conn_type!r}, not {' or '.join(types)}."
        )
    return connection


def _no_connection(conn_id: str, argument: str) -> HudiTaskRefusedError:
    """Return the error about a missing connection. Its hint contains lines that create a connection as an example."""
    variable = f"AIRFLOW_CONN_{conn_id.upper()}"
    reason = f"There is no connection {conn_id!r} ({argument})."
    advice, lines = f"Create it under Admin → Connections, or with the environment variable {variable}.", []
    if argument in _EXAMPLES:
        conn_type, host, meaning = _EXAMPLES[argument]
        advice = f"Create it under Admin → Connections, or with one of these lines ({meaning}):"
        lines = [
            f"airflow connections add {shlex.quote(conn_id)} --conn-type {conn_type} --conn-host {shlex.quote(host)}",
            f"export {variable}={shlex.quote(json.dumps({'conn_type': conn_type, 'host': host}))}",
        ]
    if similar := _similar_connection(conn_id, argument):
        advice = f"Did you mean {similar!r}? If not, {advice[:1].lower()}{advice[1:]}"
    error = HudiTaskRefusedError(f"{reason} {advice} {' or '.join(lines)}".strip())
    error.reason, error.hint = reason, "\n".join((advice, *lines))
    return error


def _similar_connection(conn_id: str, argument: str) -> str:
    """Return the default connection of the argument if it exists and its id is similar, or else an empty string.

    The function compares no other connections, because a task cannot list them.
    """
    default = _DEFAULTS.get(argument, "")
    if default == conn_id or not difflib.get_close_matches(conn_id.lower(), [default], cutoff=0.75):
        return ""
    try:
        BaseHook.get_connection(default)
    except AirflowNotFoundException:
        return ""
    return default


def _root(hudi: Connection | None) -> str:
    return (hudi.host or "").rstrip("/") if hudi is not None else ""


def _base_path(argument: str | None, hudi: Connection | None) -> str:
    if argument is not None and not argument.strip():
        raise HudiTaskRefusedError(
            "The argument 'base_path' is empty after Airflow rendered its template: check the template."
        )
    root = _root(hudi)
    path = (argument or "").strip()
    if path.startswith("/") or ":/" in path:
        return path
    if root and path:
        return f"{root}/{path}"
    if root:
        return root
    if path:
        raise HudiTaskRefusedError(
            f"base_path={path!r} is relative. Give a URI or an absolute path, or hudi_conn_id with a base path."
        )
    raise HudiTaskRefusedError(
        "There is no base path: give the argument base_path, or the hudi_conn_id of a connection with a base path."
    )
