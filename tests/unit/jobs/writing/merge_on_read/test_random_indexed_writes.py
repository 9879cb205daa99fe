"""After random writes and table services, the record index and the secondary index have the entries of all rows.

The rows are those that jobs of this project merge. In table version 6, hudi-rs merges late deletes in another way.
"""

import random
from pathlib import Path

import pytest

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.execution.log_merging.snapshot_rows import read_rows
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.keys import secondary_index_key
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.compaction import jobs_here
from support.depth import by_depth
from support.metadata_table.built_tables import opened
from support.spark.indexed_log_tables import new_indexed_table, stored_secondary_keys
from support.spark.log_tables import LogTable, Row
from support.with_logs import clusterings_here

STEPS = 12
OPERATIONS = ("update", "update", "by index", "flag", "delete", "plan", "compact", "cluster", "pad")
SEEDS = {
    6: by_depth((2, 3, 4), range(16)),
    8: by_depth((1,), range(8)),
    9: by_depth((2,), range(8)),
}


def stored(table: LogTable) -> list[tuple[str, str]]:
    """Record key and value of each row."""
    snapshot = load_snapshot(table.storage)
    rows = read_rows(table.storage, snapshot, merge_rule(snapshot.config)).to_pylist()
    return sorted((row["_hoodie_record_key"], row["v"]) for row in rows)


def assert_indexes_equal_merged_rows(table: LogTable, steps: object) -> None:
    rows = stored(table)
    keys = [key for key, _ in rows]
    assert len(keys) == len(set(keys)), steps
    entries = MetadataPartition(opened(table.storage), RECORD_INDEX).records()
    assert sorted(entry.key for entry in entries) == keys, steps
    if load_snapshot(table.storage).config.table_version.has_own_log_instants:
        assert stored_secondary_keys(table) == {secondary_index_key(v, key) for key, v in rows}, steps


def change(table: LogTable, operation: str, rows: list[Row]) -> None:
    if operation == "update":
        table.write(rows, options={"hoodie.parquet.small.file.limit": "0"})
    elif operation == "pad":
        table.write(rows)
    elif operation == "by index":
        table.write(rows, options={"hoodie.index.type": "RECORD_INDEX"})
    elif operation == "flag":
        table.write([(*row[:4], True) for row in rows])
    elif operation == "delete":
        table.write([(row[0], 0, "a", None) for row in rows], "delete", names=("k", "ts", "p", "v"))
    elif operation == "cluster":
        clusterings_here.schedule(table.storage, SystemClock())
        clusterings_here.execute(table.storage, SystemClock())
    else:
        jobs_here.schedule(table.storage, SystemClock())
        if operation == "compact":
            jobs_here.execute(table.storage, SystemClock())


@pytest.mark.parametrize(
    ("version", "seed"), [(version, seed) for version, seeds in SEEDS.items() for seed in seeds]
)
@pytest.mark.thorough
def test_random_changes_keep_the_indexes_equal_to_the_rows(tmp_path: Path, version: int, seed: int) -> None:
    table = new_indexed_table(tmp_path / "t", version)
    drawn = random.Random(seed)
    steps: list[object] = []
    for number in range(STEPS):
        operation = drawn.choice(OPERATIONS) if number else "update"
        keys = drawn.sample(range(6), drawn.randint(1, 4))
        rows: list[Row] = [(f"k{k}", drawn.randint(1, 9), "a", drawn.choice("xyz"), False) for k in keys]
        steps.append((operation, rows))
        before, refusal = stored(table), ""
        try:
            change(table, operation, rows)
        except CommitConflictError as conflict:
            refusal = conflict.message
        assert not refusal or ("pending compaction" in refusal and stored(table) == before), steps
        assert_indexes_equal_merged_rows(table, steps)
