"""Make the golden merge-on-read tables with a real Hudi release: one run per release, with PySpark 3.5.

    python make_log_golden.py --jar <bundle 0.15.0> --version 6 --base /data/hudi-0.15.0 --out hudi-0.15.0
    python make_log_golden.py --jar <bundle 1.2.0> --version 8 --base /data/hudi-1.2.0 --out hudi-1.2.0
    python make_log_golden.py --jar <bundle 1.2.0> --version 9 --base /data/hudi-1.2.0 --out hudi-1.2.0

The outcome is ``v<table version>/log_files.tar.xz`` with one folder per table. Each folder contains the base files, log
files and timeline of the table, its properties, and ``expected.json``: the rows of each write by instant, and the rows
that Hudi returns at the end. The tables:

- `updates`: updates in Avro blocks and in Parquet blocks, deletes, rows with `_hoodie_is_deleted`, and a write that is
  rolled back;
- `compacted_logs`: two log compactions, of which the second one replaces the result of the first one;
- `ordered_by_<column>`: one row with `_hoodie_is_deleted`; each of these tables has an ordering column of
  a different type.
  Release 1.2.0 fails to write such a row if the ordering column is a date.

For tables of the last kind, the archive contains only the log files and the rows of each write. Release 1.2.0 writes
deletes of version 8 and of version 9 with the same code, so version 8 has only the first two tables.
"""

import argparse
import base64
import datetime
import decimal
import json
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from make_golden import COMMON, MERGE_ON_READ, pin, session
from make_metadata_golden import add
from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "id string, ts bigint, region string, flag boolean, count int, fare double, weight float, price decimal(20,2), "
    "day date, at timestamp, raw binary, name string, place struct<x:int,label:string>, tags array<string>, "
    "sizes map<string,bigint>, _hoodie_is_deleted boolean"
)
ORDERINGS = {
    "flag": "boolean",
    "count": "int",
    "total": "bigint",
    "weight": "float",
    "fare": "double",
    "raw": "binary",
    "name": "string",
    "day": "date",
    "price": "decimal(20,2)",
    "at": "timestamp",
}
TWO_FIELDS = "name,total"
"""Several ordering fields: only from table version 9 on."""
PARQUET_BLOCKS = {"hoodie.logfile.data.block.format": "parquet"}
LOG_COMPACTION = {
    "hoodie.log.compaction.enable": "true",
    "hoodie.log.compaction.inline": "true",
    "hoodie.log.compaction.blocks.threshold": "2",
}
KEPT = ("*.parquet", ".*.log.*")


def values(number: int, ts: int, *, is_deleted: bool = False) -> tuple[Any, ...]:
    """One row. Every fourth row has nulls."""
    has_nulls = number % 4 == 3
    return (
        f"r{number:02d}",
        ts,
        "north",
        None if has_nulls else number % 2 == 0,
        number * 7 - 20,
        number * 1.5 - ts,
        None if has_nulls else number / 4,
        decimal.Decimal(number * 1234 - 5000 * ts) / 100,
        None if has_nulls else datetime.date(1969, 12, 28) + datetime.timedelta(days=number * 3),
        datetime.datetime(1969, 12, 31, 3, 4, 5, 678901) + datetime.timedelta(hours=number * 9),
        bytes([number, 255 - number]) * ts,
        None if has_nulls else f"näme-{number}-{ts}",
        None if has_nulls else (number, None if number % 2 else f"x{number}"),
        None if has_nulls else [f"t{k}" for k in range(number % 3)],
        None if has_nulls else {f"k{k}": k * 10**10 - 5 for k in range(number % 3)},
        is_deleted,
    )


class Table:
    """One table, and the rows that were written to it."""

    def __init__(self, spark: SparkSession, base: Path, name: str, version: int) -> None:
        self.spark = spark
        self.path = base / name
        self.name = name
        self.options = (
            COMMON
            | MERGE_ON_READ
            | {
                "hoodie.table.name": name,
                "hoodie.write.table.version": str(version),
            }
        )
        self.schema = SCHEMA
        self.written: dict[str, Any] = {}
        shutil.rmtree(self.path, ignore_errors=True)

    def write(self, rows: list[tuple[Any, ...]], operation: str, more: dict[str, str] | None = None) -> None:
        options = self.options | {"hoodie.datasource.write.operation": operation} | (more or {})
        frame = self.spark.createDataFrame(rows, self.schema).coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(str(self.path))
        self.written[self.last_delta_commit()] = {"operation": operation, "rows": plain(frame)}

    @property
    def timeline(self) -> Path:
        hoodie = self.path / ".hoodie"
        return hoodie / "timeline" if (hoodie / "timeline").is_dir() else hoodie

    def last_delta_commit(self) -> str:
        """Requested time of the newest delta commit that is not a log compaction."""
        compactions = {path.name.split(".")[0] for path in self.timeline.glob("*.logcompaction.requested")}
        commits = {path.name.split(".")[0].split("_")[0] for path in self.timeline.glob("*.deltacommit")}
        return max(commits - compactions)

    def roll_back(self) -> None:
        undone = self.last_delta_commit()
        self.spark.sql(f"create table {self.name} using hudi location '{self.path}'")
        self.spark.sql(
            f"call rollback_to_instant(table => '{self.name}', instant_time => '{undone}')"
        ).collect()
        self.written[undone]["operation"] = "rolled back"

    def expected(self, *, whole: bool) -> bytes:
        document: dict[str, Any] = {"writes": self.written}
        if whole:
            document["snapshot"] = self.snapshot()
        return json.dumps(document, ensure_ascii=False, indent=1).encode()

    def snapshot(self) -> list[dict[str, Any]]:
        read = self.spark.read.format("hudi").option("hoodie.metadata.enable", "false").load(str(self.path))
        return plain(read.orderBy("id"))

    def keep(self, kept: tarfile.TarFile, patterns: Iterable[str] = KEPT, *, whole: bool = True) -> None:
        files = [path for pattern in patterns for path in self.path.rglob(pattern)]
        if whole:
            files += [path for path in self.timeline.iterdir() if path.name[0].isdigit()]
            files += [self.path / ".hoodie" / "hoodie.properties"]
        for path in sorted(files):
            if path.is_file() and path.suffix != ".crc":
                add(kept, f"{self.name}/{path.relative_to(self.path)}", path.read_bytes())
        add(kept, f"{self.name}/expected.json", self.expected(whole=whole))


