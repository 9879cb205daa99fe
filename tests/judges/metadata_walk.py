"""Random actions of the engine and of real Hudi on one table with a metadata table, and a model of its rows."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.rollback import rollback
from judges.concurrent_jobs import FAILURE_OF_HUDI
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.metadata_readers import hudi_options
from judges.oracle import Oracle
from judges.rows import KEY, PARTITION, PLAIN, Model, Row, as_table, merged, some_rows
from judges.table_files import instant_names

PARTITIONS = tuple(f"part-{number}" for number in range(5))
_MOST_ROWS = 60
ALL_INDEXES = {
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
"""Options with which Hudi finds stored keys in a record index only, and has bloom filters."""


class Walk:
    """Actions on one table.

    Args:
        seed: determines the actions.
        settings: options of the writes and procedures of Hudi, such as its indexes. The engine gets the options about
            compaction of the metadata table.
        schema: columns of the table.
    """

    def __init__(
        self,
        engine: Engine,
        judge: HudiJudge,
        base_path: Path,
        oracle: Oracle,
        *,
        seed: int,
        settings: Mapping[str, str] | None = None,
        schema: pa.Schema = PLAIN,
    ) -> None:
        self._schema = schema
        self._engine, self.judge = engine, judge
        self.base_path, self.oracle = base_path, oracle
        self._settings = settings or {}
        self._compaction = {
            key: value for key, value in self._settings.items() if key.startswith("hoodie.metadata.compact")
        }
        self._random = random.Random(seed)
        self._version = 0
        self._before_last_write: Model | None = None
        self.model: Model = {}
        self.names: list[str] = []

    def begin(self) -> None:
        """Let Hudi create the table, so that Hudi's own settings decide about the metadata table."""
        rows = some_rows(range(_MOST_ROWS), 0, self._schema, PARTITIONS)
        self._hudi_writes(rows)
        self.model = merged({}, rows)

    def step(self) -> str:
        """Do one random action, and return its name."""
        actions: list[Callable[[], None]] = [
            self.hudi_upserts,
            self.hudi_deletes,
            self.hudi_clusters,
            self.hudi_cleans,
            self.we_upsert,
            self.we_upsert,
            self.we_insert,
            self.we_delete,
            self.we_overwrite,
            self.we_delete_a_partition,
            self.we_cluster,
            self.we_clean,
            self.we_archive,
            self.we_roll_back,
        ]
        return self._do(self._random.choice(actions))

    def _do(self, action: Callable[[], None]) -> str:
        action()
        self.names.append(action.__name__)
        return action.__name__

    # ------------------------------------------------------------------ actions

    def hudi_upserts(self) -> None:
        rows = self._rows()
        self._hudi_writes(rows)
        self._wrote(merged(self.model, rows))

    def hudi_deletes(self) -> None:
        gone = self._stored_rows()
        if gone:
            self._hudi_writes(gone, operation="delete")
            self._wrote(self._without(gone))

    def hudi_clusters(self) -> None:
        self._call("run_clustering", "op => 'scheduleAndExecute'")
        self._before_last_write = None

    def hudi_cleans(self) -> None:
        self._call("run_clean", "retain_commits => 2")
        self._before_last_write = None

    def we_upsert(self) -> None:
        rows = self._rows()
        self._we_write(rows, "upsert")
        self._wrote(merged(self.model, rows))

    def we_insert(self) -> None:
        self._version += 1
        first = 1000 + 20 * self._version
        rows = some_rows(range(first, first + 4), self._version, self._schema, PARTITIONS)
        self._we_write(rows, "insert")
        self._wrote(merged(self.model, rows))

    def we_delete(self) -> None:
        gone = self._stored_rows()
        if gone:
            self._we_write(gone, "delete")
            self._wrote(self._without(gone))

    def we_overwrite(self) -> None:
        partition = self._random.choice(PARTITIONS)
        rows = [row for row in self._rows() if row[PARTITION] == partition]
        if rows:
            self._we_write(rows, "insert_overwrite")
            kept = {key: row for key, row in self.model.items() if row[PARTITION] != partition}
            self._wrote(merged(kept, rows))

    def we_delete_a_partition(self) -> None:
        partition = self._random.choice(PARTITIONS)
        options = {"hoodie.datasource.write.partitions.to.delete": partition}
        self._we_write([], "delete_partition", options)
        self._wrote({key: row for key, row in self.model.items() if row[PARTITION] != partition})

    def we_cluster(self) -> None:
        columns = self._random.choice([(), ("double",), ("text", "ts")])
        self._engine.schedule_clustering(self.base_path, sort_columns=columns)
        self._engine.execute_clustering(self.base_path)
        self._before_last_write = None

    def we_clean(self) -> None:
        clean(CleanRequest(base_path=str(self.base_path), commits_retained=self._random.randint(1, 4)))
        self._before_last_write = None

    def we_archive(self) -> None:
        options = {"hoodie.clean.commits.retained": "4"}
        archive(ArchiveRequest(base_path=str(self.base_path), min_commits=6, max_commits=8, options=options))

    def we_roll_back(self) -> None:
        """Undo the newest action, if it is a write whose rows are known."""
        if self._before_last_write is None or not self._before_last_write:
            return
        newest = instant_names(self.base_path, "commit")[-1].partition(".")[0].partition("_")[0]
        try:
            rollback(RollbackRequest(base_path=str(self.base_path), instants=(newest,)))
        except UnsupportedTableError as error:
            if "The metadata table was compacted" not in error.message:
                raise
            self._before_last_write = None
            return
        self.model, self._before_last_write = self._before_last_write, None

    # ------------------------------------------------------------------ rows

    def _rows(self) -> list[Row]:
        """Rows with new and stored keys; the key determines the partition."""
        self._version += 1
        numbers = sorted(self._random.sample(range(_MOST_ROWS), self._random.randint(3, 20)))
        return some_rows(numbers, self._version, self._schema, PARTITIONS)

    def _stored_rows(self) -> list[Row]:
        keys = sorted(self.model)
        self._version += 1
        chosen = self._random.sample(keys, min(len(keys), self._random.randint(1, 6)))
        return [{**self.model[key], "ts": self._version} for key in chosen]

    def _without(self, gone: list[Row]) -> Model:
        keys = {row[KEY] for row in gone}
        return {key: row for key, row in self.model.items() if key not in keys}

    def _wrote(self, model: Model) -> None:
        self._before_last_write, self.model = self.model, model

    # ------------------------------------------------------------------ writers

    def _hudi_writes(self, rows: list[Row], operation: str = "upsert") -> None:
        options = {
            **hudi_options(self.oracle, datasource__write__operation=operation),
            **self._settings,
        }
        self._with_retry(lambda: self.judge.write(self.base_path, as_table(rows, self._schema), options))

    def _call(self, procedure: str, arguments: str) -> None:
        settings = {**hudi_options(self.oracle), **self._settings}
        self._with_retry(lambda: self.judge.call(self.base_path, procedure, arguments, settings=settings))

    def _with_retry(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except HudiRefusedError as error:
            if FAILURE_OF_HUDI not in error.trace:
                raise
            act()

    def _we_write(self, rows: list[Row], operation: str, options: Mapping[str, str] | None = None) -> None:
        self._engine.write(
            self.base_path,
            as_table(rows, self._schema),
            version=self.oracle.table_version,
            operation=operation,
            options={**self._compaction, **(options or {})},
        )
