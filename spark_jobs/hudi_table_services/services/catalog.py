"""The catalog sync and its script."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.catalog.catalog_sync import CatalogReport, SyncCatalogRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options
from hudi_table_services.options.keys.catalog import METASTORE_URIS
from hudi_table_services.services.flags import add_preview, table_group
from hudi_table_services.services.service import MetadataScript, Service

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_EXAMPLES = """\
examples:
  Show what a Hive Metastore lacks:
    {program} --base-path s3a://lake/flights --metastore-uris thrift://metastore:9083 --preview
  Sync a table to AWS Glue:
    {program} --base-path s3://lake/flights --catalog glue --database lake
"""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "catalog")
    group.add_argument("--catalog", choices=("hms", "glue"), help="kind of catalog; default: hms")
    group.add_argument("--database", metavar="NAME", help="database of the catalog's table; default: default")
    group.add_argument(
        "--catalog-table", metavar="NAME", help="name of the catalog's table; default: name of the table"
    )
    group.add_argument(
        "--metastore-uris",
        metavar="URIS",
        help=f"addresses of the Hive Metastore; default: {METASTORE_URIS.default}",
    )
    add_preview(group, "report what would be changed, and change nothing")


def _sync_catalog(request: SyncCatalogRequest, storage: "Storage | None") -> JobResult:
    from hudi_table_services.jobs.catalog import sync_catalog

    return sync_catalog(request, storage=storage)


SYNC_CATALOG = MetadataScript(
    file_name="sync_catalog.py",
    request_type=SyncCatalogRequest,
    description="Update a table of a Hive Metastore or of AWS Glue to the current columns and partitions of a Hudi "
    "table. Needs no Spark.",
    examples=_EXAMPLES,
    add_flags=_add_flags,
    check_options=resolve_catalog_options,
    job=_sync_catalog,
)

CATALOG_SYNC = Service(name="catalog", scripts=(SYNC_CATALOG,), report=CatalogReport)
