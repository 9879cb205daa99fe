"""Several writers on one table on Azurite, and writers that are killed. hudi-rs reads each row exactly once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from airflow_stack.connect_server import ConnectServer
from azurite import KEY, Azurite

from e2e.job_processes import environment
from hudi_table_services.storage.stores.factory import open_storage
from support.stores.loads import Loads, kill_loads_in_their_commit, write_at_the_same_time
from support.stores.locked_counting import LOCK_OBJECT, count_in_processes

VERSIONS = pytest.mark.parametrize("version", ["6", "9"])
NewLoads = Callable[[str], Loads]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    with ConnectServer(tmp_path_factory.mktemp("connect"), environment({})) as server:
        yield server


@pytest.fixture
def new_loads(azure: Azurite, server: ConnectServer, tmp_path: Path) -> NewLoads:
    return lambda version: Loads(azure.new_table(), azure.options, server, tmp_path, version)


@VERSIONS
def test_the_next_run_completes_a_load_that_was_killed_in_its_commit(
    version: str, new_loads: NewLoads
) -> None:
    kill_loads_in_their_commit(new_loads(version))


@VERSIONS
def test_two_writers_at_the_same_time_lose_no_row(version: str, new_loads: NewLoads) -> None:
    write_at_the_same_time(new_loads(version), turns=4)


def test_only_one_process_at_a_time_holds_the_lock_of_the_table(azure: Azurite, tmp_path: Path) -> None:
    uri = azure.new_table()
    assert KEY not in count_in_processes(uri, azure.options, tmp_path)
    assert open_storage(uri, azure.options).exists(LOCK_OBJECT)
