"""A Spark Connect server whose workers lack the engine, as on a cluster that serves many applications.

The variable ``CONNECT_JAR`` contains the path of the server's jar for Spark 3.5 (``scripts/ensure_connect_jar.sh``).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from airflow_stack.connect_server import ConnectServer

from e2e.job_processes import environment, without_checkout


@pytest.fixture(autouse=True)
def without_connect_afterwards() -> Iterator[None]:
    """Remove a variable that Spark Connect sets in this process: later sessions without a server would fail."""
    yield
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    folder, jar = tmp_path_factory.mktemp("connect"), os.environ.get("CONNECT_JAR", "")
    with ConnectServer(folder, without_checkout({}), jars=jar) as server:
        yield server


@pytest.fixture
def variables(server: ConnectServer) -> Mapping[str, str]:
    """Environment of a client without Java."""
    found = environment({}, SPARK_REMOTE=server.address, PATH=_PATH_WITHOUT_JAVA)
    found.pop("JAVA_HOME", None)
    return found


@pytest.fixture
def base_path(tmp_path: Path) -> Path:
    return tmp_path / "tables" / "orders"


_PATH_WITHOUT_JAVA = "/nowhere"
