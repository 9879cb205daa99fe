"""Airflow assets for Hudi tables. The URI of an asset contains the base path of its table in canonical form."""

import re
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from airflow.providers.common.compat.sdk import Asset

_ALIASES = {"s3a": "s3", "s3n": "s3"}
_VIEW = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
HUDI_CONN_ID = "hudi_conn_id"
STORAGE_CONN_ID = "storage_conn_id"


def asset_uri(base_path: str) -> str:
    """Return the asset URI of a base path.

    For example, ``s3a://lake/flights/`` becomes ``hudi://s3/lake/flights``, and ``/data/flights`` becomes
    ``hudi://file/data/flights``.

    Raises:
        ValueError: the path is relative or contains a template.
    """
    if "{{" in base_path or "{%" in base_path:
        raise ValueError(
            f"An asset needs a base path that is known when Airflow parses the DAG, but {base_path!r} has a template."
        )
    if base_path.startswith("/"):
        return f"hudi://file{quote(base_path.rstrip('/'))}"
    parts = urlsplit(base_path)
    path = "/".join(name for name in (unquote(parts.netloc + parts.path)).split("/") if name)
    if not parts.scheme or not path:
        raise ValueError(f"{base_path!r} is neither an absolute path nor a URI.")
    return f"hudi://{_ALIASES.get(parts.scheme, parts.scheme)}/{quote(path)}"


def base_path_of(uri: str) -> str:
    """Return the base path of an asset URI.

    For example, ``hudi://s3/lake/flights`` becomes ``s3://lake/flights``, and ``hudi://file/data/flights`` becomes
    ``/data/flights``.
    """
    scheme, _, path = uri.removeprefix("hudi://").partition("?")[0].partition("/")
    return f"/{unquote(path)}" if scheme == "file" else f"{scheme}://{unquote(path)}"


class HudiAsset(Asset):
    """The asset of a Hudi table.

    If a task has this asset as an outlet, the UI's page "Hudi tables" shows the table.

    :param base_path: URI or absolute path of the table, without a template.
    :param view: name of an additional asset for the table. The additional asset has its own events and its own URI,
        because Airflow has one asset for each URI. The name may contain letters, digits, ``-``, ``_`` and ``.``.
        An empty name means the main asset.
    :param hudi_conn_id: connection of type ``hudi`` that the UI's pages use to read the table.
    :param storage_conn_id: connection with the credentials of the object store, which the UI's pages use to read the
        table.
    :param extra: additional values that Airflow stores with the asset.
    :param arguments: further arguments of Airflow's ``Asset``, such as ``name`` or ``watchers``.

    Raises:
        ValueError: the path is relative or contains a template, or the view contains a character that is not allowed.
    """

    def __init__(
        self,
        base_path: str,
        *,
        view: str = "",
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        extra: dict[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        connections = {HUDI_CONN_ID: hudi_conn_id, STORAGE_CONN_ID: storage_conn_id}
        given = {**(extra or {}), **{key: name for key, name in connections.items() if name}}
        if view and not _VIEW.fullmatch(view):
            raise ValueError(f"view={view!r} may contain only letters, digits, '-', '_' and '.'.")
        uri = asset_uri(base_path) + (f"?view={view}" if view else "")
        super().__init__(uri=uri, extra=given, **arguments)


def table_asset(base_path: Any, hudi_conn_id: Any, storage_conn_id: Any) -> HudiAsset | None:
    """Return the asset of a task's table; None if the location of the table is not known when Airflow parses the DAG.

    Arguments that contain a template, and outputs of other tasks, are not known at that time.
    """
    if not isinstance(base_path, str):
        return None
    try:
        return HudiAsset(
            base_path, hudi_conn_id=_known(hudi_conn_id), storage_conn_id=_known(storage_conn_id)
        )
    except ValueError:  # a template, or a path that is relative to the base path of the connection
        return None


def _known(conn_id: Any) -> str | None:
    return conn_id if isinstance(conn_id, str) and "{{" not in conn_id and "{%" not in conn_id else None


def uri_of_table(uri: str | None) -> str:
    """Return the URI of the main asset of a table.

    Args:
        uri: the URI of any asset of the table. If it does not begin with ``hudi://``, the function returns it
        unchanged.
    """
    return (uri or "").partition("?")[0] if (uri or "").startswith("hudi://") else uri or ""


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Return the canonical form of an asset URI. Airflow calls this function for every ``hudi://`` asset.

    Raises:
        ValueError: the URI is malformed.
    """
    if not uri.netloc or not uri.path.strip("/"):
        raise ValueError(
            "The URI of a Hudi asset is hudi://<scheme>/<path>, such as hudi://s3/lake/flights; "
            "airflow_hudi_provider.assets.HudiAsset(base_path) creates this URI."
        )
    view = parse_qs(uri.query).get("view", [""])[0]
    return uri._replace(path=uri.path.rstrip("/"), query=f"view={view}" if view else "", fragment="")


def create_asset(*, base_path: str, extra: dict[str, Any] | None = None) -> "Asset":
    """Create the asset of a table. Airflow calls this function when a hook reports lineage."""
    return HudiAsset(base_path, extra=extra)


def to_openlineage_dataset(asset: "Asset", lineage_context: Any) -> Any:
    """Return the OpenLineage dataset of an asset. The lineage of tasks contains the same dataset for the table.

    Airflow's OpenLineage provider calls this function.
    """
    from airflow.providers.common.compat.openlineage.facet import Dataset

    from airflow_hudi_provider.tasks.lineage import dataset_name

    names = dataset_name(base_path_of(asset.uri))
    return Dataset(*names) if names is not None else None
