"""Real Hudi, a writer of the engine and the engine's table services change one merge-on-read table at the same time.

All three take the same lock. Both writers update rows in log files and add rows; the engine also deletes rows,
compacts, clusters and cleans. At the end, no row is lost or doubled for any reader. ``LOG_LOOP_SECONDS`` sets the
duration of the loop.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hudi_table_services.errors import CommitConflictError
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.views.table_rows import read_table_rows
from judges import hudi_rs
from judges.clusterings import NO_PADDING
from judges.concurrent_jobs import EXTRA_SECONDS, LOCKED, PARTITIONS, UPDATED_KEYS, HudiWriter
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.merge_on_read.concurrent_log_jobs import LogServices, OurLogWriter
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import PLAIN, Model, as_table, assert_rows_equal, merged, some_rows
from support.compaction.hudi_compactions import Compactor, read_optimized
from support.depth import cases, number_from

_LOG = logging.getLogger(__name__)

SECONDS = number_from("LOG_LOOP_SECONDS", 8, 120)
HISTORY = 4
"""Number of commits before the loop, so that the first clean has something to delete."""
FIRST_PAUSE_S = 8.0
"""Length of the first pause of Hudi after the end of the loop. Each further pause is twice as long."""
INDEX = {"hoodie.index.type": "SIMPLE"}


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", cases([V6_OLD, V8, V9], [V9]))
def test_no_row_is_lost_or_doubled_if_both_write_log_files(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = {
        **oracle.options("t", datasource__write__table__type="MERGE_ON_READ", compact__inline="false"),
        **NO_PADDING,
        **INDEX,
        **LOCKED,
    }
    rows = some_rows(range(UPDATED_KEYS), 0, PLAIN, PARTITIONS)
    judge.write(base_path, as_table(rows, PLAIN), options)
    for _ in range(HISTORY):
        engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=NO_PADDING)
    # If the base path is a string, `HudiWriter` does not wait for a clustering that ends during one of its writes.
    hudis = HudiWriter(judge, str(base_path), options, merged({}, rows), time.monotonic() + SECONDS)
    writer = OurLogWriter(engine, base_path, oracle.table_version, NO_PADDING)
    services = LogServices(engine, base_path)
    pauses = Pauses(
        lambda: any(each.done() for each in running) or (services.has_done_all and writer.deletes > 0)
    )
    hudis.must_continue = pauses.are_insufficient
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(services.run), pool.submit(writer.run)]
        try:
            hudis.run()
        finally:
            services.stop()
            writer.stop()
        for each in running:
            each.result()

    figures = (
        f"Hudi: {hudis.upserts} upserts, refused {dict(hudis.conflicts)}; we: {writer.upserts} upserts and "
        f"{writer.deletes} deletes, refused {dict(writer.conflicts)}; services: {dict(services.completed)}, lost "
        f"{dict(services.lost)}"
    )
    _LOG.warning("%s: %s", oracle, figures)
    model = merged(hudis.model, list(writer.model.values()))
    compactor = Compactor(engine)
    # hudi-rs does not read log files that are written to a table of version 6 while a compaction is pending.
    patiently(lambda: compactor.execute(base_path))
    # A write of Hudi that was refused stays pending until a job rolls it back; the next write of the engine does so.
    last = some_rows(range(UPDATED_KEYS), 998, PLAIN, PARTITIONS)
    patiently(
        lambda: engine.write(
            base_path, as_table(last, PLAIN), version=oracle.table_version, options=NO_PADDING
        )
    )
    model = merged(model, last)
    assert_read(judge, base_path, model, figures)
    assert hudis.upserts >= 2, figures
    assert writer.upserts >= 2, figures
    assert writer.deletes, figures
    assert services.has_done_all, figures

    patiently(lambda: (compactor.schedule(base_path), compactor.execute(base_path)))
    assert_read(judge, base_path, model, figures)
    last = some_rows(range(UPDATED_KEYS), 999, PLAIN, PARTITIONS)
    judge.write(base_path, as_table(last, PLAIN), options)
    assert_read(judge, base_path, merged(model, last), figures)


class Pauses:
    """Growing pauses between the writes of Hudi after the end of the loop.

    In table version 6, a refused write of Hudi excludes other writes of its file groups until its heartbeat expires
    after two minutes. If Hudi continues to write on a busy machine, its refused writes can exclude the engine all the
    time.

    Args:
        is_done: returns whether the engine has done everything that the test requires.
    """

    def __init__(self, is_done: Callable[[], bool]) -> None:
        self._is_done = is_done
        self._seconds = FIRST_PAUSE_S

    def are_insufficient(self) -> bool:
        """Wait until the engine has done everything, or until the end of the next pause; True in the second case."""
        end = time.monotonic() + self._seconds
        self._seconds *= 2
        while not self._is_done():
            if time.monotonic() > end:
                return True
            time.sleep(0.2)
        return False


def patiently(act: Callable[[], object]) -> None:
    """Repeat an action that loses a conflict.

    In table version 6, a refused write of Hudi excludes other writes of its file groups until its heartbeat expires.
    """
    deadline = time.monotonic() + EXTRA_SECONDS
    while True:
        try:
            act()
            return
        except CommitConflictError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def assert_read(judge: HudiJudge, base_path: Path, model: Model, figures: str) -> None:
    """Hudi, hudi-rs and the engine read the rows, and base files contain no key twice."""
    assert_rows_equal(judge.read(base_path), model, f"Hudi {judge.release}; {figures}")
    ours = read_table_rows(LocalStorage(str(base_path)), columns=PLAIN.names)
    assert_rows_equal(ours, model, f"our reader; {figures}")
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, f"hudi-rs; {figures}")
    read_optimized(judge, base_path)
