"""Names of new log files. In version 6, a wrong name hides the rows of a base file, so these tests cover every case."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.log_targets import log_target

BASE_TIME, PLAN_TIME, OWN_TIME = "20260101000000000", "20260102000000000", "20260103000000000"
BASE = BaseFile(file_id="f-0", write_token="0-1-0", instant_time=BASE_TIME)


def a_log(instant_time: str, version: int) -> LogFile:
    return LogFile(file_id="f-0", instant_time=instant_time, version=version, write_token="0-1-0")


def a_slice(*logs: LogFile) -> FileSlice:
    return FileSlice(
        file_group_id=FileGroupId("p", "f-0"), base_instant_time=BASE_TIME, base_file=BASE, log_files=logs
    )


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])
@pytest.mark.parametrize("compaction", [None, PLAN_TIME])
def test_from_version_8_on_the_name_contains_the_time_of_the_write(
    version: TableVersion, compaction: str | None
) -> None:
    target = log_target(a_slice(a_log(PLAN_TIME, 1)), version, OWN_TIME, compaction)
    assert (target.instant_time, target.version, target.previous_commit) == (OWN_TIME, 1, OWN_TIME)
    assert (target.base_file_name, target.earlier_logs) == ("", ())


def test_in_version_6_the_name_contains_the_base_instant_and_the_next_number() -> None:
    first, second = a_log(BASE_TIME, 1), a_log(BASE_TIME, 2)
    target = log_target(a_slice(first, second), TableVersion.V6, OWN_TIME)
    assert (target.instant_time, target.version, target.previous_commit) == (BASE_TIME, 3, BASE_TIME)
    assert target.base_file_name == BASE.file_name
    assert target.earlier_logs == (first.file_name, second.file_name)
    assert log_target(a_slice(), TableVersion.V6, OWN_TIME).version == 1


def test_in_version_6_the_name_contains_the_time_of_a_pending_compaction() -> None:
    before, after = a_log(BASE_TIME, 4), a_log(PLAN_TIME, 1)
    first = log_target(a_slice(before), TableVersion.V6, OWN_TIME, PLAN_TIME)
    assert (first.instant_time, first.version, first.earlier_logs) == (PLAN_TIME, 1, ())
    second = log_target(a_slice(before, after), TableVersion.V6, OWN_TIME, PLAN_TIME)
    assert (second.version, second.earlier_logs) == (2, (after.file_name,))
    # The slice that begins with the compaction has no base file yet.
    assert (second.previous_commit, second.base_file_name) == (PLAN_TIME, "")


def test_in_version_6_a_slice_without_base_file_names_no_base_file() -> None:
    only_logs = replace(a_slice(a_log(BASE_TIME, 7)), base_file=None)
    target = log_target(only_logs, TableVersion.V6, OWN_TIME)
    assert (target.instant_time, target.version, target.base_file_name) == (BASE_TIME, 8, "")


@given(st.lists(st.integers(1, 50), max_size=6, unique=True))
def test_in_version_6_the_number_is_above_all_numbers_of_the_slice(numbers: list[int]) -> None:
    target = log_target(a_slice(*(a_log(BASE_TIME, n) for n in numbers)), TableVersion.V6, OWN_TIME)
    assert all(target.version > number for number in numbers)
