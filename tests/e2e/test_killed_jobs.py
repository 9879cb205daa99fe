"""After ``kill -9``, readers see the old table, and the next run of the job removes all files of the dead run."""

import sys
from pathlib import Path

import pytest

from e2e.job_processes import (
    IN_EVERY_PYTHON,
    SCRIPT,
    SOURCES,
    Ended,
    JobProcess,
    environment,
    run,
    spark_settings,
)
from e2e.orders import orders, stored, table_flags, write_parquet
from judges.table_files import (
    data_files,
    file_id_of,
    files_below,
    instant_names,
    instant_of,
    latest_data_files,
    markers,
)

# The table has many partitions, so that some tasks are completed and others not started when the job is killed.
REGIONS = 40
FIRST = orders((i for i in range(4000) if i % REGIONS < 5), regions=REGIONS)
SECOND = orders(range(1000, 41_000), regions=REGIONS, version=2)
AFTER_BOTH = sorted({row[0]: row for row in FIRST + SECOND}.values())


def leftovers(base_path: Path) -> list[str]:
    """Markers, heartbeats and staged rows."""
    hoodie = base_path / ".hoodie"
    places = (".temp", ".heartbeat", ".aux/staging")
    return [str(path) for place in places for path in files_below(hoodie / place)]


def pending_instants(base_path: Path) -> set[str]:
    """Requested times of the pending instants (table version 6)."""
    completed = instant_names(base_path, ".commit") + instant_names(base_path, ".rollback")
    begun = {name.partition(".")[0] for name in instant_names(base_path)}
    return begun - {name.partition(".")[0] for name in completed}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def settings(folder: Path) -> dict[str, str]:
    return spark_settings(folder / "conf", spark__master="local[2,3]")


@pytest.fixture(scope="module")
def base_path(folder: Path) -> Path:
    return folder / "table"


@pytest.fixture(scope="module")
def lost_file(folder: Path) -> Path:
    """The file into which the dying worker writes the path of its base file."""
    return folder / "lost"


@pytest.fixture(scope="module")
def first(folder: Path, settings: dict[str, str], base_path: Path, lost_file: Path) -> Ended:
    """The first write to the table, during which a worker dies."""
    variables = environment(settings, PYTHONPATH=str(IN_EVERY_PYTHON), E2E_KILL_ONE_WORKER=str(lost_file))
    source = write_parquet(FIRST, folder / "landing" / "first.parquet")
    flags = table_flags(base_path, source_path=str(source))
    return run([sys.executable, SCRIPT, *flags], variables, folder / "run")


def test_a_worker_that_dies_after_writing_its_file_leaves_no_duplicate_file(
    first: Ended, base_path: Path, lost_file: Path
) -> None:
    assert first.exit_code == 0, first.log
    lost = base_path / lost_file.read_text(encoding="utf-8")
    assert lost not in data_files(base_path)
    retried = [path for path in data_files(base_path) if file_id_of(path) == file_id_of(lost)]
    assert len(retried) == 1, "the task was not retried for the same file group"
    assert len(data_files(base_path)) == 5
    assert stored(base_path) == FIRST
    assert leftovers(base_path) == []


@pytest.mark.usefixtures("first")
def test_a_retry_completes_a_write_that_was_killed(
    folder: Path, settings: dict[str, str], base_path: Path
) -> None:
    committed = data_files(base_path)
    source = write_parquet(SECOND, folder / "landing" / "second.parquet")
    flags = table_flags(base_path, source_path=str(source), request_id="killed")
    command, variables = [sys.executable, SCRIPT, *flags], environment(settings)
    killed = JobProcess(command, variables, folder / "run")
    try:
        killed.wait_for("uncommitted files", lambda: len(data_files(base_path)) >= len(committed) + 5 or None)
    finally:
        killed.kill()
    dead = set(data_files(base_path)) - set(committed)
    assert dead, "the kill came too late or too early"
    assert len(instant_names(base_path, ".commit")) == 1
    assert markers(base_path)
    assert stored(base_path) == FIRST

    ended = run(command, variables, folder / "run")
    assert ended.exit_code == 0, ended.log
    assert not ended.result.reused
    assert stored(base_path) == AFTER_BOTH
    assert not dead & set(data_files(base_path))
    assert {instant_of(path) for path in latest_data_files(base_path)} == {ended.result.instant_time}
    assert leftovers(base_path) == []
    assert len(instant_names(base_path, ".commit")) == 2
    assert len(instant_names(base_path, ".rollback")) == 1
    assert pending_instants(base_path) == set()


@pytest.mark.usefixtures("first")
@pytest.mark.thorough
def test_a_retry_completes_an_execution_of_a_clustering_that_was_killed(
    folder: Path, settings: dict[str, str], base_path: Path
) -> None:
    rows, variables = stored(base_path), environment(settings)
    option = "hoodie.clustering.plan.strategy.max.num.groups=100"
    schedule = [sys.executable, SOURCES / "schedule_clustering.py", f"--base-path={base_path}"]
    scheduled = run([*schedule, "--sort-columns=amount", "--option", option], variables, folder / "run")
    assert scheduled.exit_code == 0, scheduled.log
    instant = scheduled.result.instant_time
    before = set(data_files(base_path))

    execute = [
        sys.executable,
        SOURCES / "execute_clustering.py",
        f"--base-path={base_path}",
        f"--instant={instant}",
        "--request-id=same",
    ]
    killed = JobProcess(execute, variables, folder / "run")
    try:
        killed.wait_for("clustered files", lambda: len(set(data_files(base_path)) - before) >= 5 or None)
    finally:
        killed.kill()
    dead = set(data_files(base_path)) - before
    assert dead, "the kill came too late or too early"
    assert stored(base_path) == rows

    # The heartbeat of the dead execution is still fresh, but it belongs to the same request.
    ended = run(execute, variables, folder / "run")
    assert ended.exit_code == 0, ended.log
    assert ended.result.instant_time == instant
    assert stored(base_path) == rows
    assert not dead & set(data_files(base_path))
    assert {instant_of(path) for path in latest_data_files(base_path)} >= {instant}
    assert leftovers(base_path) == []
