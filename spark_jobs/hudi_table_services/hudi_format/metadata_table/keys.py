"""Keys of the records of the metadata table, and the file group of each key (HoodieMetadataPayload, HashID; Hudi 1.2).

The key of a record is the key of its HFile entry, as UTF-8. The keys of statistics and bloom filters consist of hashes
in base64: 64 bits for a partition path or a column, 128 bits for the name of a file.
"""

import base64
import hashlib
import re
from functools import lru_cache

from hudi_table_services.hudi_format.java_strings import hash_of_string
from hudi_table_services.hudi_format.metadata_table.xxhash64 import xxhash64

ALL_PARTITIONS = "__all_partitions__"
_ROOT = "."
_SEED = 0xFFFFFFFF_DABADABA
_CACHED_HASHES = 4096
_SEPARATOR = "$"
_NULL = "\0"
_ESCAPED = re.compile(r"[\\$\0]")
_UNESCAPED_SEPARATOR = re.compile(r"(?:[^\\$]|\\.)*(\$)", re.DOTALL)


def files_key(partition_path: str) -> str:
    """Return the key of the list of files of a partition.

    The same string is the name of the partition in the list of all partitions.
    """
    return partition_path or _ROOT


def partition_of_files_key(key: str) -> str:
    """Return the path of the partition whose list of files has this key."""
    return "" if key == _ROOT else key


def column_stats_key(column: str, partition_path: str, file_name: str) -> str:
    """Return the key of the statistics of a column in a file."""
    return _name_hash(column) + _name_hash(files_key(partition_path)) + _file_hash(file_name)


def column_stats_prefix(column: str, partition_path: str | None = None) -> str:
    """Return the common start of all keys for statistics of a column, in one partition or in all partitions.

    With a partition path, the result is also the whole key of the statistics of the column in that partition.
    """
    partition = "" if partition_path is None else _name_hash(files_key(partition_path))
    return _name_hash(column) + partition


def partition_stats_key(column: str, partition_path: str) -> str:
    """Return the key of the statistics of a column in a partition."""
    return column_stats_prefix(column, partition_path)


def bloom_filter_key(partition_path: str, file_name: str) -> str:
    """Return the key of the bloom filter of a file."""
    return _name_hash(files_key(partition_path)) + _file_hash(file_name)


def secondary_index_key(value: str | None, record_key: str) -> str:
    """Return the key of an entry of a secondary index: a value of the indexed column, and a record key."""
    return secondary_index_prefix(value) + _escaped(record_key)


def secondary_index_prefix(value: str | None) -> str:
    """Return the common start of all keys for one value of the indexed column; None stands for null."""
    return (_NULL if value is None else _escaped(value)) + _SEPARATOR


def parse_secondary_index_key(key: str) -> tuple[str | None, str]:
    """Divide the key of a secondary index entry into the value of the indexed column and the record key.

    Raises:
        ValueError: the key has no separator.
    """
    match = _UNESCAPED_SEPARATOR.match(key)
    if match is None:
        raise ValueError(f"The key {key!r} of a secondary index has no separator.")
    value, record_key = key[: match.start(1)], key[match.end(1) :]
    return None if value == _NULL else _unescaped(value), _unescaped(record_key)


def file_group_of(hashed: str, group_count: int) -> int:
    """Return the number of the file group of a key.

    Args:
        hashed: the string to hash. This is the whole key, or, in a secondary index of version V2, the start of the key
            (`secondary_index_prefix`).
        group_count: number of file groups of the partition of the metadata table, at least 1.
    """
    value = hash_of_string(hashed)
    signed = value - (1 << 32) if value >> 31 else value
    # In Java, the absolute value of the smallest integer is negative. Its remainder is then negative too, and Hudi
    # takes the absolute value of the remainder.
    return abs(signed) % group_count


@lru_cache(maxsize=_CACHED_HASHES)
def _name_hash(name: str) -> str:
    return base64.b64encode(xxhash64(name.encode(), _SEED).to_bytes(8, "big")).decode("ascii")


def _file_hash(file_name: str) -> str:
    digest = hashlib.md5(file_name.encode(), usedforsecurity=False).digest()
    return base64.b64encode(digest).decode("ascii")


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: "\\" + match[0], text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
