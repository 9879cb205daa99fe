"""Estimate the size of the partitions of a new metadata table, for previews."""

from dataclasses import dataclass

from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)

# The following sizes were measured on tables that Hudi wrote. The first is the size of a base file without records: its
# schema, trailer and bloom filter. The others are sizes of records after compression.
_BYTES_OF_A_BASE_FILE = 7_000
_BYTES_OF_A_LISTED_FILE = 25
_BYTES_OF_STATISTICS = 60
_BYTES_OF_A_KEY = 25  # in a record index; an entry of a secondary index has about the same size
# The metadata table stores a bloom filter in base64. Compression reduces the base64 string by a quarter.
_COMPRESSED_BLOOM = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFacts:
    """Numbers that determine the size of a metadata table.

    Attributes:
        live_files: number of base files in the newest file slices.
        indexed_columns: number of columns with statistics.
        rows_of_a_file, bloom_bytes_of_a_file: mean numbers of a sample of base files.
    """

    data_files: int
    base_files: int
    live_files: int
    data_partitions: int
    indexed_columns: int = 0
    rows_of_a_file: float = 0.0
    bloom_bytes_of_a_file: float = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Expected number of records of a partition, and size of its base files."""

    records: int
    size_bytes: int


def estimate_partition(name: str, file_groups: int, facts: BuildFacts) -> Estimate:
    """Estimate one partition of a new metadata table.

    Args:
        name: a partition of `build_plan.BUILD_ORDER`, or a secondary index.
    """
    match name:
        case _ if name == FILES:
            records, content = facts.data_partitions + 1, facts.data_files * _BYTES_OF_A_LISTED_FILE
        case _ if name == COLUMN_STATS:
            records = facts.data_files * facts.indexed_columns
            content = records * _BYTES_OF_STATISTICS
        case _ if name == PARTITION_STATS:
            records = facts.data_partitions * facts.indexed_columns
            content = records * _BYTES_OF_STATISTICS
        case _ if name == BLOOM_FILTERS:
            records = facts.base_files
            content = int(records * facts.bloom_bytes_of_a_file * _COMPRESSED_BLOOM)
        case _:
            records = int(facts.live_files * facts.rows_of_a_file)
            content = records * _BYTES_OF_A_KEY
    return Estimate(records, content + file_groups * _BYTES_OF_A_BASE_FILE)
