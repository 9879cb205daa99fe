"""Fixtures of this folder: an S3 server, and real Hudi with the classes that it needs on S3."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges.hudi_judge import REPOSITORY, HudiJudge
from s3.s3_server import S3, running_server

RELEASE = "1.2.0"


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with running_server(tmp_path_factory.mktemp("s3"), os.environ.get("VERSITYGW", "")) as server:
        yield server


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """The server that Hudi uses: the AWS client of Hadoop 3.3 waits about a minute for each put to versitygw."""
    with running_server(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(scope="session")
def judge(moto: S3, class_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HudiJudge]:
    """Real Hudi, which reaches the server through `s3a`."""
    options = moto.options
    settings = {
        "spark.hadoop.fs.s3a.endpoint": moto.endpoint,
        "spark.hadoop.fs.s3a.access.key": options["aws_access_key_id"],
        "spark.hadoop.fs.s3a.secret.key": options["aws_secret_access_key"],
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        # Hudi keeps streams of its log files open, so the default pool of 96 connections becomes empty.
        "spark.hadoop.fs.s3a.connection.maximum": "5000",
        "spark.hadoop.fs.s3a.threads.max": "64",
    }
    started = HudiJudge(
        RELEASE,
        tmp_path_factory.mktemp("judge"),
        class_path=class_path,
        settings=settings,
        variables={"AWS_ENDPOINT_URL": moto.endpoint},
    )
    yield started
    started.stop()


@pytest.fixture(scope="session")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Class path of Hudi with the client of its lock, which is compiled here."""
    found = subprocess.run(
        [REPOSITORY / "scripts" / "ensure_hudi_on_s3.sh"],
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
    )
    jars = found.stdout.strip()
    classes = tmp_path_factory.mktemp("lock-client")
    source = Path(__file__).with_name("S3StorageLockClient.java")
    compiled = subprocess.run(
        ["javac", "-nowarn", "-cp", jars, "-d", str(classes), str(source)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert compiled.returncode == 0, compiled.stderr
    return os.pathsep.join([str(classes), jars])
