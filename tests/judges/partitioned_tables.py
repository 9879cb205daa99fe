"""A table with a partitioned record index, which real Hudi and the engine change in turns, and a model of its rows.

The same record keys are in several partitions, so an index that mixes partitions loses rows or writes keys twice. With
one exception, the tests give Hudi no batch that contains a key twice: Hudi 1.2.0 joins the locations from the index
with the rows by key only. With such a batch it writes rows into wrong partitions and loses rows, even if no other
writer changes the table.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    RECORD_INDEX,
    file_group_number,
    partition_of_record_index_id,
)
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.metadata_table import RecordLocation
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges import hudi_rs
from judges.concurrent_jobs import FAILURE_OF_HUDI
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.metadata_check import assert_describes_the_table
from judges.oracle import V9
from judges.rows import KEY, PARTITION, PLAIN, Row, a_row, as_table
from judges.table_files import instant_names

Place = tuple[str, str]
"""Partition and record key."""
Model = dict[Place, Row]

PARTITIONS = ("a-1", "b_2", "2024/01", "é 9")
INDEX = {
    "hoodie.metadata.enable": "true",
    # Without the server, Hudi 1.2.0 fails to read its metadata table when it writes statistics of partitions.
    "hoodie.embed.timeline.server": "true",
    "hoodie.metadata.record.level.index.enable": "true",
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
}
OUR_INDEX = {"hoodie.index.type": "RECORD_LEVEL_INDEX"}


def rows_of(partition: str, numbers: Collection[int], version: int) -> list[Row]:
    """Return one row for each number. A number gives the same key in every partition, but different values."""
    rows = [{**a_row(number, version, PLAIN), PARTITION: partition} for number in numbers]
    return [{**row, "text": None if row["text"] is None else f"{partition} {row['text']}"} for row in rows]


def merged(model: Model, rows: Sequence[Row]) -> Model:
    """The model after an upsert of rows that are not older than the stored rows."""
    return {**model, **{(row[PARTITION], row[KEY]): row for row in rows}}


def without(model: Model, rows: Sequence[Row]) -> Model:
    """The model after a delete."""
    gone = {(row[PARTITION], row[KEY]) for row in rows}
    return {place: row for place, row in model.items() if place not in gone}


class PartitionedTable:
    """One table and the rows that it should have.

    Args:
        settings: further options of all writes and procedures of Hudi.
        our_settings: further options of all writes of the engine.
    """

    def __init__(
        self,
        engine: Engine,
        judge: HudiJudge,
        base_path: Path,
        *,
        settings: Mapping[str, str] | None = None,
        our_settings: Mapping[str, str] | None = None,
    ) -> None:
        self.engine, self.judge, self.base_path = engine, judge, base_path
        self.settings, self.our_settings = dict(settings or {}), dict(our_settings or {})
        self.model: Model = {}

    # ------------------------------------------------------------------ Hudi

    def hudi_upserts(self, rows: Sequence[Row]) -> None:
        self._hudi_writes(rows, "upsert")
        self.model = merged(self.model, rows)

    def hudi_upserts_at_once(self, rows: Sequence[Row]) -> None:
        """An upsert with keys that are in several partitions of the batch."""
        self._hudi_writes(rows, "upsert", has_keys_twice=True)
        self.model = merged(self.model, rows)

    def hudi_deletes(self, rows: Sequence[Row]) -> None:
        self._hudi_writes(rows, "delete")
        self.model = without(self.model, rows)

    def hudi_overwrites(self, rows: Sequence[Row]) -> None:
        self._hudi_writes(rows, "insert_overwrite")
        partitions = {row[PARTITION] for row in rows}
        self.model = merged(self._outside(partitions), rows)

    def hudi_deletes_partition(self, partition: str) -> None:
        more = {"hoodie.datasource.write.partitions.to.delete": partition}
        rows = [row for (path, _), row in self.model.items() if path == partition]
        self._hudi_writes(rows[:1], "delete_partition", more)
        self.model = self._outside({partition})

    def hudi_clusters(self) -> None:
        self._call("run_clustering", "op => 'scheduleAndExecute'")

    def hudi_cleans(self) -> None:
        self._call("run_clean", "retain_commits => 1")

    def hudi_rolls_back(self, model: Model) -> None:
        self._call("rollback_to_instant", f"instant_time => '{self.newest()}'")
        self.model = model

    # ------------------------------------------------------------------ the engine

    def we_upsert(self, rows: Sequence[Row]) -> None:
        self._we_write(rows, "upsert")
        self.model = merged(self.model, rows)

    def we_delete(self, rows: Sequence[Row]) -> None:
        self._we_write(rows, "delete")
        self.model = without(self.model, rows)

    def we_overwrite(self, rows: Sequence[Row]) -> None:
        self._we_write(rows, "insert_overwrite")
        self.model = merged(self._outside({row[PARTITION] for row in rows}), rows)

    def we_delete_partition(self, partition: str) -> None:
        options = {"hoodie.datasource.write.partitions.to.delete": partition}
        self._we_write([], "delete_partition", options)
        self.model = self._outside({partition})

    def we_cluster(self) -> None:
        self.engine.schedule_clustering(self.base_path, sort_columns=("double",))
        self.engine.execute_clustering(self.base_path)

    def we_clean(self) -> None:
        clean(CleanRequest(base_path=str(self.base_path), commits_retained=1))

    def we_roll_back(self, model: Model) -> None:
        rollback(RollbackRequest(base_path=str(self.base_path), instants=(self.newest(),)))
        self.model = model

    # ------------------------------------------------------------------ checks

    def newest(self) -> str:
        """Requested time of the newest completed write."""
        return instant_names(self.base_path, "commit")[-1].partition(".")[0].partition("_")[0]

    def assert_as_expected(self, *, reads: bool = True) -> None:
        """All readers read the rows of the model, and the index has the place of every row and nothing else.

        Args:
            reads: whether Hudi and hudi-rs read the table.
        """
        assert_describes_the_table(self.base_path)
        found, keys = indexed_keys(self.base_path), stored_keys(self.base_path)
        assert set(keys) == set(self.model)
        assert found == keys
        if not reads:
            return
        for flag in ("false", "true"):
            options = {"hoodie.metadata.enable": flag, "hoodie.enable.data.skipping": flag}
            self._assert_rows(self.judge.read(self.base_path, options), f"Hudi with metadata: {flag}")
        self._assert_rows(hudi_rs.read_snapshot(self.base_path), "hudi-rs")

    def _assert_rows(self, read: pa.Table, who: str) -> None:
        rows = read.to_pylist()
        found = {(row[PARTITION], row[KEY]): row for row in rows}
        assert len(found) == len(rows), f"{who}: a key occurs twice in a partition"
        assert found.keys() == self.model.keys(), who
        wrong = [place for place, row in self.model.items() if {n: found[place][n] for n in row} != row]
        assert not wrong, f"{who} reads wrong values of {wrong[:5]}"

    def _outside(self, partitions: Collection[str]) -> Model:
        return {place: row for place, row in self.model.items() if place[0] not in partitions}

    # ------------------------------------------------------------------ writers

    def _hudi_writes(
        self,
        rows: Sequence[Row],
        operation: str,
        more: Mapping[str, str] | None = None,
        *,
        has_keys_twice: bool = False,
    ) -> None:
        assert has_keys_twice or len({row[KEY] for row in rows}) == len(rows), "Hudi 1.2.0 would lose rows"
        options = {
            **V9.options("t", datasource__write__operation=operation),
            **INDEX,
            **self.settings,
            **(more or {}),
        }
        self._with_retry(lambda: self.judge.write(self.base_path, as_table(rows, PLAIN), options))

    def _call(self, procedure: str, arguments: str) -> None:
        settings = {**V9.options("t"), **INDEX, **self.settings}
        self._with_retry(lambda: self.judge.call(self.base_path, procedure, arguments, settings=settings))

    def _with_retry(self, act: Any) -> None:
        try:
            act()
        except HudiRefusedError as error:
            if FAILURE_OF_HUDI not in error.trace:
                raise
            act()

    def _we_write(self, rows: Sequence[Row], operation: str, more: Mapping[str, str] | None = None) -> None:
        self.engine.write(
            self.base_path,
            as_table(rows, PLAIN),
            version=9,
            operation=operation,
            options={**OUR_INDEX, **self.our_settings, **(more or {})},
        )


def opened(base_path: Path) -> MetadataTable:
    """The metadata table."""
    storage = LocalStorage(str(base_path))
    return open_metadata_table(storage, read_table_config(storage), SystemClock())


def groups_of(base_path: Path) -> dict[str, int]:
    """Partition of the table → number of its file groups in the index."""
    counts: dict[str, int] = {}
    for found in MetadataPartition(opened(base_path), RECORD_INDEX).slices:
        path = partition_of_record_index_id(found.file_group_id.file_id)
        assert path is not None
        counts[path] = counts.get(path, 0) + 1
    return counts


def indexed_keys(base_path: Path) -> dict[Place, str]:
    """Partition and key of each record of the index → id of the file group of the table.

    Every record is in the file group that the hash of its key determines.
    """
    partition = MetadataPartition(opened(base_path), RECORD_INDEX)
    counts = groups_of(base_path)
    found: dict[Place, str] = {}
    for file_slice in partition.slices:
        file_id = file_slice.file_group_id.file_id
        path = partition_of_record_index_id(file_id) or ""
        for record in partition.records_of(file_slice, partition.changes_of(file_slice)):
            assert isinstance(record.payload, RecordLocation)
            assert record.payload.partition_path == path, (path, record)
            assert file_group_of(record.key, counts[path]) == file_group_number(file_id), record.key
            found[path, record.key] = record.payload.file_id
    return found


def stored_keys(base_path: Path) -> dict[Place, str]:
    """Partition and key of each row → id of its file group, from the live base files."""
    found: dict[Place, str] = {}
    for file_slice in load_snapshot(LocalStorage(str(base_path)), metadata_enable=False).all_slices:
        path = file_slice.base_file_path
        assert path is not None
        keys = pq.read_table(base_path / path, columns=["_hoodie_record_key"], partitioning=None)
        for key in keys.column(0).to_pylist():
            place = (file_slice.file_group_id.partition_path, key)
            assert place not in found, f"{place} is in two files"
            found[place] = file_slice.file_group_id.file_id
    return found
