"""A fixture that starts an S3 server with conditional puts in a separate process."""

import os
from collections.abc import Iterator

import pytest

from s3_server import S3, running_server


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """The S3 server that all tests share."""
    with running_server(tmp_path_factory.mktemp("s3"), os.environ.get("VERSITYGW", "")) as server:
        yield server


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """A server that also has the API of Glue, and that checks no signatures, so a proxy may change the headers."""
    with running_server(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(scope="session")
def versitygw(s3: S3) -> S3:
    """A server that checks signatures, which moto does not. `make test-all` builds the server."""
    assert os.environ.get("VERSITYGW"), "VERSITYGW must be the path of versitygw"
    return s3
