"""Jobs on a disk with room for so many more files, from none to enough: a real small file system, filled.

A job that does not get through names the place and says that there is no space; readers see the old or the new table;
once there is space again the next run finishes, and nothing is left over. ``TEST_DEPTH=all`` fills the disk before
each change (a minute). By default the disk is filled before every fifth change (``FAIL_EVERY``).
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
from support.depth import number_from
from support.faulty_storage import FaultyStorage
from support.jobs_on_tables import JOBS, ONLY_LOOKS, Act, between, later, look, swept, traces
from support.small_tables import SmallTable
from support.undone_tables import a_table

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
START = datetime.now(timezone.utc) - timedelta(hours=3)
MOST = 300
EVERY = int(number_from("FAIL_EVERY", 5, 1))


def table_at(place: Path, like: SmallTable) -> SmallTable:
    """A copy of the table; `a_table` would begin with one of its own."""
    assert isinstance(like.storage, LocalStorage)
    shutil.copytree(like.storage.root, place)
    copied = object.__new__(SmallTable)
    copied.storage, copied.version, copied.clock = LocalStorage(str(place)), like.version, like.clock
    return copied


@dataclass
class Filling(FaultyStorage):
    """Another process fills the disk before the n-th change, and uses up all space that is freed after that.

    Attributes:
        fill: takes all space.
        full_from: number of the change, from 1.
    """

    fill: Callable[[], None] = lambda: None
    full_from: int = 1

    def _change(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        self.changes += 1
        if self.changes >= self.full_from:
            self.fill()
        return operation(*arguments)


def failed(act: Act, storage: Storage, where: str) -> bool:
    """Whether the job failed; if so, check that the error names the cause."""
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
class Sweep:
    """One job, run many times, each time on a new copy of the table."""

    job: str
    version: TableVersion
    disk: SmallDisk

    def __post_init__(self) -> None:
        self.original = a_table(self.version, START, LocalStorage(str(self.disk.folder / "old")))
        self.act = JOBS[self.job](self.original)
        self.old = look(self.original)
        finished = table_at(self.disk.folder / "new", self.original)
        self.act(finished.storage, later(1))
        self.new, self.done = look(finished), traces(finished)
        self.final = swept(finished)

    def fails(self, where: str, act: Callable[[Storage], bool]) -> bool:
        """Whether the job fails. Checks the table afterwards, and that the next run, with space, finishes."""
        place = self.disk.folder / "t"
        table = table_at(place, self.original)
        has_failed = act(table.storage)
        seen = look(table)  # no reader is sent to a file that is gone, also while the disk is full
        self.disk.free()
        assert between(self.job, seen, self.old, self.new), where
        assert list(place.rglob(".tmp-*")) == [], where
        self.act(table.storage, later(3))
        assert look(table) == self.new, where
        assert traces(table) == self.done or swept(table) == self.final, where
        shutil.rmtree(place)
        return has_failed


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_a_disk_with_little_space(job: str, version: TableVersion, tmp_path: Path) -> None:
    def body(disk: SmallDisk) -> None:
        sweep = Sweep(job, version, disk)

        def on_pages(pages: int) -> bool:
            def act(storage: Storage) -> bool:
                disk.fill(pages)
                return failed(sweep.act, storage, f"{pages} pages left")

            return sweep.fails(f"{pages} pages left", act)

        levels = list(takewhile(on_pages, range(MOST)))
        assert bool(levels) is (job not in ONLY_LOOKS)
        assert len(levels) < MOST

    on_a_small_disk(tmp_path, 4096, body)


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_a_disk_that_fills_meanwhile(job: str, version: TableVersion, tmp_path: Path) -> None:
    def body(disk: SmallDisk) -> None:
        sweep = Sweep(job, version, disk)
        failures = 0
        first = 1 + (list(JOBS).index(job) + 2 * (version is TableVersion.V9)) % EVERY
        for full_from in range(first, MOST, EVERY):
            storage = Filling(LocalStorage(""), fill=disk.fill, full_from=full_from)

            def act(inner: Storage, storage: Filling = storage, number: int = full_from) -> bool:
                storage.inner = inner
                return failed(sweep.act, storage, f"full from change {number}")

            failures += sweep.fails(f"full from change {full_from}", act)
            if storage.changes < full_from:
                break
        assert failures <= storage.changes

    on_a_small_disk(tmp_path, 4096, body)
