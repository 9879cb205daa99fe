"""Random turns of real Hudi and the engine on one merge-on-read table, with models of the rows that readers must see.

New keys always go to new base files, because both writers pad no files. So each model follows from the turns alone,
except that the readers show which file groups a compaction or a clustering rewrote.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.views.table_rows import READ_OPTIMIZED as READ_OPTIMIZED_QUERY
from hudi_table_services.tables.views.table_rows import read_table_rows
from judges import hudi_rs
from judges.clusterings import call_procedure
from judges.hudi_judge import HudiJudge
from judges.merge_on_read.broken_logs import we_execute, we_schedule
from judges.merge_on_read.known_differences import HUDI_RS, TableState, reads_as_hudi
from judges.merge_on_read.shared_log_tables import READ_OPTIMIZED, SharedTable, without
from judges.oracle import Oracle
from judges.rows import KEY, ORDERING, PLAIN, Model, Row, assert_rows_equal, merged, rows_by_key, some_rows
from judges.table_files import instant_names
from support.with_logs import clusterings_here

_FIRST_KEYS, _MOST_KEYS = 24, 60
_NO_PADDING = {"hoodie.parquet.small.file.limit": "0"}
_NO_WAIT = {"hoodie.airflow.clean.floor.hours": "0"}


@dataclass(frozen=True)
class Models:
    """The rows of a snapshot query and of a read-optimised query."""

    snapshot: Model
    read_optimized: Model


class LogWalk:
    """Turns on one table.

    Args:
        seed: determines the turns.
        schema: columns of the table.
    """

    def __init__(
        self, judge: HudiJudge, base_path: Path, oracle: Oracle, *, seed: int, schema: pa.Schema = PLAIN
    ) -> None:
        self.table = SharedTable(base_path, oracle, judge, schema, _NO_PADDING)
        self.seed = seed
        self._random = random.Random(f"{oracle} {seed}")
        self._version = 1
        self._next_key = _FIRST_KEYS
        self.models = Models({}, {})
        self._before_write: Models | None = None
        self._planned: Models | None = None
        self._incremental: tuple[str, Model] | None = None
        self.turns: list[str] = []

    def __str__(self) -> str:
        return f"{self.table.oracle}, seed {self.seed}, turns: {', '.join(self.turns)}"

    # ------------------------------------------------------------------ turns

    def begin(self) -> None:
        """Create the table: with an even seed by Hudi, with an odd seed by the engine."""
        rows = self._rows_of(range(_FIRST_KEYS))
        if self.seed % 2 == 0:
            self._hudi_writes(rows, "insert")
        else:
            self.table.write(rows, "insert")
        self.models = Models(merged({}, rows), merged({}, rows))
        self.turns.append("created by Hudi" if self.seed % 2 == 0 else "created by the engine")

    def turn(self) -> str:
        """Do one random turn that is possible now, and return its name."""
        act = self._random.choice(self._possible())
        self.turns.append(act.__name__)
        self._incremental = None
        act()
        return act.__name__

    def _possible(self) -> list[Callable[[], None]]:
        writes = [
            *(2 * [self.hudi_upserts]),
            self.hudi_inserts,
            self.hudi_deletes,
            *(2 * [self.we_upsert]),
            self.we_upsert_parquet_blocks,
            self.we_insert,
            self.we_delete,
        ]
        if self.table.oracle.table_version >= 8:
            writes += [self.hudi_writes_late_rows, self.we_write_late_rows]
        services = [self.hudi_clusters, self.we_cluster, self.hudi_cleans, self.we_clean]
        if self._planned is not None:
            services += 3 * [self.hudi_executes, self.we_execute]
        elif self.models.snapshot != self.models.read_optimized:
            services += 3 * [self.hudi_schedules, self.we_schedule]
        if self._before_write is not None:
            services += 2 * [self.hudi_rolls_back, self.we_roll_back]
        return writes + services

    def hudi_upserts(self) -> None:
        rows = self._batch()
        self._write(lambda: self._hudi_writes(rows), rows)

    def hudi_inserts(self) -> None:
        rows = self._new_rows()
        self._write(lambda: self._hudi_writes(rows, "insert"), rows)

    def hudi_deletes(self) -> None:
        gone = self._stored()
        self._write(lambda: self._hudi_writes(gone, "delete"), gone, deletes=True)

    def hudi_writes_late_rows(self) -> None:
        rows = self._late_rows()
        self._write(lambda: self._hudi_writes(rows), rows, is_late=True)

    def we_upsert(self) -> None:
        rows = self._batch()
        self._write(lambda: self.table.write(rows), rows)

    def we_upsert_parquet_blocks(self) -> None:
        rows = self._batch()
        options = {"hoodie.logfile.data.block.format": "parquet"}
        self._write(lambda: self.table.write(rows, options=options), rows)

    def we_insert(self) -> None:
        rows = self._new_rows()
        self._write(lambda: self.table.write(rows, "insert"), rows)

    def we_delete(self) -> None:
        gone = self._stored()
        self._write(lambda: self.table.write(gone, "delete"), gone, deletes=True)

    def we_write_late_rows(self) -> None:
        rows = self._late_rows()
        self._write(lambda: self.table.write(rows), rows, is_late=True)

    def hudi_schedules(self) -> None:
        self.table.hudi_compacts("schedule")
        self._scheduled()

    def we_schedule(self) -> None:
        we_schedule(self.table.base_path)
        self._scheduled()

    def hudi_executes(self) -> None:
        self.table.hudi_compacts("execute")
        self._executed()

    def we_execute(self) -> None:
        we_execute(self.table.base_path)
        self._executed()

    def hudi_clusters(self) -> None:
        self._call("run_clustering", "op => 'scheduleAndExecute'")
        self._adopt_rewritten(self.models.snapshot)

    def we_cluster(self) -> None:
        storage, clock = LocalStorage(str(self.table.base_path)), SystemClock()
        columns = self._random.choice([(), ("double",), ("text", "ts")])
        clusterings_here.schedule(storage, clock, sort_columns=columns)
        clusterings_here.execute(storage, clock, options=clusterings_here.NOW)
        self._adopt_rewritten(self.models.snapshot)

    def hudi_cleans(self) -> None:
        self._call("run_clean", f"retain_commits => {self._random.randint(1, 4)}")
        self._before_write = None

    def we_clean(self) -> None:
        retained = self._random.randint(1, 4)
        clean(CleanRequest(base_path=str(self.table.base_path), commits_retained=retained, options=_NO_WAIT))
        self._before_write = None

    def hudi_rolls_back(self) -> None:
        self._call("rollback_to_instant", f"instant_time => '{self._newest_write()}'")
        self._rolled_back()

    def we_roll_back(self) -> None:
        instants = (self._newest_write(),)
        rollback(RollbackRequest(base_path=str(self.table.base_path), instants=instants))
        self._rolled_back()

    # ------------------------------------------------------------------ models

    def _write(
        self, act: Callable[[], object], rows: list[Row], *, deletes: bool = False, is_late: bool = False
    ) -> None:
        begin = max(name.partition(".")[0].rpartition("_")[2] for name in self._completed())
        act()
        self._before_write = self.models
        before = self.models
        if deletes:
            self.models = Models(without(before.snapshot, [row[KEY] for row in rows]), before.read_optimized)
            self._incremental = (begin, {})
            return
        self._incremental = (begin, merged({}, rows))
        if is_late:
            return
        in_new_files = [
            row for row in rows if row[KEY] not in before.snapshot.keys() | before.read_optimized.keys()
        ]
        self.models = Models(merged(before.snapshot, rows), merged(before.read_optimized, in_new_files))

    def _scheduled(self) -> None:
        assert self.has_pending_compaction, "no compaction was scheduled, although slices have log files"
        self._planned, self._before_write = self.models, None

    def _executed(self) -> None:
        assert not self.has_pending_compaction, "the compaction is still pending"
        planned = self._planned
        assert planned is not None
        self._planned, self._before_write = None, None
        if planned.snapshot == self.models.snapshot:
            self.models = Models(self.models.snapshot, self.models.snapshot)
        else:
            self._adopt_rewritten(planned.snapshot)

    def _adopt_rewritten(self, merged_rows: Mapping[str, Row]) -> None:
        """Take the rows of the read-optimised query as its model after base files were rewritten.

        Each row must be the earlier row, or the row of `merged_rows`; a key may disappear if `merged_rows` lacks it.
        """
        self._before_write = None
        found = rows_by_key(self.table.judge.read(self.table.base_path, READ_OPTIMIZED))
        earlier = rows_by_key(list(self.models.read_optimized.values()))
        rewritten = rows_by_key(list(merged_rows.values()))
        for key, row in found.items():
            assert row in (earlier.get(key), rewritten.get(key)), f"{self}: {key} has the row {row}"
        lost = [key for key in earlier if key not in found and key in rewritten]
        assert not lost, f"{self}: the rewritten base files lack {lost}"
        self.models = Models(self.models.snapshot, found)

    def _rolled_back(self) -> None:
        assert self._before_write is not None
        self.models, self._before_write = self._before_write, None

    @property
    def has_pending_compaction(self) -> bool:
        requested = {
            name.partition(".")[0] for name in instant_names(self.table.base_path, ".compaction.requested")
        }
        completed = {
            name.partition(".")[0].partition("_")[0]
            for name in instant_names(self.table.base_path, ".commit")
        }
        return bool(requested - completed)

    def _completed(self) -> list[str]:
        """Names of the completed delta commits, compactions and clusterings."""
        return instant_names(self.table.base_path, "commit")

    def _newest_write(self) -> str:
        return instant_names(self.table.base_path, ".deltacommit")[-1].partition(".")[0].partition("_")[0]

    # ------------------------------------------------------------------ rows

    def _rows_of(self, numbers: "range | list[int]") -> list[Row]:
        self._version += 1
        return some_rows(list(numbers), self._version, self.table.schema)

    def _batch(self) -> list[Row]:
        """Rows with stored, deleted and new keys.

        While a compaction is pending, a batch has no key that a log file has deleted: the compaction may remove the
        key from the base file, and Hudi looks for keys in base files only. In this case, Hudi writes duplicates even
        without the engine.
        """
        numbers = self._random.sample(range(_MOST_KEYS), self._random.randint(3, 12))
        rows = self._rows_of(sorted(numbers))
        if self._planned is None:
            return rows
        deleted = {*self._planned.read_optimized, *self.models.read_optimized} - self.models.snapshot.keys()
        kept = [row for row in rows if row[KEY] not in deleted]
        return kept or self._new_rows()

    def _new_rows(self) -> list[Row]:
        """Rows whose keys never existed; `_MOST_KEYS` bounds the keys of the other batches."""
        first = max(self._next_key, _MOST_KEYS)
        self._next_key = first + 4
        return self._rows_of(range(first, first + 4))

    def _stored(self) -> list[Row]:
        self._version += 1
        keys = self._random.sample(sorted(self.models.snapshot), min(4, len(self.models.snapshot)))
        return [{**self.models.snapshot[key], ORDERING: self._version} for key in keys]

    def _late_rows(self) -> list[Row]:
        """Rows whose ordering values are smaller than those of the stored rows."""
        keys = self._random.sample(sorted(self.models.snapshot), min(3, len(self.models.snapshot)))
        return [{**self.models.snapshot[key], ORDERING: 0} for key in keys]

    # ------------------------------------------------------------------ writers and readers

    def _hudi_writes(self, rows: list[Row], operation: str = "upsert") -> None:
        self.table.hudi_writes(rows, operation, parquet__small__file__limit="0")

    def _call(self, procedure: str, arguments: str) -> None:
        call_procedure(self.table.judge, self.table.base_path, procedure, arguments, self.table.oracle)

    def check(self) -> None:
        """All readers return the rows of the models."""
        table, models = self.table, self.models
        judge, base_path, who = table.judge, table.base_path, str(self)
        assert_rows_equal(judge.read(base_path), models.snapshot, f"Hudi, {who}")
        optimized = judge.read(base_path, READ_OPTIMIZED)
        assert_rows_equal(optimized, models.read_optimized, f"Hudi, read-optimised, {who}")
        if self._incremental is not None:
            begin, rows = self._incremental
            assert_rows_equal(judge.read_incremental(base_path, begin), rows, f"Hudi, incremental, {who}")
        names, storage = table.schema.names, LocalStorage(str(base_path))
        assert_rows_equal(read_table_rows(storage, columns=names), models.snapshot, f"our reader, {who}")
        ours = read_table_rows(storage, columns=names, query_type=READ_OPTIMIZED_QUERY)
        assert_rows_equal(ours, models.read_optimized, f"our reader, read-optimised, {who}")
        state = TableState(
            table_version=table.oracle.table_version, has_pending_compaction=self.has_pending_compaction
        )
        if reads_as_hudi(HUDI_RS, state):
            assert_rows_equal(hudi_rs.read_snapshot(base_path), models.snapshot, f"hudi-rs, {who}")
