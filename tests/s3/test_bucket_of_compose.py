"""The container `airflow-init` of docker-compose.yaml creates the bucket of the tables."""

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import boto3
import pytest

from s3_server import S3

SCRIPT = Path(__file__).parents[2] / "docker" / "start_airflow.py"


@pytest.fixture
def start_airflow(moto: S3, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name, value in moto.options.items():
        monkeypatch.setenv(name.upper(), value)
    monkeypatch.setenv("AWS_ENDPOINT", moto.options["aws_endpoint"])
    spec = importlib.util.spec_from_file_location("start_airflow", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1"])
def test_the_bucket_is_created_once(
    region: str, start_airflow: ModuleType, moto: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", region)
    monkeypatch.setenv("LAKE_BUCKET", f"lake-{region}")
    for _ in range(2):
        start_airflow.make_bucket()
    client = boto3.client("s3", endpoint_url=moto.options["aws_endpoint"], region_name=region)
    assert (
        client.get_bucket_location(Bucket=f"lake-{region}")["LocationConstraint"] or "us-east-1"
    ) == region


def test_an_invalid_name_is_reported_at_once(
    start_airflow: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("LAKE_BUCKET", "x")
    began = time.monotonic()
    with pytest.raises(SystemExit, match="The bucket x cannot be used"):
        start_airflow.make_bucket()
    assert time.monotonic() - began < 10
