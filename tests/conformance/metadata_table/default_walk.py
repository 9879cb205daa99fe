"""Actions of the engine and of Hudi with its defaults on a table that the engine created, and a model of its rows."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from judges.concurrent_jobs import FAILURE_OF_HUDI
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
from judges.metadata_readers import assert_read
from judges.oracle import Oracle
from judges.rows import PLAIN, Model, Row, as_table, merged, some_rows
from judges.table_files import instant_names, timeline_folder

_NOT_DEFAULTS = (
    "hoodie.metadata.enable",
    "hoodie.clean.automatic",
    "hoodie.archive.automatic",
    "hoodie.embed.timeline.server",
    "hoodie.write.markers.type",
)


def default_options(oracle: Oracle, operation: str = "upsert") -> dict[str, str]:
    """Options of a write of Hudi with its defaults: automatic cleaning and archival, and Hudi's default indexes.

    The options define the table, the operation, the numbers of tasks and, for Hudi 1.x, the version of the table.
    """
    options = oracle.options("t", datasource__write__operation=operation)
    return {name: value for name, value in options.items() if name not in _NOT_DEFAULTS}


class DefaultWalk:
    """Actions on one table. The first write of the engine creates the table with the default metadata table."""

    def __init__(self, engine: Engine, judge: HudiJudge, base_path: Path, oracle: Oracle) -> None:
        self._engine, self.judge = engine, judge
        self.base_path, self.oracle = base_path, oracle
        self._version = 0
        self.model: Model = {}
        self.seconds: list[tuple[str, float]] = []
        self.seconds_of_checks: list[float] = []

    def times(self) -> str:
        """The name of each action so far, with its duration in seconds, and the durations of all checks."""
        actions = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.seconds)
        return f"{actions}; checks {', '.join(f'{seconds:.1f}' for seconds in self.seconds_of_checks)}"

    def assert_read(self) -> None:
        """All readers return the rows of the model; in version 8, all except hudi-rs (`assert_read`)."""
        started = time.monotonic()
        is_read = self.oracle.table_version != 8
        assert_read(self.judge, self.base_path, self.model, self.oracle, is_read_by_hudi_rs=is_read)
        self.seconds_of_checks.append(time.monotonic() - started)

    def we_upsert(self) -> None:
        rows = self._rows()
        with self._timed("our upsert"):
            self._engine.write(
                self.base_path,
                as_table(rows, PLAIN),
                version=self.oracle.table_version,
                has_default_metadata_table=True,
            )
        self.model = merged(self.model, rows)

    def hudi_upserts(self) -> None:
        rows = self._rows()
        self._hudi_writes(rows, "upsert")
        self.model = merged(self.model, rows)

    def hudi_bulk_inserts(self) -> None:
        rows = self._rows(1000 + 100 * self._version)
        self._hudi_writes(rows, "bulk_insert")
        self.model = merged(self.model, rows)

    def hudi_overwrites_the_table(self) -> None:
        rows = self._rows()
        self._hudi_writes(rows, "insert_overwrite_table")
        self.model = merged({}, rows)

    def hudi_rolls_back(self, instant_time: str) -> None:
        self._call("rollback_to_instant", f"instant_time => '{instant_time}'")

    def hudi_saves(self, instant_time: str) -> None:
        self._call("create_savepoint", f"commit_time => '{instant_time}'")

    def hudi_restores(self, instant_time: str) -> None:
        self._call("rollback_to_savepoint", f"instant_time => '{instant_time}'")

    def hudi_deletes_the_savepoint(self, instant_time: str) -> None:
        self._call("delete_savepoint", f"instant_time => '{instant_time}'")

    def newest(self) -> str:
        """Requested time of the newest completed write."""
        return instant_names(self.base_path, "commit")[-1].partition(".")[0].partition("_")[0]

    def has_clean(self) -> bool:
        return bool(instant_names(self.base_path, ".clean"))

    def has_archived_instants(self) -> bool:
        """Whether the archived timeline has files with content."""
        name = "archived" if self.oracle.table_version == 6 else "history"
        folder = timeline_folder(self.base_path) / name
        return any(path.stat().st_size > 0 for path in folder.glob("*.parquet")) or any(
            path.stat().st_size > 0 for path in folder.glob(".commits_.archive*")
        )

    # ------------------------------------------------------------------ Hudi

    def _rows(self, first: int = 0) -> list[Row]:
        self._version += 1
        start = first + self._version % 7
        return some_rows(range(start, start + 8), self._version, PLAIN)

    def _hudi_writes(self, rows: list[Row], operation: str) -> None:
        options = default_options(self.oracle, operation)
        with self._timed(f"Hudi's {operation}"):
            _with_retry(lambda: self.judge.write(self.base_path, as_table(rows, PLAIN), options))

    def _call(self, procedure: str, arguments: str) -> None:
        settings = default_options(self.oracle)
        with self._timed(f"Hudi's {procedure}"):
            _with_retry(lambda: self.judge.call(self.base_path, procedure, arguments, settings=settings))

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        except BaseException as error:
            error.add_note(f"{name} failed after {time.monotonic() - started:.1f} s; before: {self.times()}")
            raise
        self.seconds.append((name, time.monotonic() - started))


def _with_retry(act: Callable[[], object]) -> None:
    try:
        act()
    except HudiRefusedError as error:
        if FAILURE_OF_HUDI not in error.trace:
            raise
        act()
