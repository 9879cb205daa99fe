"""Find the tables that the pages may show: only assets of the deployment and tables of the configuration.

The pages read the storage with the API server's connections. If a browser could choose a path, a user could read every
bucket that these connections can read.
"""

from collections.abc import Iterable

from airflow.models.asset import AssetActive, AssetModel
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_hudi_provider.assets import HUDI_CONN_ID, STORAGE_CONN_ID, base_path_of
from airflow_hudi_provider.tables.registry import RegisteredTable, configured_tables


def registered_tables() -> list[RegisteredTable]:
    """Return all tables, sorted by name. Raises HudiTaskRefusedError if the setting ``[hudi] tables`` is malformed."""
    found: dict[str, RegisteredTable] = {}
    for table in (*_assets(), *configured_tables()):
        found.setdefault(table.table_id, table)  # keep the main asset, which precedes its views
    return sorted(found.values(), key=lambda table: (table.name, table.table_id))


def _assets() -> Iterable[RegisteredTable]:
    active = select(AssetModel).where(
        AssetModel.uri.like("hudi://%"),
        select(AssetActive)
        .where(AssetActive.name == AssetModel.name, AssetActive.uri == AssetModel.uri)
        .exists(),
    )
    with create_session() as session:
        for asset in session.scalars(active):
            path = base_path_of(asset.uri)
            name = path.rstrip("/").rpartition("/")[2] if asset.name == asset.uri else asset.name
            extra = asset.extra or {}
            yield RegisteredTable.of(
                name, path, extra.get(HUDI_CONN_ID), extra.get(STORAGE_CONN_ID), asset.id
            )
