"""Data files of real tables with the records of their metadata tables (`tests/golden/…/column_statistics.tar.xz`)."""

import functools
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow.parquet as pq

from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.hudi_format.metadata_table.index_definitions import decode_index_definitions
from hudi_table_services.hudi_format.metadata_table.log_file import RecordsBlock, decode_log_file
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.metadata_table import IndexDefinition, MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata
from support.metadata_table.metadata_golden import GOLDEN, RELEASES, archive_contents

METADATA_TABLE, TIMELINE = "metadata_table/", "timeline/"


@dataclass(frozen=True)
class StatisticsTable:
    """A table with three inserts.

    The first insert adds rows to the partitions north and south. The second insert adds a further file group to north.
    The third insert adds rows to east, with NaN in the column `fare`.
    """

    contents: Mapping[str, bytes]

    @property
    def data_files(self) -> dict[str, pq.ParquetFile]:
        """The data files by path."""
        return {
            name: pq.ParquetFile(io.BytesIO(data))
            for name, data in self.contents.items()
            if name.endswith(".parquet")
        }

    @property
    def commits(self) -> dict[str, CommitMetadata]:
        """The metadata of the commits by requested time."""
        return {
            name.removeprefix(TIMELINE)[:17]: decode_commit_metadata(data)
            for name, data in sorted(self.contents.items())
            if name.startswith(TIMELINE)
        }

    @property
    def column_stats_definition(self) -> IndexDefinition | None:
        data = self.contents.get("index.json")
        return None if data is None else decode_index_definitions(data)["column_stats"]

    def records(self, partition: str, instant_time: str) -> Iterator[MetadataRecord]:
        """The records that a commit wrote into a partition of the metadata table."""
        for name, data in self.contents.items():
            if not name.startswith(f"{METADATA_TABLE}{partition}/.") or ".log." not in name:
                continue
            for block in decode_log_file(data, name):
                if isinstance(block, RecordsBlock) and block.instant_time == instant_time:
                    read = RecordFormat(block.records.schema)
                    yield from (read.decode(entry) for entry in block.records.entries())


@functools.cache
def statistics_table(version: TableVersion) -> StatisticsTable:
    """The golden table of a version."""
    path = GOLDEN / f"hudi-{RELEASES[version]}" / f"v{version.value}" / "column_statistics.tar.xz"
    return StatisticsTable(archive_contents(path))
