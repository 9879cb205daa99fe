"""Read a table with each system, and prepare the tables that are read."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions

from bench.clustering import cluster
from bench.read_cases import ReadCase, ReadTable
from bench.scenarios import KEY_COLUMNS, LINEITEM, SHIP_YEAR, Clustering, Operation, System
from bench.writers import OurWriter

_MIB = 1 << 20
_QUERY_TYPE = "hoodie.datasource.query.type"
_BEGIN = "hoodie.datasource.read.begin.instanttime"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJob:
    """The work of a measured process, passed as JSON on its command line.

    Attributes:
        case: name of the read. Empty if the process only prepares the table with the name `prepares` in `table`.
    """

    system: str
    case: str = ""
    prepares: str = ""
    inputs: str
    first_input: str = LINEITEM
    table: str
    warm_up_table: str = ""
    scratch: str
    cores: int
    driver_memory: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "ReadJob":
        return cls(**json.loads(text))


def prepare_table(spark: SparkSession, made: ReadTable, inputs: Path, first_input: str, table: Path) -> None:
    """Write the table with this engine, so that all systems read the same files."""
    writer = OurWriter(spark, made.options)
    writer.write(inputs / first_input, table, Operation.INSERT, SHIP_YEAR)
    for name in made.updates:
        writer.write(inputs / name, table, Operation.UPSERT, SHIP_YEAR)
    if made.sorted_by:
        clustering = Clustering(tasks=1, columns=(made.sorted_by,), target_bytes=64 * _MIB)
        cluster(System.OURS, spark, table, clustering)


def with_key(case: ReadCase, first_input: Path) -> ReadCase:
    """Return a case with the key of the middle row of a table's first input, if the case finds a key."""
    if not case.finds_a_key:
        return case
    rows = pq.read_table(first_input, columns=list(KEY_COLUMNS))
    row = rows.slice(rows.num_rows // 2, 1).to_pylist()[0]
    return replace(case, filters=(*case.filters, *((name, "=", row[name]) for name in KEY_COLUMNS)))


def open_frame(system: System, spark: SparkSession, table: Path, case: ReadCase) -> DataFrame:
    """Return the rows of the case as a DataFrame of one system."""
    if system is System.OURS:
        return _with_engine(spark, table, case)
    if system is System.HUDI:
        frame = spark.read.format("hudi").options(**_hudi_options(table, case)).load(str(table))
    else:
        # Spark finds a partition column in paths of Hive's form. Here, the files contain the column.
        frame = spark.read.parquet(*_newest_files(table))
    for column, comparison, value in case.filters:
        frame = frame.filter(f"{column} {comparison} {value}")
    return frame.select(*case.columns)


def read_all(frame: DataFrame) -> None:
    """Read all rows of the frame, and drop them."""
    frame.write.format("noop").mode("overwrite").save()


def content_of(frame: DataFrame) -> tuple[int, int]:
    """Return the number of rows, and the sum of a hash of each row."""
    row = frame.agg(
        functions.count("*"), functions.sum(functions.xxhash64(*frame.columns).cast("decimal(38,0)"))
    ).first()
    assert row is not None
    return int(row[0]), int(row[1] or 0)


def _with_engine(spark: SparkSession, table: Path, case: ReadCase) -> DataFrame:
    from hudi_table_services.reading.read_table import read_table

    options = {}
    if case.is_incremental:
        options = {_QUERY_TYPE: "incremental", _BEGIN: _begin_of_newest(table)}
    return read_table(spark, str(table), options, columns=case.columns, filters=case.filters)


def _hudi_options(table: Path, case: ReadCase) -> dict[str, str]:
    if case.is_incremental:
        return {_QUERY_TYPE: "incremental", _BEGIN: _begin_of_newest(table)}
    has_index = case.table == "indexed"
    return {"hoodie.metadata.enable": str(has_index).lower(), "hoodie.enable.data.skipping": "true"}


def _begin_of_newest(table: Path) -> str:
    """Return the begin of the window that contains only the newest commit: the time of the commit before."""
    from hudi_table_services.storage.stores.local import LocalStorage
    from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

    snapshot = load_snapshot(LocalStorage(str(table)), ())
    times = sorted(instant.visible_from for instant in snapshot.timeline.completed_writes)
    return times[-2]


def _newest_files(table: Path) -> list[str]:
    from hudi_table_services.storage.stores.local import LocalStorage
    from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

    slices = load_snapshot(LocalStorage(str(table))).all_slices
    return [str(table / path) for each in slices if (path := each.base_file_path) is not None]
