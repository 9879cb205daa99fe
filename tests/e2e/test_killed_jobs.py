"""What ``kill -9`` leaves: the old table for readers, and for the next run nothing that it cannot clear."""

import sys
from pathlib import Path

from e2e.job_processes import IN_EVERY_PYTHON, SCRIPT, JobProcess, environment, run, spark_settings
from e2e.orders import orders, stored, table_flags, write_parquet
from judges.table_files import data_files, file_id_of, instant_names, instant_of, latest_data_files

# Many partitions, hence many tasks: the kill finds some of them done and some not begun.
REGIONS = 40
FIRST = orders((i for i in range(4000) if i % REGIONS < 5), regions=REGIONS)
SECOND = orders(range(1000, 41_000), regions=REGIONS, version=2)
AFTER_BOTH = sorted({row[0]: row for row in FIRST + SECOND}.values())


def leftovers(base_path: Path) -> list[str]:
    """Markers and heartbeats. Rows staged by a killed job stay for a day, in case it lives."""
    hoodie = base_path / ".hoodie"
    places = (".temp", ".heartbeat")
    return [str(path) for place in places for path in (hoodie / place).rglob("*") if path.is_file()]


def pending_instants(base_path: Path) -> set[str]:
    """Times of instants that were begun and not completed (table version 6)."""
    completed = instant_names(base_path, ".commit") + instant_names(base_path, ".rollback")
    begun = {name.partition(".")[0] for name in instant_names(base_path)}
    return begun - {name.partition(".")[0] for name in completed}


def test_job_killed_in_mid_write_is_repaired_by_its_own_retry(tmp_path: Path) -> None:
    base_path = tmp_path / "table"
    variables = environment(spark_settings(tmp_path / "conf", spark__master="local[2]"))
    first = write_parquet(FIRST, tmp_path / "landing" / "first.parquet")
    flags = table_flags(base_path, source_path=str(first))
    assert run([sys.executable, SCRIPT, *flags], variables, tmp_path / "run").exit_code == 0
    committed = data_files(base_path)

    second = write_parquet(SECOND, tmp_path / "landing" / "second.parquet")
    retried = [sys.executable, SCRIPT, *table_flags(base_path, source_path=str(second), request_id="killed")]
    killed = JobProcess(retried, variables, tmp_path / "run")
    try:
        killed.ask_for("uncommitted files", lambda: len(data_files(base_path)) >= len(committed) + 5 or None)
    finally:
        killed.kill()
    dead = set(data_files(base_path)) - set(committed)
    assert dead, "the kill came too late or too early"
    assert len(instant_names(base_path, ".commit")) == 1
    assert list((base_path / ".hoodie" / ".temp").rglob("*.marker.*"))
    assert stored(base_path) == FIRST

    ended = run(retried, variables, tmp_path / "run")
    assert ended.exit_code == 0, ended.log
    assert not ended.result.reused
    assert stored(base_path) == AFTER_BOTH
    assert not dead & set(data_files(base_path))
    assert {instant_of(path) for path in latest_data_files(base_path)} == {ended.result.instant_time}
    assert leftovers(base_path) == []
    assert len(instant_names(base_path, ".commit")) == 2
    assert len(instant_names(base_path, ".rollback")) == 1
    assert pending_instants(base_path) == set()


def test_worker_that_dies_after_its_file_leaves_no_duplicate(tmp_path: Path) -> None:
    base_path, flag = tmp_path / "table", tmp_path / "died"
    settings = spark_settings(tmp_path / "conf", spark__master="local[2,3]")
    variables = environment(settings, PYTHONPATH=str(IN_EVERY_PYTHON), E2E_KILL_ONE_WORKER=str(flag))
    source = write_parquet(FIRST, tmp_path / "landing" / "first.parquet")
    flags = table_flags(base_path, source_path=str(source))
    ended = run([sys.executable, SCRIPT, *flags], variables, tmp_path / "run")
    assert ended.exit_code == 0, ended.log
    leftover = base_path / flag.read_text(encoding="utf-8")
    assert leftover not in data_files(base_path)
    retried = [path for path in data_files(base_path) if file_id_of(path) == file_id_of(leftover)]
    assert len(retried) == 1, "the task was not retried for the same file group"
    assert len(data_files(base_path)) == 5
    assert stored(base_path) == FIRST
    assert leftovers(base_path) == []
