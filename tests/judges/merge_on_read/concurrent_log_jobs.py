"""A writer and the table services of the engine on a merge-on-read table, in a loop beside real Hudi."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from hudi_table_services.contract.cleaning import CleanReport, CleanRequest
from hudi_table_services.errors import CommitConflictError, HudiTableServiceError, InvalidRequestError
from hudi_table_services.jobs.cleaning.clean import clean
from judges.concurrent_jobs import CLEANING, PARTITIONS, OurWriter
from judges.engine import Engine
from judges.rows import PLAIN, Row, as_table, merged, some_rows
from support.compaction.hudi_compactions import Compactor

PARQUET_BLOCKS = {"hoodie.logfile.data.block.format": "parquet"}


class OurLogWriter(OurWriter):
    """Updates its rows in log files until `stop`, inserts rows, and deletes a row after every four updates."""

    def __init__(self, engine: Engine, base_path: Path, version: int, options: Mapping[str, str]) -> None:
        super().__init__(engine, base_path, version, options)
        self.deletes = 0

    def run(self) -> None:
        while not self._stop.is_set():
            number = self.upserts + 1
            encoding = PARQUET_BLOCKS if number % 2 else {}
            if self._has_written(self._batch(number), "upsert", encoding):
                self.model = merged(self.model, self._batch(number))
                self.upserts += 1
            if self.deletes < self.upserts // 4:
                self._delete_a_row()

    def _delete_a_row(self) -> None:
        key = min(self.model)
        if self._has_written([self.model[key]], "delete", {}):
            del self.model[key]
            self.deletes += 1

    def _has_written(self, rows: list[Row], operation: str, more: Mapping[str, str]) -> bool:
        """Write rows once; False if the write lost a conflict, so that it changed no row."""
        try:
            self._engine.write(
                self._base_path,
                as_table(rows, PLAIN),
                version=self._version,
                operation=operation,
                options={**self._options, **more},
            )
        except CommitConflictError as error:
            self.conflicts[type(error).__name__] += 1
            return False
        return True

    def _batch(self, number: int) -> list[Row]:
        """Two new rows, and updates of the rows of the two preceding batches, in two partitions."""
        numbers = range(max(0, 2 * number - 4), 2 * number + 2)
        return some_rows([self.FIRST_KEY + each for each in numbers], number, PLAIN, PARTITIONS[:2])


class LogServices:
    """Schedules and executes compactions, clusters and cleans until `stop`.

    Attributes:
        completed: number of completed jobs of each service.
        lost: number of jobs that lost a conflict, by service and error.
    """

    def __init__(self, engine: Engine, base_path: Path) -> None:
        self._engine, self._base_path = engine, base_path
        self._compactor = Compactor(engine)
        self._stop = threading.Event()
        self.completed: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()

    def stop(self) -> None:
        self._stop.set()

    @property
    def has_done_all(self) -> bool:
        return (
            self.completed["compaction"] >= 2 and min(self.completed[n] for n in ("clustering", "clean")) >= 1
        )

    def run(self) -> None:
        while not self._stop.is_set():
            for _ in range(2):
                self._try("compaction", self._compact)
            if not self._try("clustering", self._cluster):
                self._engine.cancel_clustering(self._base_path)
            self._try("clean", self._clean)
            self._stop.wait(0.05)

    def _try(self, service: str, act: Callable[[], bool]) -> bool:
        """Run a job; False if it lost a conflict with a writer."""
        try:
            self.completed[service] += act()
        except HudiTableServiceError as error:
            if not error.retryable and not isinstance(error, InvalidRequestError):
                raise
            self.lost[f"{service}: {type(error).__name__}"] += 1
            return False
        return True

    def _compact(self) -> bool:
        self._compactor.schedule(self._base_path)
        return self._compactor.execute(self._base_path).instant_time is not None

    def _cluster(self) -> bool:
        # An earlier plan may still be pending: a heartbeat of Hudi with the time of the plan prevents its cancellation.
        self._engine.schedule_clustering(self._base_path, sort_columns=("double",))
        return self._engine.execute_clustering(self._base_path).instant_time is not None

    def _clean(self) -> bool:
        request = CleanRequest(base_path=str(self._base_path), commits_retained=3, options=CLEANING)
        report = clean(request).report_as(CleanReport)
        return report is not None and bool(report.file_count)
