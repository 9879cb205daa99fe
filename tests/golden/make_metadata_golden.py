"""Make the golden metadata tables with a real Hudi release: one run per release, in an environment with PySpark 3.5.

    python make_metadata_golden.py --jar <bundle 0.15.0> --version 6 --base /data/hudi-0.15.0 --out hudi-0.15.0
    python make_metadata_golden.py --jar <bundle 1.0.2> --version 8 --base /data/hudi-1.0.2 --out hudi-1.0.2
    python make_metadata_golden.py --jar <bundle 1.2.0> --version 9 --base /data/hudi-1.2.0 --out hudi-1.2.0

The script writes ``v<table version>/metadata_table.tar.xz``. For each partition of the metadata table, the archive
contains the newest base file of one file group and the later log files of that file group. The archive also contains
``metadata.properties``, the table's own ``table.properties``, its index definitions (``index.json``), and
``expected.json`` with the data files and the rows of the table. The run of 1.2.0 also makes ``metadata_keys.json``.
"""

import argparse
import datetime
import decimal
import io
import json
import shutil
import tarfile
from pathlib import Path

from make_golden import COMMON, session
from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "id string, ts bigint, region string, flag boolean, count int, fare double, weight float, "
    "price decimal(20,2), day date, at timestamp, raw binary, name string, nothing string"
)
INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.compact.max.delta.commits": "8",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
}
# Without the timeline server, Hudi 1.2.0 fails to read its own metadata table while it writes statistics of partitions.
TIMELINE_SERVER = {"hoodie.embed.timeline.server": "true"}
CLEANING = {"hoodie.clean.automatic": "true"}
LOG_FILES = {"files": 1, "column_stats": 1, "record_index": 2, "secondary_index_names": 2}
"""Maps a partition of the metadata table to the number of large log files to keep; other partitions keep none."""
SMALL_BYTES = 200
KEYS_VERSION = 9
ATTEMPTS = 3
"""A write of Hudi 1.2.0 that compacts the metadata table can fail, and can succeed when it is repeated."""


class Recipe:
    def __init__(self, spark: SparkSession, base: Path, version: int) -> None:
        self.spark = spark
        self.base = base
        self.version = version
        self.options = (
            COMMON
            | INDEXES
            | TIMELINE_SERVER
            | {
                "hoodie.table.name": base.name,
                "hoodie.write.table.version": str(version),
            }
        )

    def rows(self, ids: range, ts: int) -> DataFrame:
        moment = datetime.datetime(2024, 1, 21, 3, 4, 5, 678901)
        rows = [
            (
                f"r{i:02d}",
                ts,
                ("north", "south")[i % 2],
                i % 3 == 0,
                i * 7 - 20,
                i * 1.5 - 2,
                i / 4,
                decimal.Decimal(i * 1234 - 5000) / 100,
                datetime.date(1969, 12, 28) + datetime.timedelta(days=i * 3),
                moment + datetime.timedelta(hours=i),
                bytes([i, 255 - i]),
                f"näme${i}-{ts}" if i % 4 else None,
                None,
            )
            for i in ids
        ]
        return self.spark.createDataFrame(rows, SCHEMA).coalesce(1)

    def write(self, rows: DataFrame, operation: str, more: dict[str, str] | None = None) -> None:
        options = self.options | {"hoodie.datasource.write.operation": operation} | (more or {})
        for attempt in range(1, ATTEMPTS + 1):
            try:
                rows.write.format("hudi").options(**options).mode("append").save(str(self.base))
                return
            except Exception as error:
                print(f"{operation}, attempt {attempt}: {str(error)[:300]}", flush=True)
                if attempt == ATTEMPTS:
                    raise

    def sql(self, statement: str) -> None:
        for key, value in self.options.items():
            if key.startswith(("hoodie.metadata.", "hoodie.write.")):
                self.spark.sql(f"set {key}={value}")
        self.spark.sql(statement).collect()

    def run(self) -> None:
        self.write(self.rows(range(8), 1), "insert")
        self.sql(f"create table golden using hudi location '{self.base}'")
        if self.version >= 8:
            self.sql("create index names on golden (name)")
        for ts in range(2, 4):
            self.write(self.rows(range(4), ts), "upsert")
        self.compact_with_the_next(self.rows(range(2, 10), 4))
        self.write(self.rows(range(3, 5), 5), "upsert", CLEANING)
        self.write(self.rows(range(2, 5), 6), "upsert")
        self.sql(
            f"call rollback_to_instant(table => 'golden', instant_time => '{self.instant_of_last_commit()}')"
        )
        self.write(self.rows(range(5, 7), 7), "delete")

    def compact_with_the_next(self, rows: DataFrame) -> None:
        self.write(rows, "upsert", {"hoodie.metadata.compact.max.delta.commits": "1"})

    def instant_of_last_commit(self) -> str:
        hoodie = self.base / ".hoodie"
        timeline = hoodie / "timeline" if (hoodie / "timeline").is_dir() else hoodie
        names = sorted(path.name for path in timeline.iterdir() if path.name.endswith(".commit"))
        return names[-1].partition(".")[0].partition("_")[0]

    def expected(self) -> bytes:
        """Names and sizes of the data files of the table by partition, and its rows."""
        files = {
            folder.name: {path.name: path.stat().st_size for path in sorted(folder.glob("*.parquet"))}
            for folder in sorted(self.base.glob("[!.]*"))
        }
        rows = self.spark.read.format("hudi").option("hoodie.metadata.enable", "false").load(str(self.base))
        document = {"files": files, "rows": [row.asDict() for row in rows.orderBy("id").collect()]}
        return json.dumps(document, default=str, ensure_ascii=False, indent=1).encode()

    def keep(self, target: Path) -> None:
        hoodie = self.base / ".hoodie"
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(target / "metadata_table.tar.xz", "w:xz", preset=9) as kept:
            for path in sorted(kept_files(hoodie / "metadata")):
                add(kept, str(path.relative_to(hoodie / "metadata")), path.read_bytes())
            add(
                kept,
                "metadata.properties",
                (hoodie / "metadata" / ".hoodie" / "hoodie.properties").read_bytes(),
            )
            add(kept, "table.properties", (hoodie / "hoodie.properties").read_bytes())
            if (hoodie / ".index_defs").is_dir():
                add(kept, "index.json", (hoodie / ".index_defs" / "index.json").read_bytes())
            add(kept, "expected.json", self.expected())


