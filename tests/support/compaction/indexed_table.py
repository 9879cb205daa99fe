"""Merge-on-read tables with a metadata table that contains their log files, as a writer of such tables keeps it."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_table_services.commits.commit_point import complete
from hudi_table_services.commits.table_change import new_files
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.storage.stores.paths import file_name
from hudi_table_services.storage.table_store import read_table_config, update_properties
from hudi_table_services.tables.table import TableAccess
from support.compaction.written_table import WrittenTable
from support.jobs_on_tables import later

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def build_metadata_table(
    table: WrittenTable, partitions: Collection[str], spark: "SparkSession | None" = None
) -> None:
    """Build the metadata table of a table without log files. Later delta commits of the table are added to it."""
    # The rebuild sees a copy-on-write table, because the table has no log files yet.
    update_properties(table.storage, {"hoodie.table.type": "COPY_ON_WRITE"}, table.clock)
    build = RebuildMetadataTableRequest(base_path="/t", partitions=tuple(partitions))
    rebuild_metadata_table(build, spark=spark, storage=table.storage, clock=later(0))
    update_properties(table.storage, {"hoodie.table.type": "MERGE_ON_READ"}, table.clock)
    assert set(read_table_config(table.storage).metadata_partitions) == set(partitions)

    def complete_with_metadata_table(pending: Instant, metadata: CommitMetadata) -> Instant:
        access = TableAccess(
            storage=table.storage, clock=table.clock, config=read_table_config(table.storage)
        )
        # Writers store no statistics of these log files, and the keys stay in their file groups.
        statistics = {
            stat.path: FileStatistics(
                partition_path=stat.partition_path, file_name=file_name(stat.path), row_count=0, ranges=()
            )
            for stat in metadata.write_stats
        }
        facts = replace(CollectedFacts(), statistics=statistics, keys=())
        return complete(access, pending, new_files(metadata, table.version, facts), lock=None)

    table.complete = complete_with_metadata_table
