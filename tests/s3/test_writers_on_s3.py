"""Several writers on one table on S3, and writers that are killed. hudi-rs reads each row exactly once."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from airflow_stack.connect_server import ConnectServer

from e2e.job_processes import environment
from s3_server import S3
from support.depth import number_from
from support.stores.loads import (
    Loads,
    kill_loads_at_random,
    kill_loads_in_their_commit,
    write_at_the_same_time,
)

KILLS = int(number_from("KILLS", 4, 4))
SEED = int(os.environ.get("KILL_SEED", "7"))

pytestmark = [pytest.mark.thorough, pytest.mark.parametrize("version", ["6", "9"])]
NewLoads = Callable[[str], Loads]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    with ConnectServer(tmp_path_factory.mktemp("connect"), environment({})) as server:
        yield server


@pytest.fixture
def new_loads(s3: S3, server: ConnectServer, tmp_path: Path) -> NewLoads:
    return lambda version: Loads(s3.new_table(), s3.options, server, tmp_path, version)


def test_the_next_run_completes_a_load_that_was_killed_in_its_commit(
    version: str, new_loads: NewLoads
) -> None:
    kill_loads_in_their_commit(new_loads(version))


def test_the_next_run_completes_a_load_that_was_killed_at_random(version: str, new_loads: NewLoads) -> None:
    kill_loads_at_random(new_loads(version), KILLS, SEED)


def test_two_writers_at_the_same_time_lose_no_row(version: str, new_loads: NewLoads) -> None:
    write_at_the_same_time(new_loads(version), turns=4)
