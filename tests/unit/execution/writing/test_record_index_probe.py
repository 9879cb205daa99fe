"""Before the tasks look up a batch in the record index, the driver looks up some keys of the batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from hudi_table_services.execution.staging import KEY_COLUMN, StagedBatch, StagedFileWriter
from hudi_table_services.execution.writing.index_search import (
    MAX_PROBED_LIVE_GROUPS,
    SearchResult,
    probe_record_index,
    search_record_index,
)
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.stores.memory import MemoryStorage

KEYS = [f"key-{number}" for number in range(5000)]
MIB = 1 << 20


@dataclass
class Groups:
    """Ten file groups of a record index: maps each key to a file group of the table."""

    locations: dict[bytes, FileGroupId]
    size_bytes: int = MIB
    count: int = 10
    damage: UnusableMetadataTable | None = None
    looked_up: list[bytes] = field(default_factory=list)

    def part(self, start: int, stop: int) -> "Groups":
        size = self.size_bytes * (stop - start) // self.count
        return Groups(self.locations, size, stop - start, self.damage, self.looked_up)

    def locate(
        self, keys: Sequence[frozenset[bytes]], enough: frozenset[FileGroupId] | None = None
    ) -> SearchResult:
        assert len(keys) == self.count
        wanted = [key for each in keys for key in each]
        self.looked_up += wanted
        return self.damage or {self.locations[key] for key in wanted if key in self.locations}


def live(count: int) -> list[FileGroupId]:
    return [FileGroupId("p", f"f{number}") for number in range(count)]


def spread_over(groups: list[FileGroupId]) -> dict[bytes, FileGroupId]:
    return {key.encode(): groups[hash_of(key) % len(groups)] for key in KEYS}


def hash_of(key: str) -> int:
    return int(key.removeprefix("key-")) * 2654435761 % 1009


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage("probe")


def staged(storage: MemoryStorage, *parts: list[str]) -> list[StagedBatch]:
    writer = StagedFileWriter(storage, "staged", pa.schema([(KEY_COLUMN, pa.string())]))
    for part in parts:
        writer.write(pa.record_batch([pa.array(part, pa.string())], [KEY_COLUMN]), "p")
    writer.close()
    return writer.batches


@pytest.mark.parametrize("count", [1, 2, 7, MAX_PROBED_LIVE_GROUPS])
def test_keys_in_every_file_group_are_noticed_without_a_spark_job(storage: MemoryStorage, count: int) -> None:
    groups = live(count)
    index = Groups(spread_over(groups))
    found = search_record_index(None, storage, staged(storage, [], KEYS), index, groups)  # type: ignore[arg-type]
    assert found == set(groups)
    assert len(index.looked_up) < len(KEYS) / 10
    assert len({file_group_of(key.decode(), 10) for key in index.looked_up}) == 1


def test_a_file_group_without_keys_leaves_the_answer_to_the_tasks(storage: MemoryStorage) -> None:
    groups = live(5)
    index = Groups(spread_over(groups[:4]))
    assert probe_record_index(storage, staged(storage, KEYS), index, frozenset(groups)) is None
    assert index.looked_up


def test_an_index_that_cannot_be_used_is_reported(storage: MemoryStorage) -> None:
    groups, damage = live(3), UnusableMetadataTable(Reason.DAMAGED, "a file is cut short")
    index = Groups(spread_over(groups), damage=damage)
    assert probe_record_index(storage, staged(storage, KEYS), index, frozenset(groups)) == damage


@pytest.mark.parametrize(
    ("count", "keys", "size_bytes"),
    [
        (MAX_PROBED_LIVE_GROUPS + 1, KEYS, MIB),
        (0, KEYS, MIB),
        (3, KEYS[:100], 100 * MIB),
        (3, [], MIB),
        (3, KEYS, 300 * MIB),
    ],
    ids=["many file groups", "no file group", "few keys", "no keys", "large index"],
)
def test_nothing_is_looked_up_if_this_would_cost_more_than_it_saves(
    storage: MemoryStorage, count: int, keys: list[str], size_bytes: int
) -> None:
    index = Groups(spread_over(live(3)), size_bytes, count=2)
    assert probe_record_index(storage, staged(storage, keys), index, frozenset(live(count))) is None
    assert not index.looked_up
