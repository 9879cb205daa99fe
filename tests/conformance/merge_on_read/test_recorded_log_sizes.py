"""Hudi records the exact size of each log file in the commit, so a shorter file has lost rows of the commit."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_table_services.hudi_format.log_blocks import BlockType
from hudi_table_services.hudi_format.log_headers import scan_log
from hudi_table_services.model.instant import Action
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from judges.clusterings import call_procedure
from judges.merge_on_read.shared_log_tables import DELETED, SharedTable
from judges.oracle import ORACLES, SAMPLED_ORACLES, V6, Oracle
from judges.rows import PLAIN, Row, some_rows

SMALL_BLOCKS = {"logfile__data__block__max__size": "4096"}
SMALL_FILES = {**SMALL_BLOCKS, "logfile__max__size": "8192"}
PARQUET = {"logfile__data__block__format": "parquet"}
FLAGGED = pa.schema([*PLAIN, DELETED])


def rows(numbers: range, version: int, *, deletes: int = 0) -> list[Row]:
    """Rows of one partition. The first `deletes` rows are marked as deleted."""
    found = some_rows(numbers, version, PLAIN, partitions=("a",))
    return [{**row, DELETED.name: place < deletes} for place, row in enumerate(found)]


def recorded(table: SharedTable) -> list[dict[str, list[int]]]:
    """Sizes of the log files by path, for each delta commit that has log files; the oldest commit comes first."""
    storage = LocalStorage(str(table.base_path))
    store = TimelineStore(storage, read_table_config(storage), SystemClock())
    commits = []
    for instant in store.load().completed_writes:
        if instant.action is Action.DELTA_COMMIT:
            sizes: dict[str, list[int]] = {}
            for stat in store.commit_metadata(instant).write_stats:
                if stat.is_log_file:
                    sizes.setdefault(stat.path, []).append(stat.file_size_bytes)
            commits.append(sizes)
    return [sizes for sizes in commits if sizes]


def kinds(table: SharedTable, path: str) -> Counter[int]:
    """Number of blocks of each kind in a log file."""
    data = (table.base_path / path).read_bytes()
    return Counter(head.block_type for head in scan_log(lambda at, n: data[at : at + n], len(data)).heads)


@pytest.mark.oracles(*ORACLES)
@pytest.mark.parametrize("oracle", SAMPLED_ORACLES)
def test_the_recorded_size_of_every_log_file_is_its_length(hudi, tmp_path: Path, oracle: Oracle) -> None:
    table = SharedTable(tmp_path / "t", oracle, hudi(oracle.release), FLAGGED)
    table.hudi_writes(rows(range(600), 1), "bulk_insert")
    table.hudi_writes(rows(range(20), 2, deletes=3))
    table.hudi_writes(rows(range(600), 3, deletes=5), **SMALL_BLOCKS)
    table.hudi_writes(rows(range(600), 4), **SMALL_FILES)
    table.hudi_writes(rows(range(40), 5, deletes=4), **PARQUET)
    table.hudi_writes(rows(range(100, 110), 6), "delete")
    commits = recorded(table)
    for sizes in commits:
        assert sizes == {path: [(table.base_path / path).stat().st_size] for path in sizes}
    one_block, many_blocks, many_files, parquet, deletes = commits
    assert kinds(table, *one_block) == {BlockType.AVRO_DATA: 1, BlockType.DELETE: 1}
    assert kinds(table, *many_blocks)[BlockType.AVRO_DATA] > 2
    assert len(many_files) > 1
    assert kinds(table, *parquet) == {BlockType.PARQUET_DATA: 1, BlockType.DELETE: 1}
    assert kinds(table, *deletes) == {BlockType.DELETE: 1}
    if oracle is V6:
        return  # The rollback procedure of Hudi 1.2 expects the timeline of later versions.
    # A rollback removes the newest delta commit, and leaves the files of the other commits as they are.
    newest = max(path.name for path in (table.base_path / ".hoodie").rglob("*.deltacommit"))
    call_procedure(
        table.judge, table.base_path, "rollback_to_instant", f"instant_time => '{newest[:17]}'", oracle
    )
    table.hudi_writes(rows(range(10), 7), **SMALL_BLOCKS)
    for sizes in recorded(table):
        assert sizes == {path: [(table.base_path / path).stat().st_size] for path in sizes}
