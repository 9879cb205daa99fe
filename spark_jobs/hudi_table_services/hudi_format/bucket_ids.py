"""Traces of the bucket index in a table: bucket numbers in file ids, and folders (BucketIdentifier, Hudi 0.15 and 1.2).

Hudi's simple bucket index assigns each key to a bucket by its hash, and each bucket of a partition to one file group.
The file id is a random UUID followed by ``-0``; the decimal number of the bucket replaces its first eight characters.
Hudi stores neither the index type nor the number of buckets in a file of the table, so these file ids are the only
trace of a simple bucket index.
"""

import re
from collections.abc import Collection

CONSISTENT_HASHING_FOLDER = ".hoodie/.bucket_index/consistent_hashing_metadata"
"""Folder in which Hudi stores the buckets of each partition (HoodieTableMetaClient, Hudi 0.15 and 1.2)."""

PARTITION_BUCKETS_FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta"
"""Folder with numbers of buckets that differ between partitions (PartitionBucketIndexHashingConfig, Hudi 1.2)."""

_BUCKET_ID = re.compile(r"000[0-9]{5}-")
"""File ids with a bucket number below `MAX_INDEX_BUCKETS`. About one of 43000 random UUIDs matches by chance."""
_NUMBER_LENGTH = 8


def has_bucket_ids(file_ids: Collection[str]) -> bool:
    """Whether all file ids begin with a bucket number; False if there are no file ids."""
    return bool(file_ids) and all(_BUCKET_ID.match(file_id) for file_id in file_ids)


def bucket_number(file_id: str) -> int | None:
    """Return the bucket number at the beginning of a file id; None if the file id begins with another text."""
    return int(file_id[:_NUMBER_LENGTH]) if _BUCKET_ID.match(file_id) else None


def with_bucket_number(file_id: str, number: int) -> str:
    """Return the given file id with the number of the bucket instead of its first eight characters."""
    return f"{number:0{_NUMBER_LENGTH}d}{file_id[_NUMBER_LENGTH:]}"
