"""Every kind of job on one table, wherever its storage is. After each job, hudi-rs reads the table."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ClusteringRequest
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.run import run_clustering
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.stores.storage import Storage
from support.fixed_clock import FixedClock

Row = tuple[str, int, str]


def rows_by_hudi_rs(address: str, options: Mapping[str, str]) -> list[Row]:
    """Read the key, the ordering value and the partition of each row."""
    batches = HudiTable(address, dict(options)).read(HudiReadOptions())
    found = pa.Table.from_batches([pa.record_batch(batch) for batch in batches]).to_pylist()
    return [(row["k"], row["ts"], row["p"]) for row in found]


def rows_of_copy(storage: Storage, folder: Path) -> list[Row]:
    """Read the rows from a copy of the table in `folder`, because hudi-rs cannot read every storage."""
    shutil.rmtree(folder, ignore_errors=True)
    for stored in storage.list_files():
        target = folder / stored.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(storage.read(stored.path))
    return rows_by_hudi_rs(str(folder), {})


class TableElsewhere:
    """One table and the rows that it must contain.

    Args:
        read_rows: reads all rows of the table with another implementation.
    """

    def __init__(
        self,
        spark: SparkSession,
        uri: str,
        options: Mapping[str, str],
        version: str,
        read_rows: Callable[[], list[Row]],
    ) -> None:
        self.uri = uri
        self.model: dict[str, Row] = {}
        self._spark, self._options, self._version, self._read_rows = spark, options, version, read_rows

    @property
    def spark(self) -> SparkSession:
        return self._spark

    @property
    def place(self) -> dict[str, object]:
        return {"base_path": self.uri, "storage_options": self._options}

    def write(self, rows: Sequence[Row], *, compacts: bool = False) -> str:
        """Write rows. Archival of version 6 stops at the last compaction of the metadata table."""
        request = UpsertRequest(
            **self.place,  # type: ignore[arg-type]
            table_name="t",
            record_key=("k",),
            partition_by=("p",),
            ordering_field="ts",
            options={
                "hoodie.write.table.version": self._version,
                "hoodie.metadata.compact.max.delta.commits": "1" if compacts else "10",
            },
        )
        frame = self._spark.createDataFrame(list(rows), "k string, ts bigint, p string")
        instant = upsert(self._spark, request, frame).instant_time
        self.model |= {row[0]: row for row in rows}
        assert instant is not None
        return instant

    def check(self) -> None:
        assert sorted(self._read_rows()) == sorted(self.model.values())


def run_every_job(table: TableElsewhere) -> None:
    """Run each kind of job on a new table, and check the rows after each."""
    for number in range(4):
        table.write([("a", number, "x"), (f"b{number}", number, "y")])
    table.check()
    clustered = run_clustering(table.spark, ClusteringRequest(**table.place, sort_columns=("k",)))  # type: ignore[arg-type]
    assert clustered.outcome is Outcome.COMPLETED
    table.check()
    for number in (5, 6):
        table.write([("a", number, "x")], compacts=True)

    later = FixedClock(datetime.now(timezone.utc) + timedelta(hours=2), step=timedelta(milliseconds=1))
    cleaned = clean(CleanRequest(**table.place, commits_retained=2), clock=later)  # type: ignore[arg-type]
    assert cleaned.report is not None
    assert cleaned.report.file_count > 0
    table.check()

    bounds = {"min_commits": 3, "max_commits": 4, "options": {"hoodie.clean.commits.retained": "2"}}
    archived = archive(ArchiveRequest(**table.place, **bounds), clock=later)  # type: ignore[arg-type]
    assert archived.report is not None
    assert archived.report.archived_commits > 0
    table.check()

    kept = dict(table.model)
    saved = create_savepoint(CreateSavepointRequest(**table.place))  # type: ignore[arg-type]
    undone = table.write([("c", 1, "x")])
    rolled_back = rollback(RollbackRequest(**table.place, instants=(undone,)))  # type: ignore[arg-type]
    assert rolled_back.outcome is Outcome.COMPLETED
    table.model = dict(kept)
    table.check()

    table.write([("d", 1, "y")])
    assert saved.instant_time is not None
    restored = restore(RestoreRequest(**table.place, savepoint=saved.instant_time))  # type: ignore[arg-type]
    assert restored.outcome is Outcome.COMPLETED
    table.model = kept
    table.check()

    table.write([("e", 1, "z")])
    table.check()
    health = table_health(HealthRequest(**table.place)).report  # type: ignore[arg-type]
    assert health is not None
    assert (health.pending, health.measures["leftover_files"]) == ((), 0)
