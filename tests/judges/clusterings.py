"""Helpers with which real Hudi lists, schedules and executes clusterings, and a table for tests of clusterings."""

import functools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from hudi_table_services.contract.result import JobResult
from judges import hudi_rs
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.interruption import just_before_completion
from judges.oracle import Oracle
from judges.rows import OUR_ROWS, Model, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import copy_table, data_files, instant_of

# Inserts pad no files but go to new file groups, so a stored key that the index does not find becomes a duplicate.
NO_PADDING = {"hoodie.parquet.small.file.limit": "0"}
BLOOM = {"index__type": "BLOOM", "parquet__small__file__limit": "0"}

NEWER = some_rows([0, 1, *range(40, 60)], 2)
STORED = merged(merged({}, OUR_ROWS), NEWER)
# Updates of one row in each partition. Hudi then rewrites files of the engine, and copies most of their rows unchanged.
TOUCHING = some_rows([0, 1], 3)


@functools.cache
def fragment(ready_made: Path, engine: Engine, version: int) -> Path:
    """Return a read-only copy of a table that contains :data:`STORED` in two files per partition."""
    base_path = copy_table(ready_made, ready_made.with_name(f"fragmented-{ready_made.name}"))
    engine.write(base_path, as_table(NEWER), version=version, options=NO_PADDING)
    return base_path


def call_procedure(
    judge: HudiJudge, base_path: Path, procedure: str, arguments: str, oracle: Oracle
) -> list[dict[str, object]]:
    """Call a procedure of Hudi on a table of the oracle's version, with the metadata table switched off."""
    settings = {"hoodie.metadata.enable": "false", **oracle.pins}
    return judge.call(base_path, procedure, arguments, settings=settings)


def shown_clusterings(judge: HudiJudge, base_path: Path, oracle: Oracle) -> list[tuple[object, ...]]:
    """Clusterings that Hudi lists: requested time, state, number of groups, and partition of each planned file."""
    names = ("timestamp", "state", "input_group_size", "involved_partitions")
    shown = call_procedure(judge, base_path, "show_clustering", "show_involved_partition => true", oracle)
    return [tuple(row[name] for name in names) for row in shown]


def schedule_theirs(judge: HudiJudge, base_path: Path, oracle: Oracle, order: str) -> str:
    """Let Hudi schedule a clustering, and return its requested time."""
    given = f", order => '{order}'" if order else ""
    call_procedure(judge, base_path, "run_clustering", f"op => 'schedule'{given}", oracle)
    ((instant_time, state, _, _),) = shown_clusterings(judge, base_path, oracle)
    assert state == "REQUESTED"
    return str(instant_time)


def die_before_completion(engine: Engine, base_path: Path, dead: Path) -> list[Path]:
    """Execute the pending plan, but stop just before the clustering completes, as if the job died.

    Returns:
        The data files that the dead execution left in the table.
    """
    before = data_files(base_path)
    with just_before_completion(lambda: _copy(base_path, dead)):
        engine.execute_clustering(base_path)
    shutil.rmtree(base_path)
    dead.rename(base_path)
    heartbeat, lock = base_path / ".hoodie" / ".heartbeat", base_path / ".hoodie" / "lock"
    for left in (*heartbeat.iterdir(), lock):
        left.unlink()  # as if the heartbeat and the lock had expired
    leftovers = sorted(set(data_files(base_path)) - set(before))
    assert leftovers, "the dead execution left no files, so the test proves nothing"
    return leftovers


def _copy(base_path: Path, target: Path) -> None:
    copy_table(base_path, target)


def files_of(base_path: Path, result: JobResult) -> list[Path]:
    """Data files that the instant of a job wrote."""
    return [path for path in data_files(base_path) if instant_of(path) == result.instant_time]


def is_sorted(path: Path, *columns: str) -> bool:
    """Whether the rows of a file are in ascending order of these columns, nulls first."""
    rows = pq.read_table(path, columns=list(columns), partitioning=None).to_pylist()
    keys = [_order(list(row.values())) for row in rows]
    return len(keys) > 1 and keys == sorted(keys)


def _order(values: Sequence[object]) -> list[tuple[bool, object]]:
    return [(value is not None, value if value is not None else 0) for value in values]


def assert_all_read(
    judge: HudiJudge,
    base_path: Path,
    model: Model,
    oracle: Oracle,
    options: Mapping[str, str] | None = None,
) -> None:
    """Check that Hudi (with these options) and hudi-rs both read the rows of the model."""
    assert_rows_equal(judge.read(base_path, options), model, str(oracle))
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")
