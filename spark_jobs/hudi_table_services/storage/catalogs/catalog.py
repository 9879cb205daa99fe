"""The interface of catalog clients. Clients translate errors of their libraries to CatalogError."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import CatalogKind, CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    CatalogPartition,
    CatalogState,
    CatalogTable,
)


class Catalog(Protocol):
    """A connection to a catalog.

    Every method raises CatalogError if the catalog does not answer or refuses the request, and CatalogPermissionError
    if it denies access. No method deletes data files.
    """

    def read(self, database: str, table: str) -> CatalogState:
        """Return the current state of a table with all of its partitions."""

    def create_database(self, name: str) -> None:
        """Create a database."""

    def create_table(self, table: CatalogTable) -> None:
        """Create a table without partitions."""

    def update_table(self, table: CatalogTable, *, cascades: bool) -> None:
        """Replace columns, formats and properties of a table.

        The catalog keeps the fields that `CatalogTable` does not have.

        Args:
            cascades: whether existing partitions get the columns and formats of the table, too.
        """

    def add_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        """Add partitions. Partitions that already exist are not changed."""

    def move_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        """Change the locations of existing partitions."""

    def drop_partitions(self, table: CatalogTable, partitions: Sequence[CatalogPartition]) -> None:
        """Remove partitions from the catalog. Partitions that do not exist are ignored."""

    def close(self) -> None:
        """Close the connection."""


def open_catalog(settings: CatalogSettings, storage_options: Mapping[str, str]) -> Catalog:
    """Connect to the catalog that the settings name.

    Args:
        storage_options: settings of the object store; AWS Glue uses the same credentials.

    Raises:
        CatalogError: the catalog does not answer.
        InvalidRequestError: the package of the client is not installed.
    """
    try:
        return _opened(settings, storage_options)
    except ModuleNotFoundError as error:
        raise InvalidRequestError(
            f"A sync to {settings.kind.value} needs the package {error.name}, which this Python does not have.",
            hint="Install airflow-provider-hudi[catalogs].",
        ) from error


def _opened(settings: CatalogSettings, storage_options: Mapping[str, str]) -> Catalog:
    # Imported here because each client needs a package of its own.
    if settings.kind is CatalogKind.GLUE:
        from hudi_table_services.storage.catalogs.glue import GlueCatalog

        return GlueCatalog.open(settings, storage_options)
    from hudi_table_services.storage.catalogs.hive_metastore import HiveMetastore

    return HiveMetastore.open(settings)
