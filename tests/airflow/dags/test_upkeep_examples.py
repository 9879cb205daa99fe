"""The example ``recover_a_table``, run as a DAG on a table; approvals are simulated."""

import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.airflow_versions import DagBag
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

EXAMPLE = Path(__file__).parents[3] / "dags_examples" / "recover_a_table.py"
A = FileGroupId("city=a", "a-0")


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    """A table with two commits, a dead write, and an orphan, whose instant time is between the times of the commits."""
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(days=2), step=timedelta(minutes=5))
    made = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9, clock)
    made.commit(A)
    removed = made.begin()
    made.add_file("city=a", base_file_name("orphan", removed.requested_time))
    made.timeline_store.remove(removed)
    made.commit(A)
    made.begin()
    return made


@pytest.fixture
def recover(
    airflow_db: None, run_dag: Callable[..., Any], table: SmallTable
) -> Callable[..., dict[str, str]]:
    def run(way: str, **fields: str) -> dict[str, str]:
        bag = DagBag(str(EXAMPLE))
        assert bag.import_errors == {}
        conf = {"base_path": table.storage.base_path, "way": way, **fields}
        done = run_dag(bag.dags["recover_a_table"], run_conf=conf, mark_success_pattern=r"approve_\d")
        return {ti.task_id: str(ti.state) for ti in done.get_task_instances()}

    return run


def test_a_dead_write_is_rolled_back(recover: Callable[..., dict[str, str]], table: SmallTable) -> None:
    states = recover("roll back failed writes")
    assert (states["preview_0"], states["act_0"], states["health_after"]) == ("success",) * 3
    assert states["act_1"] == states["act_2"] == "skipped"
    assert table.timeline_store.load().pending == ()


def test_a_table_is_restored_to_its_savepoint(
    recover: Callable[..., dict[str, str]], table: SmallTable
) -> None:
    from hudi_table_services.contract.recovery import CreateSavepointRequest
    from hudi_table_services.jobs.recovery.savepoint import create_savepoint

    for stored in (
        table.storage.list_files()
    ):  # with a savepoint of the first commit, the file would count as committed
        if stored.name.startswith("orphan"):
            table.storage.delete(stored.path)
    first, second = table.timeline_store.load().completed_writes
    create_savepoint(CreateSavepointRequest(base_path=table.storage.base_path, instant=first.requested_time))
    states = recover("restore to the savepoint", savepoint=first.requested_time)
    assert (states["preview_1"], states["act_1"]) == ("success",) * 2
    assert [i.requested_time for i in table.timeline_store.load().completed_writes] == [first.requested_time]
    assert not table.storage.exists(f"city=a/{base_file_name(A.file_id, second.requested_time)}")


def test_orphans_are_copied_and_deleted(
    recover: Callable[..., dict[str, str]], table: SmallTable, tmp_path: Path
) -> None:
    (orphan,) = [f.path for f in table.storage.list_files() if f.name.startswith("orphan")]
    way = "delete files that belong to no instant"
    backup = str(tmp_path / "backup")
    assert recover(way, backup_path=backup)["preview_2"] == "skipped", (
        "the modification time of the file is too recent"
    )
    two_days_ago = time.time() - 2 * 86_400
    os.utime(tmp_path / "table" / orphan, (two_days_ago, two_days_ago))
    states = recover(way, backup_path=backup)
    assert (states["preview_2"], states["act_2"]) == ("success",) * 2
    assert not table.storage.exists(orphan)
    assert (tmp_path / "backup" / orphan).read_bytes() == b"PAR1"
