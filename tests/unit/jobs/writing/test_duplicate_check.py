"""Which changes of other writers may add the same keys as a write; the check decides this without reading rows."""

from uuid import uuid4

import pytest

from hudi_table_services.errors import FileGroupConflictError
from hudi_table_services.execution.staging import StagedBatch
from hudi_table_services.execution.writing.record_index import RoutedBatch
from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.jobs.writing.batch_placement import PlacedBatch
from hudi_table_services.jobs.writing.duplicate_check import DuplicateCheck
from hudi_table_services.model.concurrent_change import ChangeKind, ConcurrentChange
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SmallTable

COMMIT = Instant(requested_time="20260101000000001", action=Action.COMMIT, state=InstantState.COMPLETED)
CHANGED = FileGroupId("city=y", "f-0")
UPSERT, OVERWRITE, OVERWRITE_TABLE = (
    WriteOperation.UPSERT,
    WriteOperation.INSERT_OVERWRITE,
    WriteOperation.INSERT_OVERWRITE_TABLE,
)


class NoIndex:
    """An index without methods, because the check must not use the index."""


def check_of(operation: WriteOperation, *, is_global: bool = False) -> DuplicateCheck:
    """The duplicate check of a write that adds a row to city=x and updates a row in city=y."""
    table = SmallTable(MemoryStorage(uuid4().hex))
    batches = tuple(
        StagedBatch("s", 0, 0, 1, path, file_id)
        for path, file_id in (("city=x", None), (CHANGED.partition_path, CHANGED.file_id))
    )
    placed = PlacedBatch(
        staged=StagedInput(batches),
        routed=RoutedBatch(batches=batches),
        snapshot=TableSnapshot(config=table.config, timeline=Timeline()),
    )
    access = TableAccess(storage=table.storage, clock=table.clock, config=table.config)
    return DuplicateCheck(
        table=access, operation=operation, placed=placed, index=NoIndex(), is_global=is_global
    )  # type: ignore[arg-type]


def added(*partitions: str, overwrites: bool = False) -> ConcurrentChange:
    return ConcurrentChange(
        instant=COMMIT, kind=ChangeKind.COMPLETED, added_to=frozenset(partitions), overwrites=overwrites
    )


@pytest.mark.parametrize(
    ("operation", "is_global", "change", "concerns"),
    [
        pytest.param(UPSERT, False, added("city=x"), True, id="rows added where the write adds rows"),
        pytest.param(
            UPSERT,
            False,
            added("city=y"),
            False,
            id="rows added where the write only updates rows",
        ),
        pytest.param(UPSERT, False, added("city=z"), False, id="rows added to another partition"),
        pytest.param(UPSERT, True, added("city=z"), True, id="rows added to another partition, global index"),
        pytest.param(UPSERT, True, added(), False, id="no rows added"),
        pytest.param(
            OVERWRITE, False, added("city=x", overwrites=True), True, id="the same partition overwritten"
        ),
        pytest.param(
            OVERWRITE, False, added("city=z", overwrites=True), False, id="another partition overwritten"
        ),
        pytest.param(
            OVERWRITE_TABLE,
            False,
            added("city=z", overwrites=True),
            True,
            id="both overwrite",
        ),
        pytest.param(
            OVERWRITE_TABLE, False, added("city=z"), False, id="rows added while the table is overwritten"
        ),
        pytest.param(
            UPSERT, False, ConcurrentChange(instant=COMMIT, kind=ChangeKind.UNDONE), True, id="undone"
        ),
    ],
)
def test_a_change_concerns_the_check_if_it_may_add_the_same_keys(
    operation: WriteOperation, is_global: bool, change: ConcurrentChange, concerns: bool
) -> None:
    assert check_of(operation, is_global=is_global).concerns(change) is concerns


def test_an_undone_commit_is_refused() -> None:
    undone = ConcurrentChange(instant=COMMIT, kind=ChangeKind.UNDONE)
    with pytest.raises(FileGroupConflictError, match=f"rolled back commit {COMMIT.requested_time}"):
        check_of(UPSERT).refuse([undone])


def test_the_later_of_two_overwrites_of_a_partition_is_refused() -> None:
    with pytest.raises(FileGroupConflictError, match="overwrote partitions that this write overwrites"):
        check_of(OVERWRITE).refuse([added("city=x", overwrites=True)])
