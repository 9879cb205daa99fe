"""The files of the latest state according to completed writes, and their faults."""

from collections.abc import Mapping

import pytest

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.recovery.needed_files import NeededFile, fault_of, needed_files
from support.small_tables import base_file_name

T = [f"2026010203040500{n}" for n in range(10)]
F1 = FileGroupId("a", "f1")


def base(time: str, size: int = 4) -> WriteStat:
    path = f"a/{base_file_name('f1', time)}"
    return WriteStat(file_id="f1", partition_path="a", path=path, file_size_bytes=size)


def log(time: str, version: int = 1, size: int = 4) -> WriteStat:
    path = f"a/.f1_{time}.log.{version}_0-1-0"
    return WriteStat(file_id="f1", partition_path="a", path=path, file_size_bytes=size)


def write(
    time: str,
    *stats: WriteStat,
    completed: str | None = None,
    replaces: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Instant, CommitMetadata]:
    instant = Instant(
        requested_time=time,
        action=Action.DELTA_COMMIT,
        state=InstantState.COMPLETED,
        completion_time=completed,
    )
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats={"a": stats},
        partition_to_replace_file_ids=replaces,
    )
    return instant, metadata


def needed(
    *writes: tuple[Instant, CommitMetadata], live: Mapping[FileGroupId, str] | None = None, own: bool = True
) -> set[str]:
    return {each.path for each in needed_files(writes, live or {}, has_own_log_instants=own)}


def test_only_the_newest_version_is_needed_in_any_order_of_the_writes() -> None:
    writes = [write(T[1], base(T[1])), write(T[3], base(T[3])), write(T[2], base(T[2]))]
    assert needed(*writes) == {base(T[3]).path}


def test_replaced_file_groups_are_not_needed() -> None:
    assert needed(write(T[1], base(T[1])), write(T[2], replaces={"a": ("f1",)})) == set()
    assert needed(write(T[1], base(T[1])), write(T[2], replaces={"b": ("f1",)})) == {base(T[1]).path}


def test_a_version_is_not_needed_if_storage_has_a_newer_version() -> None:
    assert needed(write(T[1], base(T[1])), live={F1: T[2]}) == set()
    assert needed(write(T[1], base(T[1])), live={F1: T[0]}) == {base(T[1]).path}


def test_logs_that_completed_after_the_base_file_was_requested_are_needed() -> None:
    """From table version 8 on, a compaction includes the log files that completed before its request."""
    writes = [
        write(T[1], log(T[1]), completed=T[2]),
        write(T[3], log(T[3]), completed=T[6]),
        write(T[5], base(T[5]), completed=T[7]),
    ]
    assert needed(*writes) == {base(T[5]).path, log(T[3]).path}
    assert needed(*writes[:2]) == {log(T[1]).path, log(T[3]).path}
    assert needed(*writes[:2], live={F1: T[5]}) == {log(T[3]).path}


def test_logs_that_name_the_newest_base_file_are_needed() -> None:
    """In table version 6, the name of a log file contains the instant time of its base file."""
    writes = [write(T[1], base(T[1])), write(T[2], log(T[1])), write(T[4], log(T[1], 2))]
    assert needed(*writes, own=False) == {base(T[1]).path, log(T[1]).path, log(T[1], 2).path}
    assert needed(*writes, write(T[3], base(T[3])), own=False) == {base(T[3]).path}


def test_a_log_file_that_was_never_created_is_not_needed() -> None:
    assert needed(write(T[1], log(T[1], size=0), completed=T[2])) == set()
    assert needed(write(T[1], WriteStat(file_id="f1", partition_path="a", path=""))) == set()


@pytest.mark.parametrize(
    ("written", "stored", "fault"),
    [
        (4, None, "gone"),
        (4, 0, "empty"),
        (0, 0, "empty"),
        (4, 3, "3 bytes instead of 4"),
        (4, 4, ""),
        (0, 9, ""),
    ],
)
def test_a_missing_empty_or_short_base_file_has_a_fault(written: int, stored: int | None, fault: str) -> None:
    assert fault_of(NeededFile(path="p", time=T[1], size_bytes=written), stored) == fault


@pytest.mark.parametrize(("stored", "fault"), [(None, "gone"), (0, ""), (9, "")])
def test_the_only_fault_of_a_log_file_is_its_absence(stored: int | None, fault: str) -> None:
    assert fault_of(NeededFile(path="p", time=T[1], is_log=True), stored) == fault
