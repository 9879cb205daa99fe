"""Services between delta commits change no record, whichever services run and wherever they crash."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.commits.metadata_table_services.run import is_any_service_due
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from support.depth import by_depth
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.growing_metadata_tables import Changes, GrowingMetadataTable, eager
from support.metadata_table.small_metadata_tables import all_partitions, files, location, stats
from support.metadata_table.whole_metadata_golden import VERSIONS

BY_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.name)
KEYS = [f"key-{number}" for number in range(12)]
SIZES = st.none() | st.integers(1, 9)
LISTS = st.builds(
    files,
    st.sampled_from(["", "a", "b"]),
    st.dictionaries(st.sampled_from(["f", "g", "h"]), SIZES, min_size=1),
)
PARTITIONS = st.builds(
    lambda path, is_deleted: all_partitions(
        *(() if is_deleted else (path,)), deleted=[path] if is_deleted else ()
    ),
    st.sampled_from(["", "a"]),
    st.booleans(),
)


@st.composite
def statistics(draw: st.DrawFn) -> MetadataRecord:
    low, span = draw(st.integers(-5, 5)), draw(st.integers(0, 3))
    flag = draw(st.sampled_from([{}, {}, {"is_deleted": True}]))
    return stats(draw(st.sampled_from(KEYS)), low, low + span, **flag)


LOCATIONS = st.builds(location, st.sampled_from(KEYS), st.sampled_from(["x", "y"]))


def unique(records: st.SearchStrategy[MetadataRecord]) -> st.SearchStrategy[list[MetadataRecord]]:
    return st.lists(records, max_size=6, unique_by=lambda record: record.key)


def changed(
    records: st.SearchStrategy[MetadataRecord],
) -> st.SearchStrategy[tuple[list[MetadataRecord], list[str]]]:
    return st.tuples(unique(records), st.lists(st.sampled_from(KEYS), max_size=3, unique=True))


CHANGES = st.fixed_dictionaries(
    {
        file_groups.FILES: st.tuples(unique(LISTS | PARTITIONS), st.just([])),
        file_groups.COLUMN_STATS: changed(statistics()),
        file_groups.RECORD_INDEX: changed(LOCATIONS),
    }
)


@dataclass
class Walk:
    """A table with services and a table without services. The same writes change both tables.

    Attributes:
        died: instant times of the write that is pending in both tables.
    """

    version: TableVersion
    died: tuple[str, str] | None = None
    crashes: int = field(default=0)

    def __post_init__(self) -> None:
        self.served = GrowingMetadataTable.new(self.version)
        self.plain = GrowingMetadataTable.new(self.version)

    def commit(self, changes: Changes) -> None:
        for table in (self.served, self.plain):
            table.commit(changes)

    def die(self, changes: Changes) -> None:
        if self.died is None:
            self.died = (
                self.served.commit(changes, leaves_pending=True),
                self.plain.commit(changes, leaves_pending=True),
            )

    def revive(self) -> None:
        if self.died is not None:
            self.served.complete(self.died[0])
            self.plain.complete(self.died[1])
            self.died = None

    def run(self, every: int) -> None:
        chosen = eager(every=every, kept=4, most=5)
        is_due = is_any_service_due(self.served.access, self.served.open(), chosen)
        report = self.served.services(chosen)
        has_run = report.finished or report.compacted_at or report.cleaned_at or report.archived_instants
        assert is_due or not has_run

    def crash(self, every: int, fail_at: int) -> None:
        faulty = FaultyStorage(self.served.storage, fail_at)
        with suppress(Crash):
            GrowingMetadataTable(faulty, self.served.clock).services(eager(every=every, kept=4, most=5))


Step = Callable[[Walk], None]
EVERY = st.integers(1, 4)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(lambda changes: lambda walk: walk.commit(changes), CHANGES),
    st.builds(lambda changes: lambda walk: walk.commit(changes), CHANGES),
    st.builds(lambda changes: lambda walk: walk.die(changes), CHANGES),
    st.just(Walk.revive),
    st.builds(lambda every: lambda walk: walk.run(every), EVERY),
    st.builds(lambda every, at: lambda walk: walk.crash(every, at), EVERY, st.integers(1, 12)),
)


@BY_VERSION
@settings(max_examples=by_depth(5, 40))
@given(steps=st.lists(STEPS, min_size=3, max_size=15))
def test_services_change_no_record(version: TableVersion, steps: list[Step]) -> None:
    walk = Walk(version)
    for step in steps:
        step(walk)
        assert walk.served.read() == walk.plain.read()
    walk.revive()
    walk.run(1)
    assert walk.served.read() == walk.plain.read()
