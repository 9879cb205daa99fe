"""A clustering plan has the time of a running write of real Hudi 0.15, which chooses times without the lock.

Such a collision is rare, so the test schedules the plan with the time of the write.
"""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from hudi_table_services.errors import InstantVanishedError
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from judges import hudi_rs
from judges.clusterings import NO_PADDING
from judges.concurrent_jobs import LOCKED, PARTITIONS
from judges.engine import Engine
from judges.hudi_judge import HudiRefusedError
from judges.oracle import V6_OLD
from judges.rows import PLAIN, as_table, assert_rows_equal, merged, some_rows

SECONDS = 120.0


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("removal", ["execution", "cancellation"])
def test_the_write_keeps_its_rows(
    hudi, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str, removal: str
) -> None:
    judge, base_path = hudi(V6_OLD.release), tmp_path / "t"
    options = {
        **V6_OLD.options("t", datasource__write__table__type=table_type, compact__inline="false"),
        **NO_PADDING,
        **LOCKED,
    }
    rows = some_rows(range(24), 0, PLAIN, PARTITIONS)
    judge.write(base_path, as_table(rows, PLAIN), options)
    engine.write(base_path, as_table(rows[:12], PLAIN), version=6, options=NO_PADDING)
    storage = LocalStorage(str(base_path))
    store = TimelineStore(storage, read_table_config(storage), SystemClock())
    new = some_rows(range(24, 48), 1, PLAIN, PARTITIONS)
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(judge.write, base_path, as_table(new, PLAIN), options)
        running = running_write(store)
        with monkeypatch.context() as patched:
            patched.setattr(TimelineStore, "new_instant_time", lambda _: running.requested_time)
            scheduled = engine.schedule_clustering(base_path, sort_columns=("double",))
        assert scheduled.instant_time == running.requested_time, scheduled.reason
        shared = store.load().find(running.requested_time)
        assert {each.action for each in shared} >= {running.action, Action.REPLACE_COMMIT}
        assert not all(each.is_completed for each in shared)
        if removal == "execution":
            with pytest.raises(InstantVanishedError, match="of another writer has the same time"):
                engine.execute_clustering(base_path)
        has_completed = completes(write)
    if removal == "cancellation":
        engine.cancel_clustering(base_path)
    if has_completed:
        assert [i.action for i in store.load().find(running.requested_time)] == [running.action]
    else:
        judge.write(base_path, as_table(new, PLAIN), options)
    model = merged(merged({}, rows), new)
    assert_rows_equal(judge.read(base_path), model, "Hudi")
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")

    engine.schedule_clustering(base_path, sort_columns=("double",))
    assert engine.execute_clustering(base_path).instant_time is not None
    assert_rows_equal(judge.read(base_path), model, "Hudi after the next clustering")


def completes(write: "Future[None]") -> bool:
    """Wait for the write of Hudi. Return False if it failed because it read the plan in the moment of its removal."""
    try:
        write.result()
    except HudiRefusedError as error:
        if "replacecommit.requested does not exist" not in error.trace:
            raise
        return False
    return True


def running_write(store: TimelineStore) -> Instant:
    """Wait until the other writer has requested its write."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for instant in store.load().pending:
            if instant.action.writes_data:
                return instant
        time.sleep(0.02)
    raise AssertionError("Hudi requested no write.")
