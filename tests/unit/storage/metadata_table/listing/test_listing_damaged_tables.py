"""A listing from a damaged or contradictory metadata table is either refused or correct."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

from hudi_table_services.model.data_file import instant_in_file_name
from hudi_table_services.model.instant import InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage import timeline_store
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.metadata_table.counted_instants import delta_commits_of_table
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.table_listing import (
    ListingOutcome,
    list_from_metadata_table,
)
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, WholeTable, whole_table

EACH = pytest.mark.parametrize(("version", "name"), [(v, n) for v in VERSIONS for n in NAMES], ids=str)
FLIPS = 40


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let jobs read damaged files again without a pause."""
    monkeypatch.setattr(timeline_store, "_PAUSES", (0.0,))


def outcome_of(table: WholeTable) -> ListingOutcome:
    return list_from_metadata_table(table.storage, table.config, table.timeline, FixedClock())


def listed(outcome: ListingOutcome) -> Mapping[str, Mapping[str, int]] | None:
    """Sizes of files by partition and name, without empty partitions; None if the listing is refused."""
    if isinstance(outcome, UnusableMetadataTable):
        return None
    return {path: {f.name: f.size_bytes for f in files} for path, files in outcome.files.items() if files}


@contextmanager
def changed(storage: Storage, path: str, content: bytes | None) -> Iterator[None]:
    """Change the content of a file, or delete the file if `content` is None, until the end of the ``with`` block."""
    original = storage.read(path)
    storage.delete(path) if content is None else storage.write(path, content)
    try:
        yield
    finally:
        storage.write(path, original)


def files_below(table: WholeTable, folder: str) -> list[str]:
    return [stored.path for stored in table.storage.list_files(folder)]


@EACH
def test_a_lost_file_is_noticed(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    refused = 0
    for path in files_below(table, f"{METADATA_TABLE}/files") + files_below(
        table, f"{METADATA_TABLE}/.hoodie"
    ):
        with changed(table.storage, path, None):
            found = listed(outcome_of(table))
            assert found in (None, table.files), path
            refused += found is None
    assert refused


@EACH
def test_a_truncated_file_is_noticed(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    for path in read_files(table):
        content = table.storage.read(path)
        for length in {0, 80, len(content) // 2}:
            if length < len(content):
                with changed(table.storage, path, content[:length]):
                    assert listed(outcome_of(table)) in (None, table.files), (path, length)


@EACH
def test_a_damaged_byte_never_leads_to_a_wrong_listing(version: TableVersion, name: str) -> None:
    chance = random.Random(f"{version} {name}")
    table = whole_table(version, name)
    paths = [path for path in read_files(table) if "/files/" in path]
    refused = 0
    for _ in range(FLIPS):
        path = chance.choice(paths)
        content = bytearray(table.storage.read(path))
        place = chance.randrange(len(content))
        content[place] ^= 1 << chance.randrange(8)
        with changed(table.storage, path, bytes(content)):
            found = listed(outcome_of(table))
            assert found in (None, table.files), (path, place)
            refused += found is None
    assert refused


@EACH
def test_an_instant_that_exists_only_in_the_metadata_table_causes_no_wrong_listing(
    version: TableVersion, name: str
) -> None:
    """An instant of the table was deleted by hand. The listing shows the table without this instant, or is refused."""
    table = whole_table(version, name)
    for instant in table.timeline.completed_writes:
        timeline = table.timeline.without([instant])
        found = listed(list_from_metadata_table(table.storage, table.config, timeline, FixedClock()))
        assert found is None or without_logs(found) == without_logs(expected_at(table, timeline)), instant


@EACH
def test_files_of_a_write_that_is_completed_only_in_the_metadata_table_are_not_listed(
    version: TableVersion, name: str
) -> None:
    """The table is as after the death of a writer between its two commits."""
    table = whole_table(version, name)
    for instant in table.timeline.completed_writes:
        pending = replace(instant, state=InstantState.INFLIGHT, completion_time=None)
        timeline = Timeline.of([*table.timeline.without([instant]), pending])
        found = listed(list_from_metadata_table(table.storage, table.config, timeline, FixedClock()))
        assert found is not None, instant
        assert without_logs(found) == without_logs(expected_at(table, timeline)), instant


@EACH
def test_a_lost_delta_commit_is_noticed(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    opened = table.metadata_table()
    for instant in delta_commits_of_table(opened.timeline):
        path = f"{METADATA_TABLE}/{opened.timeline_store.path_of(instant)}"
        with changed(table.storage, path, None):
            outcome = outcome_of(table)
            assert listed(outcome) in (None, table.files)
            if any(i.action.writes_data for i in table.timeline.find(instant.requested_time)):
                assert isinstance(outcome, UnusableMetadataTable)
                assert outcome.reason is Reason.BEHIND


def read_files(table: WholeTable) -> list[str]:
    """Files of the newest slice of `files`, and completed instants of the metadata table."""
    opened = table.metadata_table()
    (newest,) = partition_slices(opened, "files")
    names = [newest.base_file.file_name] if newest.base_file is not None else []
    names += [log.file_name for log in newest.log_files]
    instants = [opened.timeline_store.path_of(instant) for instant in opened.timeline.completed]
    return [f"{METADATA_TABLE}/{path}" for path in [*(f"files/{name}" for name in names), *instants]]


def expected_at(table: WholeTable, timeline: Timeline) -> dict[str, dict[str, int]]:
    """Return the data files of the instants that are completed on a timeline."""
    visibility = Visibility.of(timeline, has_own_log_instants=version_has_own_log_instants(table))
    found = {
        path: {
            name: size
            for name, size in sizes.items()
            if (name.startswith(".") and not visibility.has_own_log_instants)
            or visibility.sees(instant_in_file_name(name) or "")
        }
        for path, sizes in table.files.items()
    }
    return {path: sizes for path, sizes in found.items() if sizes}


def version_has_own_log_instants(table: WholeTable) -> bool:
    return table.version.layout.has_completion_time_in_names


def without_logs(found: Mapping[str, Mapping[str, int]]) -> dict[str, set[str]]:
    """Names of base files. In table version 6 a pending write may have appended to a listed log file."""
    names = {path: {name for name in sizes if not name.startswith(".")} for path, sizes in found.items()}
    return {path: kept for path, kept in names.items() if kept}