def plain(frame: DataFrame) -> list[dict[str, Any]]:
    """Convert the rows to JSON values: bytes to base64, other values without a JSON type to strings."""
    return [
        {name: _plain(value) for name, value in row.asDict(recursive=True).items()} for row in frame.collect()
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, decimal.Decimal) else value


def updates(table: Table) -> None:
    table.write([values(number, 1) for number in range(10)], "insert")
    table.write([values(number, 2) for number in range(4)], "upsert")
    table.write([values(number, 2) for number in (4, 5)], "delete")
    table.write([values(6, 3, is_deleted=True), values(7, 3)], "upsert")
    table.write([values(number, 4) for number in (1, 3, 8)], "upsert", PARQUET_BLOCKS)
    table.write([values(number, 9) for number in (0, 9)], "upsert")
    table.roll_back()
    table.write([values(number, 5) for number in (2, 3)], "upsert")


def compacted_logs(table: Table) -> None:
    table.write([values(number, 1) for number in range(6)], "insert")
    table.write([values(number, 2) for number in (0, 1)], "upsert")
    table.write([values(1, 3), values(2, 3, is_deleted=True)], "upsert")
    table.write([values(3, 4)], "upsert", LOG_COMPACTION)
    table.write([values(number, 5) for number in (0, 3)], "upsert")
    table.write([values(4, 6)], "upsert", LOG_COMPACTION)
    table.write([values(0, 7)], "upsert")


def ordered(table: Table, column: str) -> None:
    """A row whose ordering value is stored in a delete record."""
    types = ", ".join(f"{name} {kind}" for name, kind in ORDERINGS.items())
    table.schema = f"id string, region string, {types}, _hoodie_is_deleted boolean"
    name = "hoodie.table.ordering.fields" if "," in column else "hoodie.datasource.write.precombine.field"
    table.options = {**table.options, "hoodie.datasource.write.precombine.field": "", name: column}
    table.options = {key: value for key, value in table.options.items() if value}
    stored = (
        True, -7, 2**40, 1.25, -0.5, b"\x00\xff", "näme", datetime.date(2024, 2, 29), decimal.Decimal("-12345.67"),
        datetime.datetime(2024, 2, 29, 3, 4, 5, 678901),
    )  # fmt: skip
    table.write([("a", "north", *stored, False)], "insert")
    table.write([("a", "north", *stored, True)], "upsert")


def make(spark: SparkSession, base: Path, version: int, kept: tarfile.TarFile) -> None:
    for recipe in (updates, compacted_logs):
        print(recipe.__name__, flush=True)
        table = Table(spark, base, recipe.__name__, version)
        recipe(table)
        table.keep(kept)
    if version == 8:
        return
    for column in [*ORDERINGS, *([TWO_FIELDS] if version == 9 else [])]:
        print("ordered by", column, flush=True)
        table = Table(spark, base, f"ordered_by_{column.replace(',', '_and_')}", version)
        try:
            ordered(table, column)
        except Exception as error:
            # Hudi cannot write ordering values of some types. The tests list these types.
            print(str(error)[:2000], flush=True)
            continue
        table.keep(kept, [".*.log.*"], whole=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jar", required=True)
    parser.add_argument("--version", type=int, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    spark = session(arguments.jar)
    pin(spark, str(arguments.version))
    target = arguments.out / f"v{arguments.version}" / "log_files.tar.xz"
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".unfinished")
    with tarfile.open(unfinished, "w:xz", preset=9) as kept:
        make(spark, arguments.base / f"v{arguments.version}", arguments.version, kept)
    unfinished.rename(target)
    spark.stop()


if __name__ == "__main__":
    main()
