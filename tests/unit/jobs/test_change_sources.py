"""The start of a load of changes, without Spark: a position that does not fit the source or target is refused."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest, is_same_location
from hudi_table_services.errors import CommitConflictError, InvalidRequestError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.change_source import ChangeSource, LoadStart, check_load, start_of
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import (
    LOAD_REQUEST_KEY,
    REQUEST_ID_KEY,
    CommitMetadata,
    WriteOperation,
)
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.reading import change_positions
from hudi_table_services.tables.reading.change_positions import POSITION_KEY, SOURCE_KEY
from hudi_table_services.tables.table import TableAccess
from support.archived_tables import SMALL_LIMITS
from support.spark.log_tables import LogTable, new_log_table


def table_at(path: Path, version: int = 9) -> LogTable:
    return new_log_table(path, version, hoodie__table__type="COPY_ON_WRITE")


def position(table: LogTable) -> str:
    return table.newest()[0].visible_from


def at(chain: str, time: str, source: str = "") -> dict[str, str]:
    return {f"_{POSITION_KEY}{chain}": time, **({f"_{SOURCE_KEY}{chain}": source} if source else {})}


def request(target: LogTable, **fields: Any) -> UpsertRequest:
    return UpsertRequest(base_path=str(target.base_path), table_name="t", record_key=("k",), **fields)


def load(target: LogTable, source: LogTable, chain: str = "c", begin: str = "", **fields: Any) -> LoadStart:
    read = ChangeSource(base_path=str(source.base_path), chain=chain, begin=begin)
    return start_of(request(target, **fields), read)


def archive_most(table: LogTable) -> None:
    archive(
        ArchiveRequest(base_path=str(table.base_path), options=SMALL_LIMITS, min_commits=2, max_commits=3),
        storage=table.storage,
    )


@pytest.mark.parametrize("version", [6, 9])
def test_a_position_whose_commit_was_undone_stays_refused_after_an_archival(
    tmp_path: Path, version: int
) -> None:
    source, target = table_at(tmp_path / "s", version), table_at(tmp_path / "d")
    source.write([("a", 1, "p0", "1")])
    kept = position(source)
    source.write([("ghost", 1, "p0", "1")])
    undone = source.newest()[0]
    target.write([("a", 1, "p0", "1")], options=at("kept", kept))
    target.write([("ghost", 1, "p0", "1")], options=at("c", undone.visible_from))
    rollback(
        RollbackRequest(base_path=str(source.base_path), instants=(undone.requested_time,)),
        storage=source.storage,
    )
    for number in range(6):
        source.write([("z", number, "p1", "1")])
    with pytest.raises(InvalidRequestError, match="has undone the commit"):
        load(target, source)
    archive_most(source)
    assert len(source.timeline_store.load().completed_writes) == 2
    with pytest.raises(InvalidRequestError, match="has undone the commit") as refused:
        load(target, source)
    assert "--source-begin earliest" in refused.value.hint
    assert load(target, source, "kept").begin == kept


@pytest.mark.parametrize("version", [6, 9])
def test_a_source_that_was_created_again_is_refused(tmp_path: Path, version: int) -> None:
    source, target = table_at(tmp_path / "s", version), table_at(tmp_path / "d")
    source.write([("gone", 1, "p0", "1")])
    target.write([("gone", 1, "p0", "1")], options=at("c", position(source), str(source.base_path)))
    shutil.rmtree(source.base_path)
    source.write([("a", 2, "p0", "2")])
    with pytest.raises(InvalidRequestError, match="or the source was created again"):
        load(target, source)
    assert load(target, source, begin="earliest", operation="insert_overwrite_table").begin == "earliest"


@pytest.mark.parametrize("archived", [False, True])
def test_another_source_of_the_same_chain_is_refused(tmp_path: Path, archived: bool) -> None:
    source, other, target = (table_at(tmp_path / name) for name in ("s", "n", "d"))
    other.write([("x", 1, "p0", "1")])
    source.write([("a", 1, "p0", "1")])
    target.write([("a", 1, "p0", "1")], options=at("c", position(source), f"file://{source.base_path}/"))
    for number in range(6):
        other.write([("y", number, "p0", "1")])
    if archived:
        archive_most(other)
    message = (
        f"has read the source file://{source.base_path}/, but this load reads the source {other.base_path}"
    )
    for begin in ("", "earliest"):
        with pytest.raises(InvalidRequestError, match=message) as refused:
            load(target, other, begin=begin)
    assert "--source-chain" in refused.value.hint
    assert "insert_overwrite_table" in refused.value.hint
    assert load(target, source).begin == position(source)
    assert load(target, other, chain="own").begin == "earliest"
    assert load(target, other, begin="earliest", operation="insert_overwrite_table").begin == "earliest"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("s3://lake/a", "s3a://lake/a/", True),
        ("s3n://lake/a", "s3://lake/a", True),
        ("/lake/a", "file:///lake/a", True),
        ("/lake/a b", "file:/lake/a%20b", True),
        ("s3://lake/a", "hdfs://lake/a", False),
        ("hdfs://lake/a", "hdfs:///lake/a", False),
        ("/lake/a", "s3://lake/a", False),
        ("s3://lake/a", "s3://lake/b", False),
    ],
)
def test_different_paths_of_the_same_location_are_recognized(one: str, other: str, same: bool) -> None:
    assert is_same_location(one, other) is same


def test_a_table_cannot_be_the_source_of_its_own_load(tmp_path: Path) -> None:
    table = table_at(tmp_path / "t")
    table.write([("a", 1, "p0", "1")])
    with pytest.raises(InvalidRequestError, match="cannot be the source of its own load"):
        start_of(request(table), ChangeSource(base_path=f"{table.base_path}/", chain="c"))


def test_a_chain_whose_position_is_archived_protects_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = table_at(tmp_path / "s"), table_at(tmp_path / "d")
    source.write([("a", 1, "p0", "1")])
    target.write([("o", 1, "p0", "1")], options=at("other", "20260101000000000"))
    for number in range(4):
        target.write([("a", number, "p1", "1")], options=at("c", position(source)))
    archive_most(target)
    monkeypatch.setattr(change_positions, "_ARCHIVE_LIMIT_BYTES", 1)
    with pytest.raises(InvalidRequestError, match="also contains the rows of the chain 'other'"):
        load(target, source, begin="earliest", operation="insert_overwrite_table")


@pytest.mark.parametrize("version", [6, 9])
def test_positions_before_the_target_was_replaced_do_not_block_a_replacement(
    tmp_path: Path, version: int
) -> None:
    source, target = table_at(tmp_path / "s"), table_at(tmp_path / "d", version)
    source.write([("a", 1, "p0", "1")])
    row, time = [("a", 1, "p0", "1")], position(source)
    target.write(row, options=at("old", time))
    target.write(row, options=at("new", time))
    replacing = {"chain": "new", "begin": "earliest", "operation": "insert_overwrite_table"}
    with pytest.raises(InvalidRequestError, match="rows of the chain 'old'") as refused:
        load(target, source, **replacing)
    assert "without a source table" in refused.value.hint
    target.write(row, "insert_overwrite_table")
    assert load(target, source, **replacing).begin == "earliest"
    assert load(target, source, "old").begin == time
    target.write(row, options=at("late", time))
    with pytest.raises(InvalidRequestError, match="rows of the chain 'late'"):
        load(target, source, **replacing)


@pytest.mark.parametrize("version", [6, 9])
def test_a_chain_whose_rows_were_replaced_by_another_load_begins_again(tmp_path: Path, version: int) -> None:
    source, target = table_at(tmp_path / "s"), table_at(tmp_path / "d", version)
    source.write([("a", 1, "p0", "1")])
    row, time = [("a", 1, "p0", "1")], position(source)
    target.write(row, options=at("old", time))
    target.write(row, "insert_overwrite_table", options=at("new", time))
    target.write(row, options=at("new", time))
    config = read_table_config(target.storage)
    access = TableAccess(storage=target.storage, clock=SystemClock(), config=config)
    found = change_positions.newest_positions(access)
    assert [each.chain for each in found] == ["new"]
    assert load(target, source, "new", "earliest", operation="insert_overwrite_table").begin == "earliest"
    for begin in ("", "2020-01-01"):
        with pytest.raises(
            InvalidRequestError, match="the load of another chain has replaced all rows"
        ) as refused:
            load(target, source, "old", begin)
        assert "--source-begin earliest" in refused.value.hint
    assert load(target, source, "old", "earliest").begin == "earliest"


def test_a_load_that_waits_for_a_pending_write_names_it(tmp_path: Path) -> None:
    source, target = table_at(tmp_path / "s", 6), table_at(tmp_path / "d")
    source.write([("a", 1, "p0", "1")])
    time = position(source)
    target.write([("a", 1, "p0", "1")], options=at("c", time))
    pending = source.timeline_store.request(Action.COMMIT, b"")
    spec = SourceSpec(table=str(source.base_path), chain="c")

    def reason() -> str:
        result = check_load(request(target, source=spec), spec)
        assert result is not None
        assert result.outcome is Outcome.NOTHING_TO_DO
        return result.reason

    assert reason() == f"{source.base_path} has no commit after {time}, the position of the chain 'c'"
    source.write([("b", 1, "p0", "1")], options={"hoodie.cleaner.policy.failed.writes": "NEVER"})
    assert f"the write {pending.requested_time} is pending" in reason()
    assert f"If the writer of {pending.requested_time} died, roll {pending.requested_time} back" in reason()


def running_load(target: LogTable, identity: str, caller: str) -> Instant:
    """Begin the write of a load, with a fresh heartbeat."""
    store = target.timeline_store
    pending = store.request(Action.COMMIT, b"")
    target.storage.write(heartbeat_path(pending.requested_time), identity.encode())
    ids = {REQUEST_ID_KEY: identity, f"_{LOAD_REQUEST_KEY}": caller}
    profile = CommitMetadata(
        operation_type=WriteOperation.UPSERT, partition_to_write_stats={}, extra_metadata=ids
    )
    version = read_table_config(target.storage).table_version
    return store.start(pending, encode_commit_metadata(profile, version))


def test_a_load_does_not_end_the_running_load_of_another_caller(tmp_path: Path) -> None:
    source, target = table_at(tmp_path / "s"), table_at(tmp_path / "d")
    source.write([("a", 1, "p0", "1")])
    target.write([("a", 1, "p0", "1")], options=at("c", position(source)))
    source.write([("b", 1, "p0", "1")])
    identity, spec = load(target, source).identity, SourceSpec(table=str(source.base_path), chain="c")
    running = running_load(target, identity, "other")

    def write(caller: str) -> None:
        options = {f"_{LOAD_REQUEST_KEY}": caller}
        target.write([("b", 1, "p0", "1")], request_id=identity, options=options)

    def is_pending() -> bool:
        return running.identity in {each.identity for each in target.timeline_store.load().pending}

    message = f"{running.requested_time} of the request other loads the same changes"
    with pytest.raises(CommitConflictError, match=message):
        check_load(request(target, source=spec, request_id="own"), spec)
    with pytest.raises(CommitConflictError, match=message):
        write("own")
    assert is_pending()
    assert check_load(request(target, source=spec, request_id="other"), spec) is None
    write("other")
    assert not is_pending()


def test_a_load_ends_the_load_of_another_caller_whose_writer_died(tmp_path: Path) -> None:
    source, target = table_at(tmp_path / "s"), table_at(tmp_path / "d")
    source.write([("a", 1, "p0", "1")])
    target.write([("a", 1, "p0", "1")], options=at("c", position(source)))
    identity = load(target, source).identity
    died = running_load(target, identity, "other")
    target.storage.delete(heartbeat_path(died.requested_time))
    target.write([("b", 1, "p0", "1")], request_id=identity, options={f"_{LOAD_REQUEST_KEY}": "own"})
    assert target.timeline_store.load().pending == ()


def test_of_two_loads_from_one_position_one_commits_even_if_their_begin_options_differ(
    tmp_path: Path,
) -> None:
    source, target = table_at(tmp_path / "s"), table_at(tmp_path / "d", 6)
    source.write([("a", 1, "p0", "1")])
    target.write([("a", 1, "p0", "1")], options=at("c", position(source)))
    again = load(target, source, begin="earliest")
    assert again.identity == load(target, source).identity
    target.write([("a", 1, "p0", "1")], options=at("c", position(source)))
    assert load(target, source, begin="earliest").identity != again.identity
