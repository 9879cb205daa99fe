"""After any history of writes, cleans, crashes, rollbacks and compactions, the listing has the files of the table."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import (
    FIRST,
    SmallMetadataTable,
    all_partitions,
    files,
    moment,
)
from support.small_tables import base_file_name

PARTITIONS = ("", "a", "b/c")


@dataclass
class History:
    """A table and its metadata table, changed step by step, with the listing that must result.

    Attributes:
        crashed: time and log file of the write that is pending in the table.
    """

    version: TableVersion
    base_time: str = FIRST
    number: int = 10
    logs: int = 0
    live: dict[str, dict[str, int]] = field(default_factory=dict)
    crashed: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        self.table = SmallMetadataTable(self.version)
        self.table.own(FIRST, files=[self.table.base(FIRST, [all_partitions()])])

    @property
    def is_old(self) -> bool:
        return self.version is TableVersion.V6

    def next_time(self) -> str:
        self.number += 10
        return moment(self.number)

    def log(self, time: str, *blocks: bytes) -> str:
        self.logs += 1
        return self.table.log(
            self.base_time if self.is_old else time, *blocks, version=self.logs if self.is_old else 1
        )

    def new_file(self, time: str, path: str) -> tuple[str, list[MetadataRecord]]:
        name = base_file_name(f"f{self.number}", time)
        return name, [all_partitions(path), files(path, {name: self.number})]

    def write(self, path: str) -> None:
        time = self.next_time()
        name, records = self.new_file(time, path)
        self.table.write(time, self.log(time, self.table.records(time, *records)))
        self.live.setdefault(path, {})[name] = self.number

    def clean(self, path: str) -> None:
        if not self.live.get(path):
            return
        time, name = self.next_time(), min(self.live[path])
        self.table.own(time, files=[self.log(time, self.table.records(time, files(path, {name: None})))])
        self.table.data(time, Action.CLEAN)
        del self.live[path][name]

    def crash(self, path: str) -> None:
        """Die between the two commits of a write."""
        if self.crashed is None:
            time = self.next_time()
            _, records = self.new_file(time, path)
            name = self.log(time, self.table.records(time, *records))
            self.table.own(time, files=[name])
            self.table.data(time, pending=True)
            self.crashed = (time, name)

    def roll_back(self, path: str) -> None:
        """Undo the crashed write as Hudi does: with a rollback block in version 6, later by deleting the log file."""
        if self.crashed is None:
            return
        (target, name), self.crashed = self.crashed, None
        time = self.next_time()
        own_time = f"{time}006" if self.is_old else time
        for stored in list(self.table.storage.list_files(".hoodie")):
            if stored.name.startswith(target):
                self.table.storage.delete(stored.path)
        if self.is_old:
            self.table.own(time)
            self.log(own_time, self.table.rollback(own_time, target))
        else:
            self.table.storage.delete(f"{METADATA_TABLE}/files/{name}")
        self.table.own(own_time, Action.ROLLBACK)
        self.table.data(time, Action.ROLLBACK)

    def compact(self, path: str) -> None:
        if self.crashed is not None:
            return
        time = self.next_time()
        if self.is_old:
            time = f"{moment(self.number - 10)}001"
        records = self.table.read().values()
        self.table.own(time, Action.COMMIT, files=[self.table.base(time, records)])
        self.base_time, self.logs = time, 0

    def listed(self) -> dict[str, dict[str, int]]:
        table = self.table
        outcome = list_from_metadata_table(table.storage, table.config, table.timeline, FixedClock())
        assert isinstance(outcome, ListedTable), outcome
        return {p: {f.name: f.size_bytes for f in found} for p, found in outcome.files.items()}


STEPS: list[Callable[[History, str], None]] = [
    History.write,
    History.clean,
    History.crash,
    History.roll_back,
    History.compact,
]


@pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=str)
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(PARTITIONS)), max_size=12))
def test_the_listing_is_that_of_the_completed_writes(
    version: TableVersion, steps: list[tuple[Callable[[History, str], None], str]]
) -> None:
    history = History(version)
    for step, path in steps:
        step(history, path)
        assert history.listed() == history.live
