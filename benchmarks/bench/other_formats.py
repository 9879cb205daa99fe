"""Write and rewrite tables of Delta Lake and Apache Iceberg: append, MERGE, OPTIMIZE, rewrite_data_files."""

from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from bench.scenarios import KEY_COLUMNS, SHIP_YEAR, Clustering, Operation, System


class OtherFormat(Protocol):
    """Tables of one format."""

    def open(self, table: Path) -> None:
        """Prepare the session for a table that may not exist yet, so that this does not count as time of a write."""

    def write(self, source: Path, table: Path, operation: Operation, partition_by: str | None) -> None:
        """Append the rows of a source or, for an upsert, merge them. Create the table if it does not exist."""

    def write_small_files(self, source: Path, table: Path, tasks: int) -> None:
        """Create a table so that each of `tasks` Spark tasks writes a separate file in every partition."""

    def rewrite(self, table: Path, clustering: Clustering) -> None:
        """Rewrite all files of a table."""


class DeltaTables:
    """Tables of Delta Lake. The rows are first shuffled by partition, so that Delta writes one file per partition."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def open(self, table: Path) -> None:
        """Delta addresses tables by their paths, so there is nothing to prepare."""

    def write(self, source: Path, table: Path, operation: Operation, partition_by: str | None) -> None:
        rows = self._spark.read.parquet(str(source))
        if operation is Operation.UPSERT and table.exists():
            _merge(rows, f"delta.`{table}`", partition_by)
            return
        writer = rows.write
        if partition_by is not None:
            writer = rows.repartition(partition_by).write.partitionBy(partition_by)
        writer.format("delta").mode("append").save(str(table))

    def write_small_files(self, source: Path, table: Path, tasks: int) -> None:
        rows = self._spark.read.parquet(str(source)).repartition(tasks)
        rows.write.format("delta").partitionBy(SHIP_YEAR).mode("append").save(str(table))

    def rewrite(self, table: Path, clustering: Clustering) -> None:
        order = f" ZORDER BY ({', '.join(clustering.columns)})" if clustering.columns else ""
        self._spark.sql(f"OPTIMIZE delta.`{table}`{order}").collect()


class IcebergTables:
    """Tables of Apache Iceberg in a catalog of folders, with Iceberg's default properties."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def open(self, table: Path) -> None:
        catalog = self._name(table).partition(".")[0]
        self._spark.sql(f"SHOW NAMESPACES IN {catalog}").collect()

    def write(self, source: Path, table: Path, operation: Operation, partition_by: str | None) -> None:
        rows = self._spark.read.parquet(str(source))
        name = self._name(table)
        if operation is Operation.UPSERT and table.exists():
            _merge(rows, name, partition_by)
        elif table.exists():
            rows.writeTo(name).append()
        else:
            writer = rows.writeTo(name).using("iceberg")
            (writer.partitionedBy(partition_by) if partition_by else writer).create()  # type: ignore[arg-type]

    def write_small_files(self, source: Path, table: Path, tasks: int) -> None:
        rows = self._spark.read.parquet(str(source)).repartition(tasks)
        writer = rows.writeTo(self._name(table)).using("iceberg").partitionedBy(SHIP_YEAR)  # type: ignore[arg-type]
        # Without these properties, Iceberg shuffles the rows, and writes one file in each partition.
        writer = writer.tableProperty("write.distribution-mode", "none")
        writer.tableProperty("write.spark.fanout.enabled", "true").create()

    def rewrite(self, table: Path, clustering: Clustering) -> None:
        catalog, _, name = self._name(table).partition(".")
        arguments = [f"table => '{name}'", "options => map('rewrite-all', 'true')"]
        if clustering.columns:
            arguments += ["strategy => 'sort'", f"sort_order => '{', '.join(clustering.columns)}'"]
        self._spark.sql(f"CALL {catalog}.system.rewrite_data_files({', '.join(arguments)})").collect()

    def _name(self, table: Path) -> str:
        """Return the name of a table whose folder is `table`; each grandparent folder has a catalog of its own."""
        warehouse = table.parent.parent
        catalog = "at" + "".join(c if c.isalnum() else "_" for c in str(warehouse))
        settings = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "hadoop",
            ".warehouse": str(warehouse),
        }
        for key, value in settings.items():
            self._spark.conf.set(f"spark.sql.catalog.{catalog}{key}", value)
        return f"{catalog}.`{table.parent.name}`.`{table.name}`"


def _merge(rows: DataFrame, table: str, partition_by: str | None) -> None:
    """Change the rows with equal keys in the same partition, and insert the others."""
    rows.createOrReplaceTempView("changes")
    columns = (*KEY_COLUMNS, *((partition_by,) if partition_by else ()))
    same = " AND ".join(f"t.{name} = s.{name}" for name in columns)
    rows.sparkSession.sql(
        f"MERGE INTO {table} t USING changes s ON {same} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()


def other_format(system: System, spark: SparkSession) -> OtherFormat | None:
    """Return the tables of a system, or None if the system does not write Delta's or Iceberg's format."""
    match system:
        case System.DELTA:
            return DeltaTables(spark)
        case System.ICEBERG:
            return IcebergTables(spark)
    return None
