"""Real Hudi with its own defaults, and the engine, on one table that the engine created; and a model of its rows."""

from collections.abc import Callable
from pathlib import Path

from judges.concurrent_jobs import FAILURE_OF_HUDI
from judges.engine import Engine
from judges.hudi_judge import HudiJudge, HudiRefusedError
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
    """Actions on one table with the default metadata table of the engine's first write."""

    def __init__(self, engine: Engine, judge: HudiJudge, base_path: Path, oracle: Oracle) -> None:
        self._engine, self.judge = engine, judge
        self.base_path, self.oracle = base_path, oracle
        self._version = 0
        self.model: Model = {}

    def we_upsert(self) -> None:
        rows = self._rows()
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
        _with_retry(lambda: self.judge.write(self.base_path, as_table(rows, PLAIN), options))

    def _call(self, procedure: str, arguments: str) -> None:
        settings = default_options(self.oracle)
        _with_retry(lambda: self.judge.call(self.base_path, procedure, arguments, settings=settings))


def _with_retry(act: Callable[[], object]) -> None:
    try:
        act()
    except HudiRefusedError as error:
        if FAILURE_OF_HUDI not in error.trace:
            raise
        act()
