"""If a commit is requested during another commit and completes first, no statistics of a partition are lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from hudi_table_services.commits.metadata_table import maintenance
from hudi_table_services.hudi_format.metadata_table.file_groups import PARTITION_STATS
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from support.faulty_storage import FaultyStorage
from support.metadata_table.built_tables import opened, records_in
from support.metadata_table.maintained_tables import Write, copied, maintained, ticking

EARLY, LATE = (FileGroupId("a", f"{UUID(int=digit << 124)}-0") for digit in (0xA, 0xB))
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)


@dataclass
class During(FaultyStorage):
    """Another writer commits once, right before the first data file of a write is created."""

    act: Callable[[], object] = lambda: None
    has_acted: bool = False

    def _change(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        is_data = str(arguments[0]).endswith(".parquet")
        if is_data and not self.has_acted:
            self.has_acted = True
            self.act()
        return operation(*arguments)


def overtake(storage: Storage, early: int, late: int) -> None:
    """A commit with the values `early`, and one with the values `late` that is requested later and completes first."""
    clock = ticking(0.3)
    during = During(storage, act=lambda: Write((LATE,), "late", late)(storage, clock))
    Write((EARLY,), "early", early)(during, clock)
    store = opened(storage).data_timeline
    first, second = store.completed_writes[-2:]
    assert first.requested_time < second.requested_time
    assert (first.completion_time or "") > (second.completion_time or "")


def range_of_numbers(storage: Storage) -> tuple[int, int, bool]:
    """The range of the column `n` in the partition `a`, and whether it is tight."""
    (stats,) = (
        record.payload
        for record in records_in(storage, PARTITION_STATS).values()
        if isinstance(record.payload, ColumnStats)
        and (record.payload.file_name, record.payload.column_name) == ("a", "n")
    )
    assert stats.min_value is not None
    assert stats.max_value is not None
    return stats.min_value.value, stats.max_value.value, stats.is_tight_bound  # type: ignore[return-value]


def compactions(storage: Storage) -> int:
    return sum(i.action is Action.COMMIT for i in opened(storage).timeline.completed)


@VERSIONS
def test_the_range_contains_the_values_of_both_commits(version: TableVersion) -> None:
    storage = copied(maintained(version))
    overtake(storage, early=50, late=10)
    low, high, is_tight = range_of_numbers(storage)
    assert (low, high) == (2, 51)
    assert not is_tight
    assert compactions(storage) == 0
    # The next commit without an earlier pending instant makes the range tight again.
    Write((EARLY,), "next", 30)(storage, ticking(2))
    assert range_of_numbers(storage) == (2, 31, True)


@pytest.fixture
def hudis_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """All records are tight, as those of Hudi."""
    monkeypatch.setattr(maintenance, "may_be_overtaken", lambda *_: False)


@VERSIONS
@pytest.mark.usefixtures("hudis_records")
def test_a_tight_record_of_hudi_that_hides_the_range_is_merged_by_a_compaction(version: TableVersion) -> None:
    storage = copied(maintained(version))
    overtake(storage, early=50, late=10)
    assert range_of_numbers(storage) == (2, 51, True)
    assert compactions(storage) == 1


@VERSIONS
@pytest.mark.usefixtures("hudis_records")
def test_a_range_inside_the_tight_record_of_hudi_needs_no_compaction(version: TableVersion) -> None:
    storage = copied(maintained(version))
    overtake(storage, early=30, late=50)
    assert range_of_numbers(storage)[:2] == (2, 51)
    assert compactions(storage) == 0


@VERSIONS
@pytest.mark.usefixtures("hudis_records")
def test_damaged_statistics_of_a_concurrent_commit_do_not_refuse_a_write(
    version: TableVersion, caplog: pytest.LogCaptureFixture
) -> None:
    storage, clock = copied(maintained(version)), ticking(0.3)

    def commit_and_damage() -> None:
        late = Write((LATE,), "late", 10)(storage, clock)
        folder = f".hoodie/metadata/{PARTITION_STATS}"
        (log,) = (f.path for f in storage.list_files(folder) if late.requested_time in f.name)
        storage.write(log, storage.read(log)[:-9])

    Write((EARLY,), "early", 50)(During(storage, act=commit_and_damage), clock)
    assert [i.action for i in opened(storage).data_timeline.completed_writes] == [Action.COMMIT] * 4
    assert "The statistics of concurrent commits in the metadata table cannot be read" in caplog.text
