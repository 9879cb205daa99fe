"""A rebuild records the partitions that it drops. If it dies, the next rebuild builds these partitions again."""

from collections.abc import Iterator
from itertools import islice

import pytest

from hudi_table_services.commits.metadata_table_building.lost_partitions import PATH, lost_partitions
from hudi_table_services.contract.metadata_table import MetadataTableReport, RebuildMetadataTableRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table.file_groups import BLOOM_FILTERS, COLUMN_STATS, FILES
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from support.depth import by_depth
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.metadata_table.built_tables import records_in, table_with_statistics
from support.metadata_table.maintained_tables import copied, ticking

EVERY_INDEX = {FILES, COLUMN_STATS, BLOOM_FILTERS}
"""In version 6, only `files` is a default partition, so a rebuild must record the other partitions that it drops."""

REQUESTS: dict[str, tuple[str, ...]] = {"the whole metadata table": (), "one index": (COLUMN_STATS,)}


def report(
    storage: Storage,
    partitions: tuple[str, ...] = (),
    drop: tuple[str, ...] = (),
    *,
    preview: bool = False,
) -> MetadataTableReport:
    request = RebuildMetadataTableRequest(base_path="/t", partitions=partitions, drop=drop, preview=preview)
    result = rebuild_metadata_table(request, storage=storage, clock=ticking())
    assert result.outcome in (Outcome.COMPLETED, Outcome.PLANNED, Outcome.NOTHING_TO_DO)
    found = result.report_as(MetadataTableReport)
    assert found is not None
    return found


def partitions(storage: Storage) -> set[str]:
    return set(read_table_config(storage).metadata_partitions)


@pytest.fixture(scope="module")
def start() -> Storage:
    storage = table_with_statistics(TableVersion.V6)
    report(storage, (FILES, COLUMN_STATS, BLOOM_FILTERS))
    assert partitions(storage) == EVERY_INDEX
    assert not storage.exists(PATH)
    return storage


def dead_rebuilds(start: Storage, names: tuple[str, ...]) -> Iterator[Storage]:
    """The table after the death of a rebuild at each of its changes, without the lock."""
    for storage in crashes_everywhere(lambda storage: report(storage, names), lambda: copied(start)):
        storage.delete(".hoodie/lock")
        yield storage


@pytest.mark.parametrize("names", REQUESTS.values(), ids=list(REQUESTS))
def test_the_next_rebuild_builds_everything_that_the_dead_rebuild_dropped(
    start: Storage, names: tuple[str, ...]
) -> None:
    expected = {name: records_in(start, name) for name in EVERY_INDEX}
    incomplete = 0
    for storage in islice(dead_rebuilds(start, names), 0, None, by_depth(3, 1)):
        incomplete += partitions(storage) != EVERY_INDEX
        assert partitions(storage) | set(lost_partitions(storage)) == EVERY_INDEX
        assert {each.name for each in report(storage, preview=True).built} == EVERY_INDEX
        assert {each.name for each in report(storage).built} == EVERY_INDEX
        assert partitions(storage) == EVERY_INDEX
        assert {name: records_in(storage, name) for name in EVERY_INDEX} == expected
        assert not storage.exists(PATH)
    assert incomplete > by_depth(3, 10)


def without_files(start: Storage) -> Storage:
    """The table after the death of a rebuild that had dropped all partitions and built none."""
    return next(storage for storage in dead_rebuilds(start, ()) if not partitions(storage))


def test_a_rebuild_of_one_partition_keeps_the_other_partitions_in_the_list(start: Storage) -> None:
    storage = without_files(start)
    report(storage, (FILES,))
    assert set(lost_partitions(storage)) == {COLUMN_STATS, BLOOM_FILTERS}
    report(storage, (COLUMN_STATS,))
    assert lost_partitions(storage) == (BLOOM_FILTERS,)
    report(storage)
    assert partitions(storage) == EVERY_INDEX
    assert not storage.exists(PATH)


@pytest.mark.parametrize(
    ("drop", "kept"),
    [(("all",), set[str]()), ((FILES,), set()), ((COLUMN_STATS,), {FILES, BLOOM_FILTERS})],
    ids=["all", "files", "one"],
)
def test_partitions_that_are_dropped_on_request_are_removed_from_the_list(
    start: Storage, drop: tuple[str, ...], kept: set[str]
) -> None:
    storage = without_files(start)
    preview = report(storage, (kept and (FILES,)) or (), drop, preview=True)
    assert {each.name for each in preview.built} <= {FILES}
    report(storage, drop=drop)
    assert set(lost_partitions(storage)) == kept
    built = report(storage).built
    assert {each.name for each in built} == kept | {FILES}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"partitions": "files"}', b'{"partitions": [1]}', b"{}"]
)
def test_the_error_about_a_damaged_list_names_a_cure_and_nothing_changes(
    start: Storage, content: bytes
) -> None:
    storage = copied(start)
    storage.write(PATH, content)
    before = {f.path: storage.read(f.path) for f in storage.list_files()}
    with pytest.raises(MalformedMetadataError) as caught:
        report(storage)
    assert caught.value.path == PATH
    assert PATH in str(caught.value)
    assert "--partitions" in caught.value.hint
    assert {f.path: storage.read(f.path) for f in storage.list_files()} == before


def test_a_build_that_drops_nothing_stores_no_list(start: Storage) -> None:
    storage = copied(start)
    report(storage, drop=("all",))
    faulty = FaultyStorage(storage)
    report(faulty)
    assert not any(PATH in change for change in faulty.log)
    assert partitions(storage) == {FILES}
