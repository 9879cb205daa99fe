"""Two commits that add a file group for the same bucket of a bucket index conflict, whatever their keys are."""

from uuid import uuid4

import pytest

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, CommitMetadata, WriteOperation
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.locks.lock import table_lock
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess
from support.overtaken_commits import written
from support.small_tables import SCHEMA, SmallTable

TAIL = "1111-2222-3333-444444444444-0"
OURS = FileGroupId("city=x", f"00000003-{TAIL}")


def commit_beside(version: TableVersion, ours: FileGroupId, theirs: FileGroupId) -> Instant:
    """Commit a new file group, after another writer has committed a new one."""
    table = SmallTable(MemoryStorage(uuid4().hex), version)
    table.commit(FileGroupId("city=x", f"00000000-{TAIL}"))
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    lock, snapshot = table_lock(table.storage, LockOptions()), load_snapshot(table.storage)
    with CommitAttempt(access, snapshot, Action.COMMIT, lock, "ours") as attempt:
        stat = written(ours, attempt.instant_time, prev_commit=NEW_FILE_GROUP)
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats={stat.partition_path: (stat,)},
            extra_metadata={"schema": SCHEMA},
        )
        attempt.start(metadata)
        table.commit(theirs)
        return attempt.complete(metadata)


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def test_two_new_file_groups_of_one_bucket_conflict(version: TableVersion) -> None:
    with pytest.raises(FileGroupConflictError, match="adds a file group for the same bucket"):
        commit_beside(version, OURS, FileGroupId("city=x", f"00000003-9999-{TAIL[5:]}"))


@pytest.mark.parametrize(
    "theirs",
    [
        FileGroupId("city=x", f"00000004-{TAIL}"),
        FileGroupId("city=y", f"00000003-{TAIL}"),
        FileGroupId("city=x", f"b0000003-{TAIL}"),
    ],
)
def test_other_buckets_and_other_partitions_do_not_conflict(theirs: FileGroupId) -> None:
    assert commit_beside(TableVersion.V9, OURS, theirs).is_completed


def test_file_groups_of_other_indexes_do_not_conflict() -> None:
    ours, theirs = (FileGroupId("city=x", f"{name}0000000-{TAIL}") for name in "ab")
    assert commit_beside(TableVersion.V9, ours, theirs).is_completed
