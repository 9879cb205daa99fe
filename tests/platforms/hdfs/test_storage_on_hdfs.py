"""Storage on HDFS passes the tests that every storage must pass; its errors name the cause and a remedy."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from name_node import Hdfs

from hudi_table_services.errors import InvalidRequestError, StorageError, StoragePermissionError
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from support.stores.locked_counting import count_in_processes
from unit.storage.stores.test_storage_contract import UNUSUAL_NAMES, StorageContract


@pytest.fixture
def storage(new_table: Callable[[], str]) -> Storage:
    return open_storage(new_table())


class TestHdfs(StorageContract):
    unusual_names: ClassVar[Sequence[str]] = [name for name in UNUSUAL_NAMES if ":" not in name]

    @pytest.fixture
    def storage(self, new_table: Callable[[], str]) -> Storage:
        return open_storage(new_table())


def test_a_name_with_a_colon_is_refused(storage: Storage) -> None:
    with pytest.raises(StorageError, match=r"Invalid path name .*\(InvalidPathException\)\. HDFS permits no"):
        storage.create("at=10:30/a", b"x")
    assert list(storage.list_files()) == []


def test_no_temporary_file_remains_if_a_file_with_the_name_exists(storage: Storage) -> None:
    storage.create("a", b"one")
    with pytest.raises(StorageError):
        storage.create("a", b"two")
    client = storage._client  # type: ignore[attr-defined]
    assert [each.path.rpartition("/")[2] for each in client.list_status(storage._full(""))] == ["a"]  # type: ignore[attr-defined]


def test_a_user_without_access_gets_an_error_with_a_remedy(storage: Storage) -> None:
    storage.create("a", b"one")
    program = (
        "import sys\n"
        "from hudi_table_services.storage.stores.factory import open_storage\n"
        "open_storage(sys.argv[1]).write('a', b'two')\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, storage.uri],
        env={"HADOOP_USER_NAME": "stranger", "PYTHONPATH": str(Path(__file__).parents[3] / "spark_jobs")},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    last = found.stderr.strip().splitlines()[-1]
    assert StoragePermissionError.__name__ in last
    assert "Permission denied: user=stranger" in last
    assert "HADOOP_USER_NAME" in last
    assert storage.read("a") == b"one"


def test_an_unknown_setting_is_refused(hdfs: Hdfs) -> None:
    with pytest.raises(InvalidRequestError, match="HDFS has no setting 'aws_region'"):
        open_storage(hdfs.uri("/t"), {"aws_region": "eu"})


def test_a_path_without_address_is_in_the_default_file_system(
    hdfs: Hdfs, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.create("a", b"one")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.conf_dir))
    path = storage.uri.removeprefix(f"hdfs://{hdfs.address}")
    assert open_storage(f"hdfs://{path}").read("a") == b"one"


def test_a_name_service_is_resolved_by_the_settings(hdfs: Hdfs, storage: Storage) -> None:
    storage.create("a", b"one")
    settings = {
        "dfs.nameservices": "lake",
        "dfs.ha.namenodes.lake": "one,two",
        "dfs.namenode.rpc-address.lake.one": "127.0.0.1:9",
        "dfs.namenode.rpc-address.lake.two": hdfs.address,
    }
    path = storage.uri.removeprefix(f"hdfs://{hdfs.address}")
    assert open_storage(f"hdfs://lake{path}", settings).read("a") == b"one"


def test_a_server_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(StorageError, match="Cannot read 'a'"):
        open_storage("hdfs://127.0.0.1:9/t", {"dfs.client.failover.max.attempts": "1"}).read("a")


def test_only_one_process_at_a_time_holds_the_lock_of_the_table(
    new_table: Callable[[], str], tmp_path: Path
) -> None:
    count_in_processes(new_table(), {}, tmp_path)
