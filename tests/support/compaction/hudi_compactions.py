"""Helpers with which real Hudi writes merge-on-read tables, and lists, schedules and executes compactions."""

import itertools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from hudi_table_services.contract.compaction.compaction import (
    CancelCompactionRequest,
    ExecuteCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.compaction.cancel import cancel_compaction
from hudi_table_services.jobs.compaction.execute import execute_compaction
from hudi_table_services.jobs.compaction.schedule import schedule_compaction
from judges import hudi_rs
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.interruption import just_before_completion
from judges.oracle import Oracle
from judges.rows import OUR_ROWS, Row, as_table, rows_by_key, some_rows
from judges.table_files import copy_table, data_files

READ_OPTIMIZED = {"hoodie.datasource.query.type": "read_optimized"}
_numbers = itertools.count(1)

NEWER = some_rows([*range(0, 40, 3)], 2)
LATE = some_rows([1, 2, 10], 0)
"""Rows with a smaller ordering value than the stored rows. Whether they win depends on the table."""
DELETED = some_rows([4, 5, 20], 2)
AGAIN = some_rows([*range(0, 40, 4)], 3)


class Compactor:
    """Compaction jobs of the engine."""

    def __init__(self, engine: Engine) -> None:
        self._spark = engine.spark

    def schedule(self, base_path: Path, options: Mapping[str, str] | None = None) -> JobResult:
        request = ScheduleCompactionRequest(
            request_id=_new_id(), base_path=str(base_path), ignore_trigger=True, options=options or {}
        )
        return schedule_compaction(request)

    def execute(self, base_path: Path) -> JobResult:
        """Execute every pending plan, including plans of Hudi whose execution died."""
        request = ExecuteCompactionRequest(
            request_id=_new_id(),
            base_path=str(base_path),
            options={"hoodie.airflow.compaction.expiration.minutes": "0"},
        )
        return execute_compaction(self._spark, request)

    def cancel(self, base_path: Path, instant: str) -> JobResult:
        request = CancelCompactionRequest(request_id=_new_id(), base_path=str(base_path), instants=(instant,))
        return cancel_compaction(request)


def _new_id() -> str:
    return f"compaction-{next(_numbers)}"


def options_of(oracle: Oracle, operation: str = "upsert", **more: str) -> dict[str, str]:
    """Options of one write of Hudi into a merge-on-read table, without inline compaction."""
    options = oracle.options(
        "t",
        datasource__write__table__type="MERGE_ON_READ",
        datasource__write__operation=operation,
        compact__inline="false",
    )
    return {**options, **{"hoodie." + name.replace("__", "."): value for name, value in more.items()}}


def write(
    judge: HudiJudge,
    base_path: Path,
    oracle: Oracle,
    rows: Sequence[Row],
    operation: str = "upsert",
    **more: str,
) -> None:
    """Let Hudi write rows."""
    judge.write(base_path, as_table(rows), options_of(oracle, operation, **more))


def logged_table(judge: HudiJudge, base_path: Path, oracle: Oracle) -> Path:
    """Let Hudi write a table with four log files in each partition: newer rows, late rows, deletes, rows again."""
    write(judge, base_path, oracle, OUR_ROWS, "insert")
    write(judge, base_path, oracle, NEWER)
    write(judge, base_path, oracle, LATE, logfile__data__block__format="parquet")
    write(judge, base_path, oracle, DELETED, "delete")
    write(judge, base_path, oracle, AGAIN)
    assert len(log_files(base_path)) >= 6
    return base_path


def log_files(base_path: Path) -> list[Path]:
    return sorted(p for p in base_path.rglob(".*.log.*") if not p.name.endswith(".crc"))


def call(
    judge: HudiJudge, base_path: Path, procedure: str, arguments: str, oracle: Oracle
) -> list[dict[str, object]]:
    """Call a procedure of Hudi, with the metadata table switched off."""
    settings = {
        "hoodie.metadata.enable": "false",
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        **oracle.pins,
    }
    return judge.call(base_path, procedure, arguments, settings=settings)


def shown(judge: HudiJudge, base_path: Path, oracle: Oracle) -> list[tuple[str, int, str]]:
    """Compactions that Hudi lists: requested time, number of operations, state."""
    rows = call(judge, base_path, "show_compaction", "limit => 20", oracle)
    return [(str(r["timestamp"]), int(str(r["operation_size"])), str(r["state"])) for r in rows]


def schedule_theirs(judge: HudiJudge, base_path: Path, oracle: Oracle) -> str:
    """Let Hudi schedule a compaction, and return its requested time."""
    call(judge, base_path, "run_compaction", "op => 'schedule'", oracle)
    ((instant, _, state),) = [each for each in shown(judge, base_path, oracle) if each[2] != "COMPLETED"]
    assert state == "REQUESTED"
    return instant


def execute_theirs(judge: HudiJudge, base_path: Path, oracle: Oracle, instant: str) -> None:
    """Let Hudi execute a pending plan."""
    call(judge, base_path, "run_compaction", f"op => 'run', timestamp => {instant}", oracle)


def snapshot(judge: HudiJudge, base_path: Path) -> dict[str, Row]:
    """The rows of a snapshot query, by key; hudi-rs must read the same rows, except where its rules differ."""
    return rows_by_key(judge.read(base_path))


def read_optimized(judge: HudiJudge, base_path: Path) -> dict[str, Row]:
    return rows_by_key(judge.read(base_path, READ_OPTIMIZED))


def by_hudi_rs(base_path: Path) -> dict[str, Row]:
    return rows_by_key(hudi_rs.read_snapshot(base_path))


def with_meta(judge: HudiJudge, base_path: Path) -> list[tuple[object, ...]]:
    """Key, commit time and sequence number of each row of a snapshot query."""
    found: pa.Table = judge.read_with_meta_columns(base_path)
    names = ("_hoodie_record_key", "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_partition_path")
    return sorted(tuple(row[name] for name in names) for row in found.select(names).to_pylist())


def die_before_completion(compactor: Compactor, base_path: Path, dead: Path) -> list[Path]:
    """Execute the pending plan, but stop just before it completes, as if the job died; return the new data files."""
    before = data_files(base_path)

    def copy() -> None:
        copy_table(base_path, dead)

    with just_before_completion(copy):
        compactor.execute(base_path)
    shutil.rmtree(base_path)
    dead.rename(base_path)
    for left in (*(base_path / ".hoodie" / ".heartbeat").iterdir(), base_path / ".hoodie" / "lock"):
        left.unlink()  # as if the heartbeat and the lock had expired
    leftovers = sorted(set(data_files(base_path)) - set(before))
    assert leftovers, "the dead execution left no files, so the test proves nothing"
    return leftovers
