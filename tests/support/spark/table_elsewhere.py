"""One table, wherever its storage is, and the rows that it must contain. hudi-rs reads the table."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.service import Script
from hudi_table_services.services.writing import UPSERT
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage

Row = tuple[str, int, str]
"""Key, ordering value and partition path."""


def rows_by_hudi_rs(address: str, options: Mapping[str, str]) -> list[Row]:
    """Read the key, the ordering value and the partition of each row."""
    batches = HudiTable(address, dict(options)).read(HudiReadOptions())
    found = [row for batch in batches for row in pa.record_batch(batch).to_pylist()]
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

    Attributes:
        model: the rows that the table must contain, by key.
        scripts: file names of the scripts whose jobs ran.
        operations: operations of the writes.

    Args:
        read_rows: reads all rows of the table at a URI with another implementation.
        write_options: options of each write.
    """

    def __init__(
        self,
        spark: SparkSession,
        uri: str,
        options: Mapping[str, str],
        version: str,
        read_rows: Callable[[str], list[Row]],
        write_options: Mapping[str, str] | None = None,
    ) -> None:
        self.uri = uri
        self.model: dict[str, Row] = {}
        self.scripts: set[str] = set()
        self.operations: set[str] = set()
        self._spark, self._options, self._version, self._read_rows = spark, options, version, read_rows
        self._write_options = write_options or {}

    @property
    def storage(self) -> Storage:
        return open_storage(self.uri, self._options)

    @property
    def version(self) -> TableVersion:
        """Version of the table."""
        return TableVersion(int(self._version))

    def beside(self, name: str, write_options: Mapping[str, str] | None = None) -> "TableElsewhere":
        """Another table in the same place, which the same Spark session changes."""
        other = TableElsewhere(
            self._spark, f"{self.uri}_{name}", self._options, self._version, self._read_rows, write_options
        )
        other.scripts, other.operations = self.scripts, self.operations
        return other

    def run(self, script: Script[Any], **fields: Any) -> JobResult:
        """Run the job of a script; `fields` are fields of its request. Fail unless the job did its work."""
        request = script.request_type(base_path=self.uri, storage_options=self._options, **fields)
        result = script.run(self._spark, request)
        assert result.outcome in (Outcome.COMPLETED, Outcome.PLANNED), result
        self.scripts.add(script.file_name)
        return result

    def write(
        self, rows: Sequence[Row], operation: str = "upsert", options: Mapping[str, str] | None = None
    ) -> str:
        """Perform a write operation, and return its instant time. The caller updates the model."""
        request = UpsertRequest(
            base_path=self.uri,
            storage_options=self._options,
            table_name="t",
            operation=operation,
            record_key=("k",),
            partition_by=("p",),
            ordering_field="ts",
            options={
                "hoodie.write.table.version": self._version,
                **self._write_options,
                **(options or {}),
            },
        )
        frame = self._spark.createDataFrame(list(rows), "k string, ts bigint, p string") if rows else None
        result = upsert(self._spark, request, frame)
        assert result.outcome is Outcome.COMPLETED, result
        assert result.instant_time is not None
        self.scripts.add(UPSERT.file_name)
        self.operations.add(operation)
        return result.instant_time

    def upsert(self, rows: Sequence[Row], options: Mapping[str, str] | None = None) -> str:
        """Upsert rows into the table and the model, and return the instant time."""
        instant = self.write(rows, options=options)
        self.model |= {row[0]: row for row in rows}
        return instant

    def check(self) -> None:
        assert sorted(self._read_rows(self.uri)) == sorted(self.model.values())
