"""``.hoodie`` is deleted before a job or during the job: no job creates a new table over the data files."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest

from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import (
    CorruptTableError,
    HudiTableServiceError,
    InvalidRequestError,
    TableNotFoundError,
    UnsupportedTableError,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage import table_store
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import (
    BACKUP,
    PROPERTIES,
    create_table,
    find_table_config,
    read_table_config,
)
from hudi_table_services.tables.table import check_writable
from support.depth import number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls
from support.jobs_on_tables import JOBS, READ_ONLY_JOBS, later, read_state
from support.small_tables import table_properties
from support.undone_tables import a_table

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
START = datetime.now(timezone.utc) - timedelta(hours=3)
EVERY = int(number_from("FAIL_EVERY", 10, 1))
FEW_CALLS = 20
"""If a job makes fewer calls than this number, the job runs once for each call, and the table vanishes at this call.

Only the first calls of a job find out that the table is gone, and larger steps could miss all of these calls.
"""
# A job that changes the properties writes the file without reading the old file, so only this file may exist again.
JOBS_THAT_NEED_A_TABLE = [job for job in JOBS if job not in ("check config", "drop metadata table")]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs read missing files again without a pause."""
    monkeypatch.setattr(table_store, "_READ_PAUSE_SECONDS", 0.0)


def hoodie_of(storage: Storage) -> dict[str, bytes]:
    return {f.path: storage.read(f.path) for f in storage.list_files(".hoodie")}


def data_of(storage: Storage) -> set[str]:
    return {f.path for f in storage.list_files() if f.path.endswith(".parquet") and ".hoodie/" not in f.path}


@dataclass
class Vanishing(FailingCalls):
    """A storage on which another process deletes ``.hoodie`` directly before or after the n-th call."""

    def list_files(self, folder: str = "") -> Any:
        return self._call(self.inner.list_files, folder)

    def _call(self, operation: Any, *arguments: Any) -> Any:
        if not self._must_fail(operation.__name__, str(arguments[0])):
            return operation(*arguments)
        if not self.after:
            self.inner.delete_folder(".hoodie")
            return operation(*arguments)
        try:
            return operation(*arguments)
        finally:  # also after a call that raises an error because a file is missing, such as a heartbeat
            self.inner.delete_folder(".hoodie")


@VERSIONS
@pytest.mark.parametrize("job", JOBS_THAT_NEED_A_TABLE)
def test_a_job_fails_if_the_table_vanished_before_the_job(job: str, version: TableVersion) -> None:
    table = a_table(version, START)
    act = JOBS[job](table)
    data = data_of(table.storage)
    table.storage.delete_folder(".hoodie")
    with pytest.raises(
        TableNotFoundError, match=r"hoodie\.properties does not exist\. .*restore \.hoodie from"
    ):
        act(table.storage, later(1))
    assert data_of(table.storage) == data
    assert hoodie_of(table.storage) == {}
    with pytest.raises(InvalidRequestError, match=r"not a Hudi table.*restore \.hoodie from a copy"):
        find_table_config(table.storage)  # a write calls this function first


@VERSIONS
def test_the_configuration_check_fails_if_the_table_vanished_before_the_check(version: TableVersion) -> None:
    table = a_table(version, START)
    act = JOBS["check config"](table)
    table.storage.delete_folder(".hoodie")
    with pytest.raises(InvalidRequestError, match=r"not a Hudi table.*restore \.hoodie from a copy"):
        act(table.storage, later(1))


@VERSIONS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("job", JOBS_THAT_NEED_A_TABLE)
def test_a_job_during_which_the_table_vanishes_deletes_no_live_file(
    job: str, after: bool, version: TableVersion
) -> None:
    table = a_table(version, START)
    act = JOBS[job](table)
    old = read_state(table)
    undisturbed = Vanishing(table.storage, 10_000, after)
    act(undisturbed, later(1))
    new = read_state(table)
    every = EVERY if undisturbed.calls >= FEW_CALLS else 1
    first = 1 + (list(JOBS).index(job) + 2 * after + (version is TableVersion.V9)) % every
    errors = 0
    for fail_at in range(first, 10_000, every):
        table = a_table(version, START)
        act = JOBS[job](table)
        storage = Vanishing(table.storage, fail_at, after)
        raised: HudiTableServiceError | None = None
        result: object = None
        try:
            result = act(storage, later(1))
        except HudiTableServiceError as error:
            raised = error
        if storage.calls < fail_at:
            break
        tried(f"vanished, {job}")
        where = f"call {fail_at}, {storage.failed}: {raised!r}"
        errors += raised is not None
        # A job must not report "nothing to do" for a table that has vanished.
        assert not isinstance(result, JobResult) or result.outcome is Outcome.COMPLETED, where
        # Files that readers see both before and after the job are never deleted.
        assert (old.live & new.live) <= data_of(table.storage), where
        assert not table.storage.exists(PROPERTIES), where
        with pytest.raises((InvalidRequestError, TableNotFoundError)):
            find_table_config(table.storage)
        if job not in READ_ONLY_JOBS:
            with pytest.raises(TableNotFoundError):
                act(table.storage, later(3))
    assert errors > 0


@pytest.mark.parametrize("content", [b"", bytes(range(256))], ids=["empty", "noise"])
def test_damaged_properties_are_read_from_the_backup_or_are_an_error(content: bytes) -> None:
    storage = MemoryStorage(uuid4().hex)
    whole = create_table(storage, table_properties(TableVersion.V9), later(0))
    storage.write(BACKUP, storage.read(PROPERTIES))
    storage.write(PROPERTIES, content)
    assert read_table_config(storage) == find_table_config(storage) == whole
    storage.delete(BACKUP)
    for find in (read_table_config, find_table_config):
        with pytest.raises(CorruptTableError, match=rf"{PROPERTIES}.*Restore {PROPERTIES} from a copy"):
            find(storage)
    assert storage.read(PROPERTIES) == content


def test_truncated_properties_prevent_writes() -> None:
    """Without its last lines the file may still be valid, but describe a different table."""
    storage = MemoryStorage(uuid4().hex)
    whole = create_table(storage, table_properties(TableVersion.V9), later(0))
    content = storage.read(PROPERTIES)
    refused = 0
    for length in range(len(content)):
        storage.write(PROPERTIES, content[:length])
        try:
            config = read_table_config(storage)
            check_writable(config, "", updates_metadata=True)
        except (CorruptTableError, UnsupportedTableError):
            refused += 1
        else:
            assert config == whole, f"{length} of {len(content)} bytes"
    assert refused > len(content) - 5
