"""Fixtures of this folder: YARN and its HDFS, and the archive that jobs carry to the cluster."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from resource_manager import Yarn, running_yarn

from e2e.job_processes import REPOSITORY
from platforms.hdfs.name_node import running_hdfs


@pytest.fixture(scope="session")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    java_home, folder = os.environ["JAVA_HOME"], tmp_path_factory.mktemp("yarn")
    with running_hdfs(folder / "hdfs", java_home) as hdfs, running_yarn(hdfs, folder, java_home) as running:
        yield running


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist") / "hudi_table_services.zip"
    builder = REPOSITORY / "scripts" / "build_archive.py"
    subprocess.run([sys.executable, builder, target], check=True, capture_output=True)
    return target
