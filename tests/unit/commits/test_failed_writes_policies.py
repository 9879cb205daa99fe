"""Who rolls failed writes back, by `hoodie.cleaner.policy.failed.writes`: the next write, the next clean, or no job."""

from datetime import datetime, timedelta, timezone
from uuid import uuid4

import pytest

from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

KEY = "hoodie.cleaner.policy.failed.writes"
OWNER = "other writer"
CASES = pytest.mark.parametrize(
    ("policy", "heartbeat", "goes"),
    [
        (FailedWritesPolicy.EAGER, "none", True),
        (FailedWritesPolicy.EAGER, "expired", True),
        (FailedWritesPolicy.EAGER, "living", False),
        (FailedWritesPolicy.LAZY, "none", True),
        (FailedWritesPolicy.LAZY, "expired", True),
        (FailedWritesPolicy.LAZY, "living", False),
        (FailedWritesPolicy.NEVER, "none", False),
        (FailedWritesPolicy.NEVER, "expired", False),
        (FailedWritesPolicy.NEVER, "living", False),
    ],
    ids=lambda value: getattr(value, "value", str(value)),
)


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(request: pytest.FixtureRequest) -> SmallTable:
    start = datetime.now(timezone.utc) - timedelta(hours=2)
    table = SmallTable(MemoryStorage(uuid4().hex), request.param, FixedClock(start, timedelta(minutes=1)))
    table.commit(FileGroupId("a", "f1"))
    return table


def pending_write(table: SmallTable, heartbeat: str) -> tuple[Instant, str]:
    """Begin a write with one file, and a heartbeat refreshed now."""
    pending = table.begin()
    path = table.add_file("a", base_file_name("f2", pending.requested_time))
    if heartbeat != "none":
        table.storage.write(heartbeat_path(pending.requested_time), OWNER.encode())
    return pending, path


def clock(heartbeat: str) -> FixedClock:
    """Two minutes after a living heartbeat; a second more and it has expired."""
    seconds = 121 if heartbeat == "expired" else 119
    return FixedClock(datetime.now(timezone.utc) + timedelta(seconds=seconds))


def is_gone(table: SmallTable, pending: Instant, path: str) -> bool:
    on_timeline = any(i.identity == pending.identity for i in table.timeline_store.load())
    assert on_timeline == table.storage.exists(path), "the files go with the instant, or stay with it"
    return not on_timeline


@CASES
def test_the_next_write(table: SmallTable, policy: FailedWritesPolicy, heartbeat: str, goes: bool) -> None:
    pending, path = pending_write(table, heartbeat)
    access = TableAccess(storage=table.storage, clock=clock(heartbeat), config=table.config)
    cleared = clear_pending_writes(access, FileSystemLock(table.storage), "another", policy)
    assert [i.identity for i in cleared] == ([pending.identity] if goes else [])
    assert is_gone(table, pending, path) is goes


@CASES
def test_the_next_clean(table: SmallTable, policy: FailedWritesPolicy, heartbeat: str, goes: bool) -> None:
    pending, path = pending_write(table, heartbeat)
    request = CleanRequest(base_path="/t", options={KEY: policy.value})
    result = clean(request, storage=table.storage, clock=clock(heartbeat))
    assert result.report is not None
    assert result.report.rolled_back == ((pending.requested_time,) if goes else ())
    assert is_gone(table, pending, path) is goes


@pytest.mark.parametrize("policy", FailedWritesPolicy, ids=lambda p: p.value)
def test_an_earlier_attempt_of_the_same_request_is_rolled_back_under_every_policy(
    table: SmallTable, policy: FailedWritesPolicy
) -> None:
    pending, path = pending_write(table, "living")
    access = TableAccess(storage=table.storage, clock=clock("living"), config=table.config)
    clear_pending_writes(access, FileSystemLock(table.storage), OWNER, policy)
    assert is_gone(table, pending, path)


def test_a_clean_beside_several_writers_is_lazy_by_default() -> None:
    several = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    alone = resolve_clean_options(CleanRequest(base_path="/t"))
    beside = resolve_clean_options(CleanRequest(base_path="/t", options=several))
    never = resolve_clean_options(CleanRequest(base_path="/t", options={**several, KEY: "NEVER"}))
    assert [o.failed_writes for o in (alone, beside, never)] == [
        FailedWritesPolicy.EAGER,
        FailedWritesPolicy.LAZY,
        FailedWritesPolicy.NEVER,
    ]
