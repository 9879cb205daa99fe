"""Real Hudi writes while our table services run in a loop. At the end, the table contains exactly the rows of Hudi.

Hudi upserts small batches in its own process. At the same time, this process schedules and executes clusterings, and
every second clustering sorts the rows. After each clustering, this process cleans and archives. The test repeats failed
operations of both sides. An upsert of Hudi fails if it updates rows in files of a pending plan, or if Hudi finds a
conflict when it commits. A clustering fails if Hudi has changed all files of the plan. ``CLUSTERING_LOOP_SECONDS`` sets
the duration of the loop.
"""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from judges.clusterings import BLOOM, NO_PADDING, assert_all_read
from judges.concurrent_jobs import (
    EXTRA_SECONDS,
    LOCKED,
    PARTITIONS,
    UPDATED_KEYS,
    HudiWriter,
    Services,
    read_by_us,
)
from judges.engine import Engine
from judges.hudi_judge import HudiRefusedError
from judges.oracle import ONLY_NEWEST_SAMPLED, ONLY_OLDEST_SAMPLED, Oracle
from judges.rows import PLAIN, Model, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import timeline_folder
from support.depth import number_from

_LOG = logging.getLogger(__name__)

SECONDS = number_from("CLUSTERING_LOOP_SECONDS", 8, 30)
HISTORY = 5
"""Number of commits before the loop. Without them, the first round could not clean and archive.

If Hudi refuses a write during the loop, cleaning and archival wait for two minutes, until the heartbeat of the write
expires.
"""


@pytest.mark.thorough
@pytest.mark.parametrize("oracle", ONLY_NEWEST_SAMPLED)
def test_no_rows_are_lost_or_duplicated_if_hudi_writes_during_our_table_services(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = {**oracle.options("t", **BLOOM), **LOCKED}
    rows = some_rows(range(UPDATED_KEYS), 0, PLAIN, PARTITIONS)
    engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=NO_PADDING)
    for _ in range(HISTORY):
        engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=NO_PADDING)
        # In its first write, Hudi loads classes for several seconds.
    judge.write(base_path, as_table(rows, PLAIN), options)
    writer = HudiWriter(judge, base_path, options, merged({}, rows), time.monotonic() + SECONDS)
    services = Services(engine, base_path)
    writer.must_continue = lambda: not (running.done() or services.has_done_all)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(services.run)
        try:
            writer.run()
        finally:
            services.stop()
        running.result()

    figures = (
        f"{writer.upserts} upserts, {len(writer.model)} rows, refused: {dict(writer.conflicts)}; "
        f"{len(services.completed)} clusterings, {len(writer.clusterings_seen)} during a write; "
        f"lost: {dict(services.lost)}; "
        f"{len(services.cleaned)} cleans of {sum(services.cleaned)} files, "
        f"{len(services.archived)} archivals of {sum(services.archived)} commits"
    )
    _LOG.info("%s: %s", oracle, figures)
    assert_all_read(judge, base_path, writer.model, oracle)
    assert_rows_equal(read_by_us(base_path), writer.model, "our reader")
    assert writer.upserts >= 2, figures
    assert len(services.completed) >= 2, figures
    assert writer.clusterings_seen, figures
    assert services.cleaned, figures
    assert services.archived, figures

    # Our next write rolls back Hudi's refused writes; all other rows stay.
    last = some_rows(range(UPDATED_KEYS), 999, PLAIN, PARTITIONS)
    engine.write(base_path, as_table(last, PLAIN), version=oracle.table_version, options=NO_PADDING)
    assert_all_read(judge, base_path, merged(writer.model, last), oracle)


@pytest.mark.parametrize("oracle", ONLY_OLDEST_SAMPLED)
def test_hudi_finds_a_conflict_with_a_clustering_that_ran_while_hudi_searched_for_keys(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    """Until Hudi's write is inflight, no other job knows which files the write will change.

    Therefore Hudi must find the conflict.
    """
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = {**oracle.options("t", **BLOOM), **LOCKED}
    model: Model = {}
    for numbers in (range(8), range(8, 16)):
        rows = some_rows(numbers, 0, PLAIN)
        engine.write(base_path, as_table(rows, PLAIN), version=oracle.table_version, options=NO_PADDING)
        model = merged(model, rows)
    # Hudi needs some seconds to search for 20,000 new keys. The files of the plan contain none of these keys.
    new = [{**row, "key": f"new-{i}", "part": "c"} for i, row in enumerate(some_rows([0] * 20_000, 1, PLAIN))]
    batch = some_rows(range(16), 1, PLAIN) + new
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(judge.write, base_path, as_table(batch, PLAIN), options)
        begun = _wait_for_request(base_path)
        engine.schedule_clustering(base_path)
        engine.execute_clustering(base_path)
        assert not list(timeline_folder(base_path).glob(f"{begun}.inflight")), (
            "Hudi's write was already inflight, so this test proves nothing"
        )
        with pytest.raises(HudiRefusedError, match="HoodieWriteConflictException"):
            write.result()
    assert_all_read(judge, base_path, model, oracle)
    judge.write(base_path, as_table(batch, PLAIN), options)
    assert_all_read(judge, base_path, merged(model, batch), oracle)


def _wait_for_request(base_path: Path) -> str:
    """Wait until the third commit is requested and Hudi has read the timeline; return the requested time."""
    deadline = time.monotonic() + EXTRA_SECONDS
    while time.monotonic() < deadline:
        requested = sorted(path.name for path in timeline_folder(base_path).glob("*.commit.requested"))
        if len(requested) == 3:
            time.sleep(0.3)
            return requested[-1].partition(".")[0]
        time.sleep(0.01)
    raise AssertionError("Hudi did not begin to write")
