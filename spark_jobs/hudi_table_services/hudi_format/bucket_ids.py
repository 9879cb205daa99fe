"""Bucket numbers in the ids of file groups (BucketIdentifier, Hudi 0.15 and 1.2).

Hudi's simple bucket index assigns each key to a bucket by its hash, and each bucket of a partition to one file group.
The first eight characters of the file id are the decimal number of the bucket; the rest is a random UUID. Hudi stores
the index type in no file of the table, so these ids are its only trace.
"""

import re
from collections.abc import Collection

_BUCKET_ID = re.compile(r"000[0-9]{5}-")
"""File ids with a bucket number below 100000. About one random UUID of 43000 begins in the same way."""


def has_bucket_ids(file_ids: Collection[str]) -> bool:
    """Whether all file ids begin with a bucket number; False if there are no file ids."""
    return bool(file_ids) and all(_BUCKET_ID.match(file_id) for file_id in file_ids)
