"""Traces of the bucket index in a table: bucket numbers in file ids, and folders (BucketIdentifier, Hudi 0.15 and 1.2).

Hudi's simple bucket index assigns each key to a bucket by its hash, and each bucket of a partition to one file group.
The first eight characters of the file id are the decimal number of the bucket; the rest is a random UUID, and ``-0``.
Hudi stores neither the index type nor the number of buckets in a file of the table, so these ids are their only trace.
"""

import re
from collections.abc import Collection

CONSISTENT_HASHING_FOLDER = ".hoodie/.bucket_index/consistent_hashing_metadata"
"""Folder in which Hudi stores the buckets of each partition (HoodieTableMetaClient, Hudi 0.15 and 1.2)."""

PARTITION_BUCKETS_FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta"
"""Folder with numbers of buckets that differ between partitions (PartitionBucketIndexHashingConfig, Hudi 1.2)."""

_BUCKET_ID = re.compile(r"000[0-9]{5}-")
"""File ids with a bucket number below `MAX_INDEX_BUCKETS`. About one random UUID of 43000 begins in the same way."""
_NUMBER_LENGTH = 8


def has_bucket_ids(file_ids: Collection[str]) -> bool:
    """Whether all file ids begin with a bucket number; False if there are no file ids."""
    return bool(file_ids) and all(_BUCKET_ID.match(file_id) for file_id in file_ids)


def bucket_number(file_id: str) -> int | None:
    """Return the number of the bucket with which a file id begins; None if it begins with another text."""
    return int(file_id[:_NUMBER_LENGTH]) if _BUCKET_ID.match(file_id) else None


def with_bucket_number(file_id: str, number: int) -> str:
    """Return the id of a file group of this bucket: the number, and the given id without its first characters."""
    return f"{number:0{_NUMBER_LENGTH}d}{file_id[_NUMBER_LENGTH:]}"