TEXTS = (
    "", "a", "ab", "abc", "abcd", "abcde", "region=north/day=2024-01-02", "name", "_hoodie_record_key",
    "x" * 31, "x" * 32, "y" * 33, "z" * 40, "w" * 67, "ключ", "東京", "é", "k$1", "a\\b", "😀 smile",
    "long " * 30, "\0", "a\0b",
)  # fmt: skip
GROUP_COUNTS = (1, 2, 7, 10, 1000)
OF_SMALLEST_INTEGER = "polygenelubricants"
"""Java's hash of this string is the smallest integer, whose absolute value does not fit into an integer."""


def keys(spark: SparkSession) -> bytes:
    """Hashes, file groups and keys as Hudi 1.2.0 computes them."""
    java = spark.sparkContext._jvm
    hashes, metadata = java.org.apache.hudi.common.util.hash, java.org.apache.hudi.metadata
    record_index, partition_of = (
        metadata.MetadataPartitionType.RECORD_INDEX,
        java.org.apache.hudi.common.util.Option.of,
    )

    def group_id(partition: str, number: int) -> str:
        return metadata.HoodieTableMetadataUtil.getFileIDForFileGroup(
            record_index, number, "record_index", partition_of(partition)
        )

    def groups(text: str) -> list[int]:
        group_of = metadata.HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex
        return [group_of(text, count) for count in GROUP_COUNTS]

    secondary = metadata.SecondaryIndexKeyUtils.constructSecondaryIndexKey
    pairs = [(text, key) for text in TEXTS for key in ("r1", "r$1", "r\\")] + [(None, "r1")]
    document = {
        "provenance": "Results of HashID, HoodieTableMetadataUtil and SecondaryIndexKeyUtils of Apache Hudi 1.2.0, "
        "collected by make_metadata_golden.py.",
        "column_hash": {text: hashes.ColumnIndexID(text).asBase64EncodedString() for text in TEXTS},
        "file_hash": {text: hashes.FileIndexID(text).asBase64EncodedString() for text in TEXTS},
        "groups": {text: groups(text) for text in (*TEXTS, OF_SMALLEST_INTEGER)},
        "partitioned_record_index": {
            **{f"a{chr(code)}b": group_id(f"a{chr(code)}b", 3) for code in range(1, 128)},
            **{text: group_id(text, 12345) for text in ("", "é世", "2024/01/02")},
        },
        "secondary": [[value, key, secondary(value, key)] for value, key in pairs],
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def add(kept: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    kept.addfile(entry, io.BytesIO(content))


def kept_files(metadata: Path) -> list[Path]:
    """Return the files to keep from each partition of the metadata table, all of one file group.

    These are the largest base file of the newest instant, the largest log files after this base file, and all log files
    of less than `SMALL_BYTES`.
    """
    kept = []
    for partition in sorted(metadata.glob("[!.]*")):
        bases = sorted(partition.glob("*.hfile"), key=lambda path: path.name.rsplit("_", 1)[1])
        newest = [path for path in bases if path.name.rsplit("_", 1)[1] == bases[-1].name.rsplit("_", 1)[1]]
        base = max(newest, key=lambda path: path.stat().st_size)
        file_id, instant = base.name.split("_")[0], base.stem.rsplit("_", 1)[1]
        logs = [path for path in partition.glob(f".{file_id}_*.log.*") if path.suffix != ".crc"]
        behind = [path for path in logs if path.name.split("_")[1].split(".")[0] >= instant]
        by_size = sorted(behind, key=lambda path: -path.stat().st_size)
        kept += [base, *by_size[: LOG_FILES.get(partition.name, 0)]]
        kept += [path for path in logs if path.stat().st_size < SMALL_BYTES]
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jar", required=True)
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    base = arguments.base / "golden"
    shutil.rmtree(base, ignore_errors=True)
    spark = session(arguments.jar)
    recipe = Recipe(spark, base, arguments.version)
    recipe.run()
    recipe.keep(arguments.out / f"v{arguments.version}")
    if arguments.version == KEYS_VERSION:
        (arguments.out.parent / "metadata_keys.json").write_bytes(keys(spark))
    spark.stop()


if __name__ == "__main__":
    main()
