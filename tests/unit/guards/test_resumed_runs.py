"""An interrupted run of the test groups continues with the groups that have not yet passed with the same commit."""

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script `run_test_groups.py`, which reads notes from an empty folder and sees the commit ``c1``."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    spec = importlib.util.spec_from_file_location(
        "run_test_groups", REPOSITORY / "scripts" / "run_test_groups.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ENDED", tmp_path / "ended")
    monkeypatch.setattr(module, "_commit", lambda: os.environ["COMMIT_OF_TEST"])
    monkeypatch.setenv("COMMIT_OF_TEST", "c1")
    monkeypatch.setenv("TEST_DEPTH", "all")
    return module


def test_only_groups_that_passed_with_the_same_commit_and_depth_are_left_out(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner._note("test-unit", 1, 12.4, has_passed=True)
    runner._note("test-spark", 2, 7.0, has_passed=False)
    assert runner._passed_before() == {"test-unit": 12}
    monkeypatch.setattr(runner, "_changed", lambda before, now: ["README.md"])
    monkeypatch.setenv("COMMIT_OF_TEST", "c2")
    assert runner._passed_before() == {}
    monkeypatch.setenv("COMMIT_OF_TEST", "c1")
    monkeypatch.setenv("TEST_DEPTH", "sample")
    assert runner._passed_before() == {}


def test_a_group_with_an_incomplete_note_runs_again(runner: ModuleType) -> None:
    for group in ("test-unit", "test-spark"):
        runner._note(group, 1, 12.0, has_passed=True)
    runner._note_of("test-spark").write_text("")
    assert runner._passed_before() == {"test-unit": 12}


@pytest.mark.parametrize(
    ("changed", "left_out"),
    [
        ("tests/spark/writing/test_upsert_job.py", {"test-s3"}),
        ("tests/s3/test_faults.py", {"test-spark"}),
        ("tests/unit/test_errors.py", {"test-s3", "test-spark"}),
        ("tests/s3/proxy.py", {"test-spark"}),
        ("spark_jobs/upsert.py", set()),
    ],
)
def test_a_changed_file_repeats_only_the_groups_that_may_read_it(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, changed: str, left_out: set[str]
) -> None:
    for group in ("test-unit", "test-spark", "test-s3"):
        runner._note(group, 1, 12.0, has_passed=True)
    monkeypatch.setenv("COMMIT_OF_TEST", "c2")
    monkeypatch.setattr(runner, "_changed", lambda before, now: [changed])
    assert set(runner._passed_before()) == left_out


@pytest.mark.parametrize(
    ("path", "groups"),
    [
        ("tests/support/stores/loads.py", {"test-platforms", "test-s3"}),
        ("tests/support/airflow/task_context.py", {"test-platforms", "test-s3"}),
        ("tests/e2e/in_every_python/sitecustomize.py", {"test-platforms", "test-e2e", "test-connect35"}),
    ],
)
def test_a_changed_helper_repeats_the_groups_that_use_it(
    runner: ModuleType, path: str, groups: set[str]
) -> None:
    assert groups <= affected(runner, path) < set(runner.FOLDERS)


@pytest.mark.parametrize(
    ("path", "groups"),
    [
        ("docs/readers.md", {"test-readers"}),
        ("docs/s3-costs.md", {"test-s3"}),
        ("docs/adr/0001-no-such-decision.md", set()),
        ("docs/images/benchmark-seconds.svg", set()),
    ],
)
def test_a_changed_page_repeats_only_the_groups_that_read_it(
    runner: ModuleType, path: str, groups: set[str]
) -> None:
    assert affected(runner, path) == groups


@pytest.mark.parametrize("path", ["benchmarks/bench/figures.py", "benchmarks/quiet_run/scenarios.json"])
def test_a_changed_benchmark_repeats_only_the_groups_that_run_benchmarks(
    runner: ModuleType, path: str
) -> None:
    assert affected(runner, path) == {"test-airflow-stack"}


@pytest.mark.parametrize("path", ["tests/platforms/a_file.json", "tests/conftest.py"])
def test_other_files_and_the_first_conftest_repeat_all_groups(runner: ModuleType, path: str) -> None:
    assert affected(runner, path) == set(runner.FOLDERS)


def affected(runner: ModuleType, path: str) -> set[str]:
    return {group for group, folders in runner.FOLDERS.items() if runner._may_affect(path, folders)}


@pytest.mark.parametrize("commit", ["c1-dirty", ""], ids=["local changes", "no commit"])
def test_without_a_commit_of_the_sources_all_groups_run(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    monkeypatch.setenv("COMMIT_OF_TEST", commit)
    runner._note("test-unit", 1, 12.0, has_passed=True)
    assert runner._passed_before() == {}


def test_the_record_of_a_run_contains_the_seconds_of_earlier_runs(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TIMES", tmp_path / "times.json")
    monkeypatch.setattr(runner, "REPORTS", tmp_path)
    for group, lane, seconds in (("test-unit", 1, 10.0), ("test-spark", 1, 5.0), ("test-docs", 2, 3.0)):
        runner._note(group, lane, seconds, has_passed=True)
    runner._write_times(("test-unit", "test-spark", "test-docs"))
    times = json.loads((tmp_path / "times.json").read_text(encoding="utf-8"))
    assert (times["depth"], times["seconds"]) == ("all", 15)
    assert times["groups"]["test-docs"] == {"lane": 2, "seconds": 3}
