"""After ``kill -9`` of a load of changes, before or after its commit, the target equals the converted source."""

import sys
from pathlib import Path

import pytest

from e2e.job_processes import SCRIPT, Ended, JobProcess, environment, run, spark_settings
from e2e.orders import Order, orders, stored, table_flags, write_parquet
from judges.table_files import data_files, instant_names

REGIONS = 12
FIRST = orders(range(1000), regions=REGIONS)
CORRECTED = orders(range(500, 9000), regions=REGIONS, version=2)
DELETED = orders(range(200), regions=REGIONS, version=2)
LONGEST_S = 150.0
DOUBLED = "SELECT id, region, amount * 2 AS amount, version FROM source WHERE id % 10 <> 3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loads")


@pytest.fixture(scope="module")
def variables(folder: Path) -> dict[str, str]:
    few = {"spark__master": "local[2]", "spark__sql__shuffle__partitions": "4"}
    return environment(spark_settings(folder / "conf", **few))


def write(
    folder: Path, variables: dict[str, str], rows: list[Order], name: str, operation: str = "upsert"
) -> None:
    landed = write_parquet(rows, folder / "landing" / f"{name}.parquet")
    flags = table_flags(folder / "source", source_path=str(landed), operation=operation)
    ended = run([sys.executable, SCRIPT, *flags], variables, folder / "run")
    assert ended.exit_code == 0, ended.log


def command(folder: Path, request_id: str) -> list[str | Path]:
    flags = table_flags(
        folder / "target", source_table=str(folder / "source"), source_sql=DOUBLED, request_id=request_id
    )
    return [sys.executable, SCRIPT, *flags]


def load(folder: Path, variables: dict[str, str], request_id: str) -> Ended:
    ended = run(command(folder, request_id), variables, folder / "run")
    assert ended.exit_code == 0, ended.log
    return ended


def converted(folder: Path) -> list[Order]:
    """The full computation of the target."""
    return [
        (id_, region, 2 * amount, version)
        for id_, region, amount, version in stored(folder / "source")
        if id_ % 10 != 3
    ]


def commits(folder: Path) -> int:
    return len(instant_names(folder / "target", ".commit"))


@pytest.fixture(scope="module")
def target(folder: Path, variables: dict[str, str]) -> Path:
    write(folder, variables, FIRST, "first")
    load(folder, variables, "load-1")
    assert stored(folder / "target") == converted(folder)
    write(folder, variables, CORRECTED, "corrected")
    write(folder, variables, DELETED, "deleted", "delete")
    return folder / "target"


@pytest.mark.thorough
def test_a_load_that_is_killed_before_its_commit_is_done_again(
    folder: Path, variables: dict[str, str], target: Path
) -> None:
    before, rows = len(data_files(target)), stored(target)
    killed = JobProcess(command(folder, "load-2"), variables, folder / "run")
    try:
        killed.wait_for("uncommitted files", lambda: len(data_files(target)) > before or None, LONGEST_S)
    finally:
        killed.kill()
    assert commits(folder) == 1, "the kill came too late"
    assert stored(target) == rows
    done = load(folder, variables, "load-2").result
    assert (done.reused, done.rows.deleted) == (False, len([row for row in DELETED if row[0] % 10 != 3]))
    assert stored(target) == converted(folder)
    assert commits(folder) == 2


@pytest.mark.thorough
def test_a_load_that_is_killed_after_its_commit_is_not_done_again(
    folder: Path, variables: dict[str, str], target: Path
) -> None:
    write(folder, variables, orders(range(9000, 9100), regions=REGIONS, version=3), "late")
    killed = JobProcess(command(folder, "load-3"), variables, folder / "run")
    try:
        killed.wait_for("a commit", lambda: commits(folder) == 3 or None, LONGEST_S)
    finally:
        killed.kill()
    write(folder, variables, orders(range(9050, 9060), regions=REGIONS, version=4), "later")
    again = load(folder, variables, "load-3").result
    assert (again.reused, again.rows.inserted) == (True, 90)
    last = load(folder, variables, "load-4").result
    assert (last.rows.inserted, last.rows.updated) == (0, 9)
    assert stored(target) == converted(folder)
    assert commits(folder) == 4
    assert load(folder, variables, "load-5").result.is_nothing_to_do
