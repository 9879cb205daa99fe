"""The history of the latest writes, including archived writes, and the reason why the history ends."""

import pytest

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_history import HistoryEnd, TableHistory
from hudi_table_services.tables.recent_writes import recent_writes
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.archived_tables import History

COMMITS = 24
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=str)


def history_of(history: History, latest: int = 100, **bounds: int) -> TableHistory:
    snapshot = load_snapshot(history.storage)
    return recent_writes(history.storage, history.table.timeline_store, snapshot, latest=latest, **bounds)


def times(found: TableHistory) -> list[str]:
    return [each.instant.requested_time for each in found.writes]


def file_counts(found: TableHistory) -> list[int]:
    assert not any(each.unknown_count for each in found.sizes)
    return [len(each.sizes_bytes) for each in found.sizes]


def written(version: TableVersion) -> History:
    """A table in which each commit added a file group."""
    history = History(version)
    for number in range(COMMITS):
        history.commits(1, FileGroupId("p", f"f{number}"), extra={"number": str(number)})
    return history


def archived(version: TableVersion) -> History:
    """The same table as `written`, but all commits except the newest two are archived, in several files."""
    history = History(version)
    for number in range(COMMITS):
        history.commits(1, FileGroupId("p", f"f{number}"), extra={"number": str(number)})
        if number % 5 == 4:
            history.archive()
    history.archive(low=2, high=3)
    assert len(history.archived()) >= COMMITS - 4
    return history


@VERSIONS
def test_archived_writes_are_described_like_active_ones(version: TableVersion) -> None:
    history = archived(version)
    found = history_of(history)
    assert times(found) == [*history.archived(), *history.active()]
    assert file_counts(found) == list(range(1, COMMITS + 1)) == file_counts(history_of(written(version)))
    assert [each.extra_metadata["number"] for each in found.writes] == [str(n) for n in range(COMMITS)]
    assert found.end is history_of(written(version)).end is HistoryEnd.NOTHING_OLDER


@VERSIONS
@pytest.mark.parametrize("latest", [1, 2, 5, 11, COMMITS - 1])
def test_the_history_has_at_most_the_requested_number_of_writes(version: TableVersion, latest: int) -> None:
    history = archived(version)
    found, whole = history_of(history, latest), history_of(history)
    assert times(found) == times(whole)[-latest:]
    assert file_counts(found) == file_counts(whole)[-latest:]
    assert found.end is HistoryEnd.ENOUGH


@VERSIONS
def test_the_size_limit_of_the_archive_bounds_the_history(version: TableVersion) -> None:
    """For every limit the history contains the newest writes without a gap, and reports that older writes exist."""
    history = archived(version)
    whole = history_of(history)
    size = sum(n for path, n in history.files().items() if "/archived/" in path or "/history/" in path)
    lengths = set()
    for limit in range(0, size + 1, max(1, size // 40)):
        found = history_of(history, archive_limit_bytes=limit)
        assert times(found) == times(whole)[-len(found.writes) :]
        assert file_counts(found) == file_counts(whole)[-len(found.writes) :]
        is_whole = len(found.writes) == COMMITS
        if not is_whole:
            assert found.end is HistoryEnd.ARCHIVE_TOO_LARGE
        lengths.add(len(found.writes))
    assert min(lengths) == len(history.active())
    assert len(lengths) > 3


@VERSIONS
def test_an_archive_that_cannot_be_read_ends_the_history(version: TableVersion) -> None:
    history = archived(version)
    for path in history.files():
        if "/archived/" in path:  # an archive log with a truncated end can still be read
            content = history.storage.read(path)
            history.storage.write(path, content.replace(b"hoodieCommitMetadata", b"hoodieCommitMetadatb"))
        elif path.endswith(".parquet") and "/history/" in path:
            history.storage.write(path, b"no Parquet")
    found = history_of(history)
    assert times(found) == history.active()
    assert found.end is HistoryEnd.ARCHIVE_UNREADABLE


@VERSIONS
def test_a_write_that_is_archived_and_active_is_listed_once(version: TableVersion) -> None:
    history = written(version)
    timeline = {path: history.storage.read(path) for path in history.files() if path.startswith(".hoodie/")}
    history.archive()
    for path, content in timeline.items():
        if path not in history.files():
            history.storage.write(path, content)
    assert len(history.active()) == COMMITS
    found = history_of(history)
    assert file_counts(found) == list(range(1, COMMITS + 1))
    assert times(found) == history.active()
