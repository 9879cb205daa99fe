"""Jobs on a small file system that is full at the start, almost full, or becomes full during the job.

The error of a failed job names the path and the full disk. Readers see the old or the new table. When the disk has
space again, the next run completes the work and leaves the same files as a successful run, at the latest after a clean
and a repair. With ``TEST_DEPTH=all`` (one minute), there is a run for every change, and the disk becomes full before
this change. By default, there is a run for every tenth change (``FAIL_EVERY``).
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.errors import HudiTableServiceError, StorageError
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from support.apart import SmallDisk, on_a_small_disk
from support.depth import cases, number_from
from support.faulty_storage import FaultyStorage
from support.jobs_on_tables import (
    JOBS,
    READ_ONLY_JOBS,
    RunJob,
    files_after_clean_and_repair,
    files_outside_the_timeline,
    is_old_or_new_state,
    later,
    read_state,
)
from support.small_tables import SmallTable
from support.undone_tables import a_table

VERSIONS = pytest.mark.parametrize(
    "version", cases([TableVersion.V6, TableVersion.V9], [TableVersion.V9], lambda v: v.name)
)
START = datetime.now(timezone.utc) - timedelta(hours=3)
MAX_TRIES = 300
EVERY = int(number_from("FAIL_EVERY", 10, 1))


def table_at(place: Path, like: SmallTable) -> SmallTable:
    """Copy a table to another folder."""
    assert isinstance(like.storage, LocalStorage)
    shutil.copytree(like.storage.root, place)
    return SmallTable.existing(LocalStorage(str(place)), like.version, like.clock)


@dataclass
class DiskThatFills(FaultyStorage):
    """A storage whose disk another process fills before the n-th change and before each later change.

    Attributes:
        fill: fills the disk.
        full_from: number of the first change on a full disk, counted from 1.
    """

    fill: Callable[[], None] = lambda: None
    full_from: int = 1

    def _change(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        self.changes += 1
        if self.changes >= self.full_from:
            self.fill()
        return operation(*arguments)


def failed(act: RunJob, storage: Storage, where: str) -> bool:
    """Run the job; return whether it failed. Check that the error of a failed job names the cause."""
    raised: HudiTableServiceError | None = None
    try:
        act(storage, later(1))
    except HudiTableServiceError as error:
        raised = error
    if raised is None:
        return False
    assert isinstance(raised, StorageError), f"{where}: {raised!r}"
    assert raised.retryable, f"{where}: {raised!r}"
    assert re.search(r"Cannot \w+ '.+': No space left on device\. Free some space", str(raised)), where
    return True


@dataclass
class RepeatedJob:
    """One job that runs many times, each time on a new copy of the table."""

    job: str
    version: TableVersion
    disk: SmallDisk

    def __post_init__(self) -> None:
        self.original = a_table(self.version, START, LocalStorage(str(self.disk.folder / "old")))
        self.act = JOBS[self.job](self.original)
        self.old = read_state(self.original)
        finished = table_at(self.disk.folder / "new", self.original)
        self.act(finished.storage, later(1))
        self.new, self.done = read_state(finished), files_outside_the_timeline(finished)
        self.final = files_after_clean_and_repair(finished)

    def fails(self, where: str, act: Callable[[Storage], bool]) -> bool:
        """Run the job; return whether it failed. Check the table, and a second run after the disk has space again."""
        place = self.disk.folder / "t"
        table = table_at(place, self.original)
        has_failed = act(table.storage)
        state_now = read_state(table)  # also checks, on the full disk, that all visible files exist
        self.disk.free()
        assert is_old_or_new_state(self.job, state_now, self.old, self.new), where
        assert list(place.rglob(".tmp-*")) == [], where
        self.act(table.storage, later(3))
        assert read_state(table) == self.new, where
        assert (
            files_outside_the_timeline(table) == self.done
            or files_after_clean_and_repair(table) == self.final
        ), where
        shutil.rmtree(place)
        return has_failed


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_a_job_on_an_almost_full_disk_succeeds_or_reports_the_full_disk(
    job: str, version: TableVersion, tmp_path: Path
) -> None:
    def body(disk: SmallDisk) -> None:
        repeated = RepeatedJob(job, version, disk)

        def on_pages(pages: int) -> bool:
            def act(storage: Storage) -> bool:
                disk.fill(pages)
                return failed(repeated.act, storage, f"{pages} pages left")

            return repeated.fails(f"{pages} pages left", act)

        levels = list(takewhile(on_pages, range(MAX_TRIES)))
        assert bool(levels) is (job not in READ_ONLY_JOBS)
        assert len(levels) < MAX_TRIES

    on_a_small_disk(tmp_path, 4096, body)


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_a_job_whose_disk_becomes_full_succeeds_or_reports_the_full_disk(
    job: str, version: TableVersion, tmp_path: Path
) -> None:
    def body(disk: SmallDisk) -> None:
        repeated = RepeatedJob(job, version, disk)
        failures = 0
        first = 1 + (list(JOBS).index(job) + 2 * (version is TableVersion.V9)) % EVERY
        for full_from in range(first, MAX_TRIES, EVERY):
            storage = DiskThatFills(LocalStorage(""), fill=disk.fill, full_from=full_from)

            def act(inner: Storage, storage: DiskThatFills = storage, number: int = full_from) -> bool:
                storage.inner = inner
                return failed(repeated.act, storage, f"full from change {number}")

            failures += repeated.fails(f"full from change {full_from}", act)
            if storage.changes < full_from:
                break
        assert failures <= storage.changes

    on_a_small_disk(tmp_path, 4096, body)
