"""The service that builds and drops the metadata table, and its script."""

import argparse
from typing import TYPE_CHECKING

from hudi_table_services.contract.metadata_table import MetadataTableReport, RebuildMetadataTableRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.options.metadata_table import resolve_metadata_table_options
from hudi_table_services.planning.metadata_table.secondary_indexes import is_secondary_index
from hudi_table_services.services.flags import add_preview, names_in, table_group
from hudi_table_services.services.service import OptionalSparkScript, Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudi_table_services.storage.stores.storage import Storage

_EXAMPLES = """\
examples:
  Show what would be built:
    {program} --base-path /data/flights --preview
  Build the metadata table that Hudi builds by default, and the indexes that the table has:
    {program} --base-path /data/flights
  Add a record index, which needs Spark:
    {program} --base-path /data/flights --partitions record_index
  Build a secondary index that the table defines, which needs Spark:
    {program} --base-path /data/flights --partitions secondary_index_city
  Drop an index, or the whole metadata table:
    {program} --base-path /data/flights --drop column_stats
    {program} --base-path /data/flights --drop all
"""


def _add_flags(parser: argparse.ArgumentParser) -> None:
    group = table_group(parser, "metadata table")
    group.add_argument(
        "--partitions",
        type=names_in,
        metavar="NAMES",
        help="partitions to build: files, column_stats, partition_stats, bloom_filters, record_index, and "
        "secondary indexes that the table defines (secondary_index_<name>); default: the partitions "
        "that Hudi builds by default, and the partitions that the table has",
    )
    group.add_argument(
        "--drop",
        type=names_in,
        metavar="NAMES",
        help="partitions to drop before the build, or all; with --drop alone, the job builds nothing",
    )
    add_preview(group, "report what would be dropped and built, and write nothing")


def _rebuild(
    spark: "SparkSession | None", request: RebuildMetadataTableRequest, storage: "Storage | None"
) -> JobResult:
    from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table

    return rebuild_metadata_table(request, spark=spark, storage=storage)


def _check_table(request: RebuildMetadataTableRequest, _: bool) -> None:
    from hudi_table_services.jobs.metadata_table.rebuild_check import check_table

    check_table(request)


def _wants_spark(request: RebuildMetadataTableRequest) -> bool:
    needs_spark = any(name == RECORD_INDEX or is_secondary_index(name) for name in request.partitions)
    return needs_spark and not request.preview


REBUILD_METADATA_TABLE = OptionalSparkScript(
    file_name="rebuild_metadata_table.py",
    request_type=RebuildMetadataTableRequest,
    description="Build the metadata table of a Hudi table from the files of the table, or drop it. Only the record "
    "index and secondary indexes need Spark.",
    examples=_EXAMPLES,
    add_flags=_add_flags,
    check_options=resolve_metadata_table_options,
    before_spark=_check_table,
    job=_rebuild,
    wants_spark=_wants_spark,
)

METADATA_TABLE_BUILDS = Service(
    name="metadata_table", scripts=(REBUILD_METADATA_TABLE,), report=MetadataTableReport
)
