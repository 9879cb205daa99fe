"""Services that need no Spark are killed with SIGKILL at random moments. The next run completes their work.

``KILLS`` is the number of kills per test (default 4). Set ``KILL_SEED`` to the printed seed to repeat a run.
"""

import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from support.archived_tables import SMALL_LIMITS
from support.depth import number_from
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name
from support.undone_tables import state, updated

KILLS = int(number_from("KILLS", 4, 20))
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
A, B = FileGroupId("a", "f1"), FileGroupId("b", "f2")
Act = Callable[[Storage, Clock], object]


def later(days: int) -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=days), timedelta(milliseconds=1))


def with_history(folder: Path, version: TableVersion) -> tuple[SmallTable, str]:
    """A table with six commits and a dead write; the second commit has a savepoint."""
    start = datetime.now(timezone.utc) - timedelta(hours=3)
    table = SmallTable(LocalStorage(str(folder)), version, FixedClock(start, timedelta(minutes=1)))
    table.commit(A, B)
    saved = updated(table, A).requested_time
    create_savepoint(CreateSavepointRequest(base_path="/t"), storage=table.storage, clock=table.clock)
    for _ in range(4):
        updated(table, A, B)
    dead = table.begin()
    table.add_file("a", base_file_name("dead", dead.requested_time))
    return table, saved


def visible_state(table: SmallTable) -> tuple[set[str], set[str]]:
    """Requested times of the completed writes, including archived ones, and the files that readers see.

    Asserts that all these files exist.
    """
    writes, live, present = state(table)
    assert live <= present
    archived = ArchivedTimeline(table.storage, table.config).writes()
    return {i.requested_time for i in writes} | {each.instant.requested_time for each in archived}, live


@VERSIONS
@pytest.mark.parametrize("job", ["clean", "archive", "rollback", "restore"])
def test_a_second_run_completes_the_work_of_a_killed_service(
    job: str, version: TableVersion, tmp_path: Path
) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 1_000_000))
    rng, forked = random.Random(seed), multiprocessing.get_context("fork")
    original, saved = with_history(tmp_path / "original", version)
    cleaning = CleanRequest(base_path="/t", commits_retained=1)
    archiving = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    undoing = RollbackRequest(base_path="/t", all_failed=True)
    restoring = RestoreRequest(base_path="/t", savepoint=saved)
    act: Act = {
        "clean": lambda s, c: clean(cleaning, storage=s, clock=c),
        "archive": lambda s, c: archive(archiving, storage=s, clock=c),
        "rollback": lambda s, c: rollback(undoing, storage=s, clock=c),
        "restore": lambda s, c: restore(restoring, storage=s, clock=c),
    }[job]
    old = visible_state(original)
    # This first run imports modules, so that the duration of the second run does not include the imports.
    act(copied(original, tmp_path / "warm").storage, later(1))
    reference = copied(original, tmp_path / "reference")
    began = time.monotonic()
    act(reference.storage, later(1))
    longest, new, files = time.monotonic() - began, visible_state(reference), state(reference)[2]
    killed = 0
    for number in range(KILLS):
        table = copied(original, tmp_path / f"t{number}")
        process = forked.Process(target=act, args=(table.storage, later(1)))
        process.start()
        time.sleep(rng.uniform(0, longest))
        process.kill()
        process.join()
        where = f"seed {seed}, kill {number}"
        assert process.exitcode in (0, -signal.SIGKILL), where
        killed += process.exitcode != 0
        writes, live = visible_state(table)
        assert new[0] <= writes <= old[0], where
        assert job == "restore" or live == old[1] == new[1], where
        act(table.storage, later(2))
        assert visible_state(table) == new, where
        assert state(table)[2] == files, where
        shutil.rmtree(tmp_path / f"t{number}")
    print(f"{job} {version.name}: seed {seed}, {killed} of {KILLS} kills interrupted the job")


def copied(table: SmallTable, folder: Path) -> SmallTable:
    shutil.copytree(table.storage.base_path, folder)
    return SmallTable.existing(LocalStorage(str(folder)), table.version, table.clock)
