"""Tests of the judges themselves.

Hudi writes the tables of these tests, and Hudi and hudi-rs read them; the engine is not involved.
"""

from pathlib import Path

import pyarrow as pa
import pytest

from judges import hudi_rs
from judges.hudi_judge import HudiJudge, HudiRefusedError, JudgeCrashedError, JudgeUnavailableError
from judges.oracle import EDGES, RELEASES, V9, Oracle
from judges.rows import ALL_TYPES, LOCAL_TIME, as_table, assert_rows_equal, merged, rows_by_key, some_rows
from judges.table_files import incremental_bounds


@pytest.mark.parametrize("release", RELEASES)
def test_a_judge_reports_its_release(hudi, release: str) -> None:
    answer = hudi(release).ping()
    assert (answer["hudi"], answer["spark"].rpartition(".")[0]) == (release, "3.5")


@pytest.mark.parametrize("oracle", EDGES, ids=str)
def test_hudi_and_hudi_rs_read_every_type_that_hudi_wrote(hudi, tmp_path: Path, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    first, second = some_rows(range(12), 1), some_rows(range(6, 18), 2)
    for rows in (first, second):
        judge.write(base_path, as_table(rows), oracle.options("t"))
    model = merged(merged({}, first), second)
    assert_rows_equal(judge.read(base_path), model, str(oracle))
    assert_rows_equal(hudi_rs.read_snapshot(base_path), model, "hudi-rs")
    first_time, _ = hudi_rs.request_times(base_path)
    assert_rows_equal(judge.read_as_of(base_path, first_time), merged({}, first), str(oracle))
    assert_rows_equal(hudi_rs.read_as_of(base_path, first_time), merged({}, first), "hudi-rs")
    begin, end = incremental_bounds(base_path)
    assert_rows_equal(judge.read_incremental(base_path, begin, end), merged({}, second), str(oracle))
    assert_rows_equal(hudi_rs.read_incremental(base_path, begin, end), merged({}, second), "hudi-rs")
    assert hudi_rs.read_incremental(base_path, end).num_rows == 0


def test_hudi_1_keeps_timestamps_without_a_time_zone(hudi, tmp_path: Path) -> None:
    judge, base_path, schema = hudi(V9.release), tmp_path / "t", ALL_TYPES.append(LOCAL_TIME)
    rows = some_rows(range(6), 1, schema)
    judge.write(base_path, as_table(rows, schema), V9.options("t"))
    assert_rows_equal(judge.read(base_path), merged({}, rows), str(V9))


def test_a_judge_answers_requests_after_an_exception_of_hudi(hudi, tmp_path: Path) -> None:
    judge = hudi("1.2.0")
    with pytest.raises(HudiRefusedError, match="(?i)does not exist|not found|PATH_NOT_FOUND|TableNotFound"):
        judge.read(tmp_path / "nothing")
    assert judge.sql("select 1 as one") == [{"one": 1}]


@pytest.mark.thorough
def test_a_new_judge_replaces_a_judge_that_ended(hudi) -> None:
    hudi("0.15.0").stop()
    assert hudi("0.15.0").sql("select 1 as one") == [{"one": 1}]


def test_the_error_about_a_dead_judge_contains_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho the reason of death >&2\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("HUDI_JUDGE_PYTHON", str(script))
    with pytest.raises(JudgeCrashedError, match="the reason of death"):
        HudiJudge("1.2.0", tmp_path / "judge").ping()


def test_the_error_about_a_missing_bundle_has_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'unresolved dependency: org.apache.hudi' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("HUDI_JUDGE_PYTHON", str(script))
    with pytest.raises(JudgeUnavailableError, match="^real Hudi cannot run: .*Maven Central$"):
        HudiJudge("1.2.0", tmp_path / "judge").ping()


def test_the_error_about_a_missing_environment_has_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUDI_JUDGE_PYTHON", str(tmp_path / "absent"))
    with pytest.raises(JudgeUnavailableError, match="^real Hudi cannot run: there is no judges' environment"):
        HudiJudge("1.2.0", tmp_path / "judge")


def test_rows_that_contain_a_key_twice_are_an_error() -> None:
    row = some_rows([1], 1)[0]
    with pytest.raises(AssertionError, match="more than once"):
        rows_by_key([row, row])


def test_the_error_about_a_wrong_nested_value_names_the_column() -> None:
    rows = some_rows([1, 2], 1)
    judged = as_table(rows).to_pylist(maps_as_pydicts="strict")
    judged[0]["visits"][0]["cost"] += 1
    with pytest.raises(AssertionError, match="visits"):
        assert_rows_equal(pa.Table.from_pylist(judged, schema=ALL_TYPES), merged({}, rows), "no reader")
