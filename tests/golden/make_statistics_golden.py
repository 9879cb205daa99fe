"""Make the golden statistics with a real Hudi release: one run per release, in an environment with PySpark 3.5.

    python make_statistics_golden.py --jar <bundle 0.15.0> --version 6 --base /data/hudi-0.15.0 --out hudi-0.15.0
    python make_statistics_golden.py --jar <bundle 1.0.2> --version 8 --base /data/hudi-1.0.2 --out hudi-1.0.2
    python make_statistics_golden.py --jar <bundle 1.2.0> --version 9 --base /data/hudi-1.2.0 --out hudi-1.2.0

The outcome is ``v<table version>/column_statistics.tar.xz``: the data files of a table, what its metadata table says
about them (``metadata_table/``), the completed commits (``timeline/``) and the index definitions (``index.json``). The
table has three inserts: into north and south, into a new file group of north, and into east (rows with NaN).
"""

import argparse
import datetime
import decimal
import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from make_golden import COMMON, session
from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "id string, ts bigint, flag boolean, count int, fare double, weight float, price decimal(20,2), day date, "
    "at timestamp, raw binary, name string, nothing string, region string, "
    "inner struct<depth int, label string>, tags array<string>"
)
OPTIONS = COMMON | {
    "hoodie.table.name": "statistics",
    "hoodie.datasource.write.operation": "insert",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
    # Without the timeline server, Hudi 1.2.0 fails to read its own metadata table while it writes statistics of
    # partitions.
    "hoodie.embed.timeline.server": "true",
}
PARTITIONS = ("files", "column_stats", "partition_stats")


def rows(spark: SparkSession, ids: range, regions: tuple[str, ...], nan_at: int | None = None) -> DataFrame:
    moment = datetime.datetime(2024, 1, 21, 3, 4, 5, 678901)
    made = [
        (
            f"r{i:02d}",
            i + 100,
            i % 2 == 0,
            i * 7 - 20,
            float("nan") if i == nan_at else i * 1.5 - 2,
            i / 4,
            decimal.Decimal(i * 1234 - 5000) / 100,
            datetime.date(1969, 12, 28) + datetime.timedelta(days=i * 3),
            moment + datetime.timedelta(hours=i),
            bytes([i, 255 - i]),
            f"näme-{i}-\U0001f600" if i % 3 else None,
            None,
            regions[i % len(regions)],
            (i, f"l{i}"),
            ["x", f"t{i}"],
        )
        for i in ids
    ]
    return spark.createDataFrame(made, SCHEMA).coalesce(1)


def kept_files(base: Path) -> Iterator[tuple[str, Path]]:
    hoodie = base / ".hoodie"
    for path in sorted(base.glob("[!.]*/*.parquet")):
        yield str(path.relative_to(base)), path
    for partition in PARTITIONS:
        folder = hoodie / "metadata" / partition
        for path in (*sorted(folder.glob(".*.log.*")), *sorted(folder.glob("*.hfile"))):
            if not path.name.endswith(".crc"):
                yield f"metadata_table/{partition}/{path.name}", path
    for path in sorted([*hoodie.glob("*.commit"), *hoodie.glob("timeline/*.commit")]):
        yield f"timeline/{path.name}", path
    if (definitions := hoodie / ".index_defs" / "index.json").exists():
        yield "index.json", definitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--version", required=True, type=int)
    parser.add_argument("--base", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    base = arguments.base / "statistics"
    shutil.rmtree(base, ignore_errors=True)
    spark = session(arguments.jar)
    options = OPTIONS | {"hoodie.write.table.version": str(arguments.version)}
    for batch in (
        rows(spark, range(6), ("north", "south")),
        rows(spark, range(10, 13), ("north",)),
        rows(spark, range(20, 23), ("east",), nan_at=21),
    ):
        batch.write.format("hudi").options(**options).mode("append").save(str(base))
    target = arguments.out / f"v{arguments.version}"
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target / "column_statistics.tar.xz", "w:xz", preset=9) as kept:
        for name, path in kept_files(base):
            info, data = tarfile.TarInfo(name), path.read_bytes()
            info.size = len(data)
            kept.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main()
