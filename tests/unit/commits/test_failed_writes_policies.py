"""The option `hoodie.cleaner.policy.failed.writes` determines which jobs roll back failed writes."""

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
    ("policy", "heartbeat", "is_rolled_back"),
    [
        (FailedWritesPolicy.EAGER, "none", True),
        (FailedWritesPolicy.EAGER, "expired", True),
        (FailedWritesPolicy.EAGER, "fresh", False),
        (FailedWritesPolicy.LAZY, "none", True),
        (FailedWritesPolicy.LAZY, "expired", True),
        (FailedWritesPolicy.LAZY, "fresh", False),
        (FailedWritesPolicy.NEVER, "none", False),
        (FailedWritesPolicy.NEVER, "expired", False),
        (FailedWritesPolicy.NEVER, "fresh", False),
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
    """Begin a write with one file and, unless `heartbeat` is none, with a heartbeat of the current time."""
    pending = table.begin()
    path = table.add_file("a", base_file_name("f2", pending.requested_time))
    if heartbeat != "none":
        table.storage.write(heartbeat_path(pending.requested_time), OWNER.encode())
    return pending, path


def clock(heartbeat: str) -> FixedClock:
    """A clock for which a heartbeat of the current time is fresh or expired; heartbeats expire after two minutes."""
    seconds = 121 if heartbeat == "expired" else 119
    return FixedClock(datetime.now(timezone.utc) + timedelta(seconds=seconds))


def is_gone(table: SmallTable, pending: Instant, path: str) -> bool:
    on_timeline = any(i.identity == pending.identity for i in table.timeline_store.load())
    assert on_timeline == table.storage.exists(path), "either the instant and its files exist, or neither"
    return not on_timeline


@CASES
def test_the_next_write_applies_the_policy(
    table: SmallTable, policy: FailedWritesPolicy, heartbeat: str, is_rolled_back: bool
) -> None:
    pending, path = pending_write(table, heartbeat)
    access = TableAccess(storage=table.storage, clock=clock(heartbeat), config=table.config)
    cleared = clear_pending_writes(access, FileSystemLock(table.storage), "another", policy)
    assert [i.identity for i in cleared] == ([pending.identity] if is_rolled_back else [])
    assert is_gone(table, pending, path) is is_rolled_back


@CASES
def test_the_next_clean_applies_the_policy(
    table: SmallTable, policy: FailedWritesPolicy, heartbeat: str, is_rolled_back: bool
) -> None:
    pending, path = pending_write(table, heartbeat)
    request = CleanRequest(base_path="/t", options={KEY: policy.value})
    result = clean(request, storage=table.storage, clock=clock(heartbeat))
    assert result.report is not None
    assert result.report.rolled_back == ((pending.requested_time,) if is_rolled_back else ())
    assert is_gone(table, pending, path) is is_rolled_back


@pytest.mark.parametrize("policy", FailedWritesPolicy, ids=lambda p: p.value)
def test_an_earlier_attempt_of_the_same_request_is_rolled_back_under_every_policy(
    table: SmallTable, policy: FailedWritesPolicy
) -> None:
    pending, path = pending_write(table, "fresh")
    access = TableAccess(storage=table.storage, clock=clock("fresh"), config=table.config)
    clear_pending_writes(access, FileSystemLock(table.storage), OWNER, policy)
    assert is_gone(table, pending, path)


def test_the_default_policy_of_a_clean_is_lazy_if_the_table_has_several_writers() -> None:
    several = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    one_writer = resolve_clean_options(CleanRequest(base_path="/t"))
    several_writers = resolve_clean_options(CleanRequest(base_path="/t", options=several))
    never = resolve_clean_options(CleanRequest(base_path="/t", options={**several, KEY: "NEVER"}))
    assert [o.failed_writes for o in (one_writer, several_writers, never)] == [
        FailedWritesPolicy.EAGER,
        FailedWritesPolicy.LAZY,
        FailedWritesPolicy.NEVER,
    ]
