"""A write to a real file system with space for none, some or all of its files."""

import os
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.errors import ExecutionFailedError, StorageError
from hudi_table_services.storage.clock import SystemClock
from support.apart import SmallDisk
from support.fixed_clock import FixedClock
from support.spark.writing import Row, TableUnderTest

OLD: list[Row] = [(f"k{i}", 1, "ab"[i % 2], 1.0) for i in range(8)]
BATCH: list[Row] = [(f"k{i}", 2, "ab"[i % 2], 2.0) for i in range(4, 12)]
LEVELS = (0, 1, 3, 6, 40)
"""Numbers of free pages. Each file of staged rows, each marker and the commit need one or two pages."""
NEW = sorted({row[0]: row for row in OLD + BATCH}.values())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A small file system, mounted for all processes because Spark's workers are not child processes of the test."""
    if os.geteuid() != 0:
        pytest.skip("this user cannot mount: run the test as root, or under unshare --map-root-user --mount")
    folder = tmp_path / "disk"
    folder.mkdir()
    options = "size=32m,nr_inodes=0"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    yield SmallDisk(folder)
    subprocess.run(["umount", "--lazy", folder], check=True)


def later() -> FixedClock:
    """A clock ten minutes ahead, for which the lock and the heartbeat of a dead job have expired."""
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def settled(table: TableUnderTest) -> set[str]:
    """Wait until the tasks of the failed Spark job have ended, and return the leftover files.

    The tasks remove their data files themselves; the next run removes their staged rows.
    """
    deadline = time.monotonic() + 20
    while table.leftovers() and time.monotonic() < deadline:
        assert table.write(BATCH, request_id="same", clock=later()).reused
        time.sleep(0.2)
    return table.leftovers()


def test_an_upsert_fails_on_a_full_disk_and_a_second_run_completes_it(
    spark: SparkSession, disk: SmallDisk
) -> None:
    old = TableUnderTest(spark, disk.folder / "old", hoodie__write__table__version="9")
    old.write(OLD)
    errors = 0
    for pages in LEVELS:
        table = old.copied_to(disk.folder / f"t{pages}")
        disk.fill(pages)
        try:
            table.write(BATCH, request_id="same")
        except (StorageError, ExecutionFailedError) as error:
            errors += 1
            assert "No space left on device" in str(error), pages  # noqa: PT017
            assert table.rows() == OLD, pages
        else:
            assert table.rows() == NEW, pages
        disk.free()
        table.write(BATCH, request_id="same", clock=later())
        assert table.rows() == NEW, pages
        assert settled(table) == set(), pages
        assert list(table.base_path.rglob(".tmp-*")) == [], pages
    assert 2 <= errors < len(LEVELS)
