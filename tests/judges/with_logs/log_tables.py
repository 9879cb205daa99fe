"""Merge-on-read tables that real Hudi writes, and the services that Hudi and this project run on them."""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.storage.clock import Clock
from judges import hudi_rs
from judges.hudi_judge import HudiJudge
from judges.oracle import Oracle
from judges.rows import PLAIN, Model, Row, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import files_below, instant_names

LOG_TABLE = {
    "datasource__write__table__type": "MERGE_ON_READ",
    # Batch writes of Hudi compact inline unless this option is set.
    "compact__inline": "false",
}
FIRST_ROWS = some_rows(range(20), 1, PLAIN)


class LogTable:
    """A merge-on-read table of real Hudi, and the rows that it must have.

    Attributes:
        model: the rows after the last write.
    """

    def __init__(self, judge: HudiJudge, base_path: Path, oracle: Oracle) -> None:
        self.judge, self.base_path, self.oracle = judge, base_path, oracle
        self.model: Model = {}
        self._version = 1

    def start(self) -> "LogTable":
        """Insert the first rows: base files in two partitions."""
        return self.write(FIRST_ROWS)

    def write(self, rows: list[Row], **options: str) -> "LogTable":
        given = self.oracle.options("t", **{**LOG_TABLE, **options})
        self.judge.write(self.base_path, as_table(rows, PLAIN), given)
        self.model = merged(self.model, rows)
        return self

    def update(self, *numbers: int, **options: str) -> "LogTable":
        """Update rows: Hudi writes a log file for each touched file slice."""
        self._version += 1
        return self.write(some_rows(numbers or (0, 1, 2), self._version, PLAIN), **options)

    def compact(self) -> "LogTable":
        """Let Hudi compact all file slices with log files."""
        self.call("run_compaction", "op => 'schedule'", **{"hoodie.compact.inline.max.delta.commits": "1"})
        self.call("run_compaction", "op => 'run'", **{"hoodie.compact.inline.max.delta.commits": "1"})
        assert instant_names(self.base_path, ".commit"), "Hudi compacted nothing"
        return self

    def call(self, procedure: str, arguments: str = "", **settings: str) -> list[dict[str, object]]:
        every: Mapping[str, str] = {"hoodie.metadata.enable": "false", **self.oracle.pins, **settings}
        return self.judge.call(self.base_path, procedure, arguments, settings=every)

    def assert_read(self, model: Model | None = None) -> None:
        """Compare the rows that Hudi and hudi-rs read with the model."""
        wanted = self.model if model is None else model
        assert_rows_equal(self.judge.read(self.base_path), wanted, f"Hudi {self.judge.release}")
        assert_rows_equal(hudi_rs.read_snapshot(self.base_path), wanted, "hudi-rs")

    def assert_hudi_continues(self) -> None:
        """Hudi updates rows, inserts a row, compacts, and updates again; all rows stay right."""
        self.assert_read()
        self.update(0, 1, 5)
        self.assert_read()
        self.update(3, 100)
        self.compact()
        self.assert_read()
        self.update(0, 4)
        self.assert_read()

    def newest(self, suffix: str = "deltacommit") -> str:
        """Requested time of the newest completed instant with this action."""
        return instant_names(self.base_path, f".{suffix}")[-1].partition(".")[0].partition("_")[0]

    def data_files(self) -> set[str]:
        """Names of base files and log files."""
        return {
            path.name
            for path in files_below(self.base_path)
            if ".hoodie" not in path.relative_to(self.base_path).parts
            and not path.name.endswith(".crc")
            and not path.name.startswith(".hoodie_partition")
        }

    # Services of this project

    def roll_back(self, *instants: str) -> JobResult:
        request = RollbackRequest(base_path=str(self.base_path), instants=instants, all_failed=not instants)
        return rollback(request)

    def clean(self, **retention: int) -> JobResult:
        """Clean with one retention field of the request, by default ``commits_retained=1``."""
        options = {"hoodie.airflow.clean.floor.hours": "0"}
        retention = retention or {"commits_retained": 1}
        return clean(CleanRequest(base_path=str(self.base_path), options=options, **retention))

    def archive(self, low: int = 2, high: int = 3) -> JobResult:
        request = ArchiveRequest(
            base_path=str(self.base_path),
            min_commits=low,
            max_commits=high,
            options={"hoodie.clean.commits.retained": "1"},
        )
        return archive(request)

    def save(self) -> str:
        """Create a savepoint of the newest write, and return its time."""
        time = max(self.newest(), self.newest("commit") if instant_names(self.base_path, ".commit") else "")
        create_savepoint(CreateSavepointRequest(base_path=str(self.base_path), instant=time))
        return time

    def restore(self, savepoint: str) -> JobResult:
        return restore(RestoreRequest(base_path=str(self.base_path), savepoint=savepoint))


def much_later() -> Clock:
    """A clock that is a day ahead, for jobs that would otherwise ignore files because they are too new."""

    class _Later:
        def now(self) -> datetime:
            return datetime.now(timezone.utc) + timedelta(days=1)

    return _Later()
