"""``.hoodie_partition_metadata``: Hudi treats a folder with this file as a partition (HoodiePartitionMetadata, 1.2)."""

from dataclasses import dataclass
from datetime import datetime

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.java_properties import java_date, load_properties, store_properties

PARTITION_METAFILE = ".hoodie_partition_metadata"

_WHAT = "partition metadata"
_COMMIT_TIME = "commitTime"
_DEPTH = "partitionDepth"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """Content of the file: the instant that created a partition, and the partition's depth.

    Attributes:
        commit_time: requested time of the instant that created the partition; ``""`` if the file contains no time.
        depth: number of folder levels from the base path to the partition; 0 for the base path itself.
    """

    commit_time: str
    depth: int


def encode_partition_metadata(commit_time: str, depth: int, now: datetime) -> bytes:
    """Encode the file.

    Args:
        commit_time: requested time of the instant that creates the partition.
        depth: number of folder levels from the base path to the partition; 0 for a table without partitions.
        now: time for the comment line, with time zone.
    """
    pairs = {_COMMIT_TIME: commit_time, _DEPTH: str(depth)}
    return store_properties(pairs, [_WHAT, java_date(now)])


def decode_partition_metadata(data: bytes) -> PartitionMetadata:
    """Decode the text form. Hudi's variant in the format of base files is not supported.

    Raises:
        MalformedMetadataError: the depth is missing or not a number.
    """
    pairs = load_properties(data, _WHAT)
    text = pairs.get(_DEPTH, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise MalformedMetadataError(f"{_WHAT}: {_DEPTH} is {text!r}, not a number.")
    return PartitionMetadata(commit_time=pairs.get(_COMMIT_TIME, ""), depth=int(text))
