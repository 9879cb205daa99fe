"""Fixtures of this folder: a single-node HDFS that all tests share, and a new folder for each table."""

import os
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from name_node import Hdfs, running_hdfs


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with running_hdfs(tmp_path_factory.mktemp("hdfs"), os.environ["JAVA_HOME"]) as running:
        yield running


@pytest.fixture
def new_table(hdfs: Hdfs) -> Callable[[], str]:
    """Return a function that returns the URI of a folder that no other test uses."""
    return lambda: hdfs.uri(f"/lake/{uuid4().hex}")
