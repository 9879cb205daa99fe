"""Services that need no Spark are killed with SIGKILL on tables whose metadata table has all indexes.

After each kill, readers of the metadata table find the files of the folders, or use the folders. The next run completes
the work, and then all indexes describe the files. ``KILLS`` is the number of kills per test (default 1). Set
``KILL_SEED`` to the printed seed to repeat a run.
"""

import multiprocessing
import os
import random
import shutil
import signal
import time
from functools import cache
from pathlib import Path

import pytest

from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from support.depth import cases, number_from
from support.fail_points import tried
from support.metadata_table.all_indexes import with_all_indexes
from support.metadata_table.checked_tables import check_end, check_readers
from support.metadata_table.maintained_table_jobs import JOBS, RunJob
from support.metadata_table.maintained_tables import copied, ticking

KILLS = int(number_from("KILLS", 1, 20))
VERSIONS = pytest.mark.parametrize(
    "version", cases([TableVersion.V6, TableVersion.V9], [TableVersion.V9], lambda v: v.name)
)


@cache
def prepared(job: str, version: TableVersion) -> tuple[Storage, RunJob]:
    storage = copied(with_all_indexes(version))
    return storage, JOBS[job](storage, ticking(0.5))


def stored_in(folder: Path, storage: Storage) -> LocalStorage:
    """A copy of a table in a folder."""
    local = LocalStorage(str(folder))
    for stored in storage.list_files():
        local.write(stored.path, storage.read(stored.path))
    return local


@VERSIONS
@pytest.mark.parametrize("job", JOBS)
def test_the_next_run_completes_the_work_of_a_killed_service(
    job: str, version: TableVersion, tmp_path: Path
) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 1_000_000))
    rng, forked = random.Random(seed), multiprocessing.get_context("fork")
    start, run = prepared(job, version)
    for name in ("warm", "timed"):  # the first run imports modules
        table, began = stored_in(tmp_path / name, start), time.monotonic()
        run(table, ticking(2))
        longest = time.monotonic() - began
    killed = 0
    for number in range(KILLS):
        folder = tmp_path / f"t{number}"
        table = stored_in(folder, start)
        process = forked.Process(target=run, args=(table, ticking(2)))
        process.start()
        time.sleep(rng.uniform(0, longest))
        process.kill()
        process.join()
        where = f"{job} {version.name}, seed {seed}, kill {number}"
        assert process.exitcode in (0, -signal.SIGKILL), where
        killed += process.exitcode != 0
        check_readers(table, where)
        table.delete(".hoodie/lock")  # the next run would wait until the lock of the dead job has expired
        run(table, ticking(4))
        check_end(table, where)
        shutil.rmtree(folder)
    tried(f"{job} with all indexes, killed", killed)
    print(f"{job} {version.name}: seed {seed}, {killed} of {KILLS} kills interrupted the job")
