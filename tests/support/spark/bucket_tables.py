"""Tables with a bucket index that the write job changes without Spark, and the buckets that Java computes."""

from pathlib import Path
from typing import Any

from hudi_table_services.hudi_format.bucket_ids import bucket_number
from judges.hudi_rs import read_records
from support.spark.log_tables import LogTable, Row, new_log_table

BUCKETS = 4
INDEX = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": str(BUCKETS)}
SIMPLE = {"hoodie.index.type": "SIMPLE"}


def new_bucket_table(base_path: Path, table_type: str, version: int, **options: str) -> LogTable:
    """A table that the first write creates. Its record key is the column `k`."""
    made = new_log_table(base_path, version, hoodie__table__type=table_type, **options)
    made.options = {**made.options, **INDEX}
    return made


def java_bucket(*parts: str | None, count: int = BUCKETS) -> int:
    """``(Arrays.asList(parts).hashCode() & Integer.MAX_VALUE) % count`` for parts of ASCII characters."""
    total = 1
    for part in parts:
        of_part = 0
        for character in part or "":
            of_part = (31 * of_part + ord(character)) % 2**32
        total = (31 * total + of_part) % 2**32
    return total % 2**31 % count


def stored_buckets(table: LogTable) -> dict[str, int | None]:
    """Map each record key to the number in the id of the file group that has its row, as hudi-rs reads the table."""
    return {row["_hoodie_record_key"]: bucket_number(row["_hoodie_file_name"]) for row in records(table)}


def records(table: LogTable) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_records(table.base_path).to_pylist()
    return found


def assert_buckets(table: LogTable, count: int = BUCKETS) -> None:
    """Every row is in the file group of its bucket, and each bucket of a partition has one file group."""
    found = stored_buckets(table)
    assert found == {key: java_bucket(key, count=count) for key in found}
    groups = [
        (s.file_group_id.partition_path, bucket_number(s.file_group_id.file_id)) for s in table.slices()
    ]
    assert len(set(groups)) == len(groups)


def rows_of(*keys: str, ts: int = 1, v: str = "old") -> list[Row]:
    """One row for each key; the last digit of the key determines the partition."""
    return [(key, ts, "ab"[ord(key[-1]) % 2], v) for key in keys]
