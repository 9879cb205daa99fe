"""Find the tables that a deployment names in the setting ``[hudi] tables`` or as assets.

Pages and tasks import this module. Tasks have no access to Airflow's database, so the module does not use the database.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from airflow.providers.common.compat.sdk import conf

from airflow_hudi_provider.assets import HUDI_CONN_ID, STORAGE_CONN_ID, asset_uri, base_path_of
from airflow_hudi_provider.exceptions import HudiTaskRefusedError

_KEYS = {"base_path", "hudi_conn_id", "storage_conn_id"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredTable:
    """A table that the pages may show.

    Attributes:
        table_id: identifies the table in URLs. The id is a hash of the base path. For a relative or empty base path,
            the id is a hash of the base path and the connection.
        name: name of the asset, or of the entry in the configuration.
        base_path: URI or path. The path may be relative to the base path of the connection, or empty.
        asset_id: Airflow's id of the asset, or None if the table is from the configuration. The permissions for the
            asset are also the permissions for the table.
    """

    table_id: str
    name: str
    base_path: str
    hudi_conn_id: str | None = None
    storage_conn_id: str | None = None
    asset_id: int | None = None

    @classmethod
    def of(
        cls,
        name: str,
        base_path: str,
        hudi_conn_id: str | None,
        storage_conn_id: str | None,
        asset_id: int | None = None,
    ) -> "RegisteredTable":
        # A table has one page, even if its DAGs name different connections, or both ``s3a://`` and ``s3://``.
        is_whole = base_path.startswith("/") or ":/" in base_path
        identity = asset_uri(base_path) if is_whole else json.dumps([base_path, hudi_conn_id])
        return cls(
            table_id=hashlib.sha256(identity.encode()).hexdigest()[:16],
            name=name,
            base_path=base_path,
            hudi_conn_id=hudi_conn_id,
            storage_conn_id=storage_conn_id,
            asset_id=asset_id,
        )


def configured_tables() -> Iterable[RegisteredTable]:
    """Yield the tables of ``[hudi] tables``. Raises HudiTaskRefusedError if the setting is malformed."""
    text = conf.get("hudi", "tables", fallback="") or "{}"
    try:
        entries = json.loads(text)
        for name, entry in entries.items():
            if unknown := entry.keys() - _KEYS:
                raise ValueError(f"{name!r} has unknown keys: {', '.join(sorted(unknown))}")
            if not entry.get("hudi_conn_id"):
                asset_uri(entry["base_path"])
            yield RegisteredTable.of(
                name, entry.get("base_path") or "", entry.get("hudi_conn_id"), entry.get("storage_conn_id")
            )
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise HudiTaskRefusedError(
            f"The setting [hudi] tables is not valid ({error}). It must be a JSON object such as "
            '{"flights": {"base_path": "s3://lake/flights", "storage_conn_id": "lake"}}.'
        ) from None


def tables_of(assets: Iterable[Any]) -> Iterable[RegisteredTable]:
    """Yield the tables among the assets of a DAG. Other assets and asset aliases are skipped."""
    for asset in assets:
        uri, extra = getattr(asset, "uri", None) or "", getattr(asset, "extra", None) or {}
        if uri.startswith("hudi://"):
            path = base_path_of(uri)
            yield RegisteredTable.of("", path, extra.get(HUDI_CONN_ID), extra.get(STORAGE_CONN_ID))


def named_table(
    tables: Iterable[RegisteredTable], path: str, base_path: str | None, hudi_conn_id: str | None
) -> RegisteredTable | None:
    """Return the first of these tables that is the table of a task, or None.

    Args:
        path: location of the task's table.
        base_path, hudi_conn_id: the task's own arguments.
    """
    wanted = {
        RegisteredTable.of("", path, None, None).table_id,
        RegisteredTable.of("", base_path or "", hudi_conn_id, None).table_id,
    }
    return next((table for table in tables if table.table_id in wanted), None)
