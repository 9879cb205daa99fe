"""Make the golden files with a real Hudi release. Run this script once per release, with PySpark 3.5.

    python make_golden.py --jar <bundle 0.15.0> --versions 6 --base /data/hudi-0.15.0 --out hudi-0.15.0
    python make_golden.py --jar <bundle 1.2.0> --versions 6 8 9 --base /data/hudi-1.2.0 --out hudi-1.2.0

Hudi writes the base path into plans, so `--base` must be a folder whose name may be published. Each run makes
new instants and new file ids; the tests expect no particular instants or file ids.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

COMMON = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "region",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}
MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.compact.inline": "false"}
PER_COMMIT_CLEANING = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.commits.retained": "1"}

# Hudi hashes a key in blocks of bytes, and then the remaining bytes. Every possible number of remaining bytes occurs
# among these keys. The remaining bytes of some keys are not palindromes, so the order of the bytes affects the hash.
# Some bytes are above 127; Hudi's hash treats these bytes as negative numbers.
BLOOM_KEYS = [
    f"{stem}{number}" for number in range(60) for stem in ("k", "key", "trip:é", "дж-", "東京", "ab/c=%")
]
OTHER_KEYS = [f"absent-{number}" for number in range(200)]


@dataclass(frozen=True)
class Run:
    spark: SparkSession
    base: Path
    out: Path
    version: str

    def rows(self, ids: range, ts: int) -> DataFrame:
        rows = [(f"r{i:02d}", ts, ("north", "south")[i % 2], i * 1.5, f"näme-{i}") for i in ids]
        return self.spark.createDataFrame(
            rows, "id string, ts bigint, region string, fare double, name string"
        )

    def write(
        self, rows: DataFrame, table: str, operation: str, options: dict[str, str] | None = None
    ) -> None:
        settings = COMMON | {
            "hoodie.table.name": table,
            "hoodie.write.table.version": self.version,
            "hoodie.datasource.write.operation": operation,
        }
        rows = rows.coalesce(1)
        rows.write.format("hudi").options(**settings | (options or {})).mode("append").save(
            str(self.base / table)
        )

    def call(self, table: str, procedure: str) -> None:
        self.spark.sql(f"create table if not exists {table} using hudi location '{self.base / table}'")
        self.spark.sql(f"call {procedure}").collect()

    def timeline(self, table: str) -> Path:
        hoodie = self.base / table / ".hoodie"
        return hoodie / "timeline" if (hoodie / "timeline").is_dir() else hoodie

    def latest(self, table: str, action: str) -> str:
        names = sorted(
            path.name for path in self.timeline(table).iterdir() if path.name.endswith(f".{action}")
        )
        return names[-1].partition(".")[0].partition("_")[0]

    def keep(self, table: str) -> None:
        """Copy the small files that contain no rows: the properties, one partition metafile and the timeline."""
        target = self.out / f"v{self.version}" / table
        shutil.rmtree(target, ignore_errors=True)
        (target / "timeline").mkdir(parents=True)
        for path in self.timeline(table).iterdir():
            if path.is_file() and path.name[0].isdigit():
                shutil.copyfile(path, target / "timeline" / path.name)
        shutil.copyfile(self.base / table / ".hoodie" / "hoodie.properties", target / "hoodie.properties")
        metafile = next((self.base / table).glob("*/.hoodie_partition_metadata"))
        shutil.copyfile(metafile, target / "partition_metadata")


def commits(run: Run) -> None:
    run.write(run.rows(range(6), 1), "commits", "insert")
    run.write(run.rows(range(4, 8), 2), "commits", "upsert")
    run.write(run.rows(range(10, 12), 3), "commits", "insert_overwrite")
    run.keep("commits")


def services(run: Run) -> None:
    run.write(run.rows(range(6), 1), "services", "insert")
    run.write(run.rows(range(4), 2), "services", "upsert")
    run.write(run.rows(range(4), 3), "services", "upsert")
    run.call("services", "run_clean(table => 'services', retain_commits => 1)")
    run.write(
        run.rows(range(20, 24), 4),
        "services",
        "bulk_insert",
        {"hoodie.datasource.write.row.writer.enable": "false"},
    )
    saved = run.latest("services", "commit")
    run.call(
        "services",
        f"create_savepoint(table => 'services', commit_time => '{saved}', user => 'golden', comments => 'before')",
    )
    run.write(run.rows(range(3), 5), "services", "upsert")
    undone = run.latest("services", "commit")
    run.call("services", f"rollback_to_instant(table => 'services', instant_time => '{undone}')")
    run.call("services", "run_clustering(table => 'services', op => 'scheduleAndExecute', order => 'ts')")
    run.keep("services")


def restore(run: Run) -> None:
    run.write(run.rows(range(6), 1), "restored", "insert")
    saved = run.latest("restored", "commit")
    run.call(
        "restored",
        f"create_savepoint(table => 'restored', commit_time => '{saved}', user => 'golden', comments => 'here')",
    )
    run.write(run.rows(range(4), 2), "restored", "upsert")
    run.call("restored", f"rollback_to_savepoint(table => 'restored', instant_time => '{saved}')")
    run.keep("restored")


def compaction(run: Run) -> None:
    run.write(run.rows(range(6), 1), "logs", "insert", MERGE_ON_READ)
    run.write(run.rows(range(4), 2), "logs", "upsert", MERGE_ON_READ)
    run.call(
        "logs",
        "run_compaction(table => 'logs', op => 'schedule', options => 'hoodie.compact.inline.max.delta.commits=1')",
    )
    run.keep("logs")


def bloom_filters(run: Run) -> None:
    """Make three files with different filters.

    The filters are a dynamic filter of several rows (simple filters), a dynamic filter of one row, and a simple filter.
    """
    sizes = {
        "many_rows": ("DYNAMIC_V0", "100", "400"),
        "one_row": ("DYNAMIC_V0", "500", "1000"),
        "plain": ("SIMPLE", "400", "400"),
    }
    for name, (kind, entries, most) in sizes.items():
        table = f"bloom_{name}"
        rows = [(key, 1, "all") for key in BLOOM_KEYS]
        options = {
            "hoodie.bloom.index.filter.type": kind,
            "hoodie.index.bloom.num_entries": entries,
            "hoodie.bloom.index.filter.dynamic.max.entries": most,
            "hoodie.index.bloom.fpp": "0.000001",
        }
        run.write(
            run.spark.createDataFrame(rows, "id string, ts int, region string"), table, "insert", options
        )
        keep_bloom_filter(run, table, options)


def keep_bloom_filter(run: Run, table: str, options: dict[str, str]) -> None:
    (path,) = (run.base / table).glob("all/*.parquet")
    file = pq.ParquetFile(path)
    footer = {key.decode(): value.decode() for key, value in file.metadata.metadata.items()}
    document = {
        "options": options,
        "footer": {key: value for key, value in footer.items() if key != "parquet.avro.schema"},
        # The rows are in the order in which Hudi added their keys to the filter. This order determines which row
        # of a dynamic filter (a matrix) contains a key.
        "keys": file.read(["_hoodie_record_key"])["_hoodie_record_key"].to_pylist(),
        "other_keys": OTHER_KEYS,
    }
    target = run.out / f"v{run.version}" / f"{table}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


RECIPES: tuple[Callable[[Run], None], ...] = (commits, services, restore, compaction, bloom_filters)


def session(jar: str) -> SparkSession:
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
        .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.driver.extraJavaOptions", "-Duser.timezone=UTC -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        )
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.default.parallelism", "1")
        .config("spark.ui.enabled", "false")
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def pin(spark: SparkSession, version: str) -> None:
    # Procedures read their settings from the session. Without these settings a 1.x release upgrades the table first.
    for key in ("hoodie.write.auto.upgrade", "hoodie.metadata.enable", "hoodie.clean.automatic"):
        spark.sql(f"set {key}=false")
    spark.sql(f"set hoodie.write.table.version={version}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jar", required=True)
    parser.add_argument("--versions", nargs="+", required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    spark = session(arguments.jar)
    for version in arguments.versions:
        base = arguments.base / f"v{version}"
        shutil.rmtree(base, ignore_errors=True)
        pin(spark, version)
        run = Run(spark, base, arguments.out, version)
        # Only the files of `commits` differ between table versions. The other recipes run once, for the last version.
        for recipe in RECIPES if version == arguments.versions[-1] else RECIPES[:1]:
            print(f"{arguments.out.name} v{version}: {recipe.__name__}", flush=True)
            recipe(run)
    spark.stop()


if __name__ == "__main__":
    main()
