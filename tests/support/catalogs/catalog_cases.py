"""Settings and a schema for tests of the catalog sync."""

from dataclasses import replace
from typing import Any

from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.model.catalog.catalog_settings import CatalogSettings
from hudi_table_services.model.schema import (
    DATE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options

SCHEMA = StructType(
    (
        Field("Id", LONG, nullable=False),
        Field("city", STRING, doc="where it happened"),
        Field("amount", DecimalType(10, 2)),
        Field("seen_at", TIMESTAMP),
        Field("day", DATE),
        Field("tags", ArrayType(STRING)),
        Field("counts", MapType(INT)),
        Field("inner", StructType((Field("A", INT), Field("b", ArrayType(StructType((Field("c", LONG),))))))),
    )
)


def settings(location: str = "s3://lake/trips", **options: str) -> CatalogSettings:
    """Settings with options, written without ``hoodie.datasource.hive_sync.``."""
    named = {f"hoodie.datasource.hive_sync.{key}": value for key, value in options.items()}
    request = SyncCatalogRequest(base_path="/t", options=named)
    return replace(resolve_catalog_options(request).catalog, location=location)


def changed(value: CatalogSettings, **fields: Any) -> CatalogSettings:
    return replace(value, **fields)
