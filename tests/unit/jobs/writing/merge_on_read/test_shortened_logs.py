"""Jobs that merge or search a log file refuse it if its last blocks are lost, even if the rest looks complete.

If the table is listed from the metadata table, the listed sizes are those of the commits, so the job finds the loss
when it reads the file. Otherwise the job compares the listed sizes with the commits.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.log_headers import scan_log
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.tables.views.table_rows import read_table_rows
from support.compaction import jobs_here
from support.spark.log_tables import LogTable, new_log_table
from support.with_logs import clusterings_here

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
LISTINGS = pytest.mark.parametrize("metadata", ["true", "false"], ids=["metadata table", "folders"])


def shortened(base_path: Path, version: int, metadata: str) -> tuple[LogTable, str, str]:
    """A table whose only log file lost its delete block. Returns the path of the log file, and both sizes."""
    table = new_log_table(base_path, version, hoodie__metadata__enable=metadata)
    table.write([("k0", 1, "a", "old", False), ("k1", 1, "a", "old", False)])
    table.write([("k5", 1, "a", "small", False)], "bulk_insert")  # so that a clustering has two files
    table.write([("k0", 2, "a", "new", False), ("k1", 2, "a", None, True)])
    (stat,) = table.log_stats()
    data = table.storage.read(stat.path)
    _, last = scan_log(lambda at, length: data[at : at + length], len(data)).heads
    table.storage.write(stat.path, data[: last.position])
    return (
        table,
        stat.path,
        f"{len(data)} bytes.* {last.position} bytes|{last.position} bytes.* {len(data)} bytes",
    )


def upsert(table: LogTable) -> None:
    table.write([("k1", 3, "a", "again", False)])


def read(table: LogTable) -> None:
    read_table_rows(table.storage)


def compact(table: LogTable) -> None:
    jobs_here.schedule(table.storage, SystemClock())
    jobs_here.execute(table.storage, SystemClock())


def cluster(table: LogTable) -> None:
    clusterings_here.schedule(table.storage, SystemClock())
    clusterings_here.execute(table.storage, SystemClock())


@VERSIONS
@LISTINGS
@pytest.mark.parametrize("job", [upsert, read, compact, cluster])
def test_a_job_refuses_the_file_and_names_both_sizes(
    tmp_path: Path, version: int, metadata: str, job: Callable[[LogTable], None]
) -> None:
    table, path, sizes = shortened(tmp_path / "t", version, metadata)
    before = table.timeline_store.load().completed
    with pytest.raises(CorruptTableError, match=sizes) as caught:
        job(table)
    assert path in caught.value.message
    assert "backup" in (caught.value.hint or "")
    assert table.timeline_store.load().completed == before


@VERSIONS
def test_without_a_search_for_keys_rows_can_be_added(tmp_path: Path, version: int) -> None:
    table, _, _ = shortened(tmp_path / "t", version, "false")
    table.write([("k9", 1, "a", "new", False)], "bulk_insert")
    assert ("k9", 1, "a", "new") in table.rows()
