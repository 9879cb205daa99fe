"""Heartbeats of running writes: owner, age, refreshing and deletion."""

import time
from datetime import timedelta
from uuid import uuid4

import pytest

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.heartbeat import (
    Heartbeat,
    delete_heartbeat,
    heartbeat_path,
    is_heartbeat_alive,
    read_heartbeat_owner,
)
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock

TIME = "20260101000000000"


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


def test_a_running_write_has_a_heartbeat_with_its_owner(storage: Storage) -> None:
    with Heartbeat(storage, TIME, owner="request-1"):
        assert read_heartbeat_owner(storage, TIME) == "request-1"
        assert is_heartbeat_alive(storage, TIME, SystemClock())
    assert read_heartbeat_owner(storage, TIME) is None
    assert not is_heartbeat_alive(storage, TIME, SystemClock())


@pytest.mark.parametrize(("age_seconds", "is_alive"), [(110, True), (130, False)])
def test_a_heartbeat_expires_after_two_missed_intervals(
    storage: Storage, age_seconds: int, is_alive: bool
) -> None:
    storage.create(heartbeat_path(TIME), b"")
    clock = FixedClock(SystemClock().now() + timedelta(seconds=age_seconds))
    assert is_heartbeat_alive(storage, TIME, clock) is is_alive


def test_a_heartbeat_is_refreshed_again_after_a_failure(storage: Storage) -> None:
    faulty = FaultyStorage(storage, fail_at=2, error=lambda: StorageError("Not now."))
    with Heartbeat(faulty, TIME, owner="x", interval_ms=5):
        deadline = time.monotonic() + 5
        while faulty.changes < 4 and time.monotonic() < deadline:
            time.sleep(0.005)
    assert faulty.changes >= 4


def test_a_heartbeat_can_be_stopped_twice_and_before_its_start(storage: Storage) -> None:
    heartbeat = Heartbeat(storage, TIME, owner="x")
    heartbeat.stop()
    heartbeat.stop()
    delete_heartbeat(storage, TIME)
    assert list(storage.list_files()) == []
