"""Credentials of an instance role expire during a job. The job gets new ones from the machine's metadata service.

A proxy in front of the server refuses the credentials that have expired.
"""

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow as pa
import pytest
from hudi import HudiReadOptions, HudiTable
from pyspark.sql import SparkSession

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import StorageError
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.factory import open_storage
from s3_server import S3
from support.jobs_on_tables import JOBS, later, read_state
from support.stores.faults import Fault, disturbing
from support.undone_tables import a_table

LIFE_S = 5.0
"""Seconds for which the keys of the upsert test are valid. The upsert takes longer."""

CLIENT_KEEPS_KEYS_S = 0.3
"""The client asks for new keys at most every 0.1 seconds, even if its keys expire soon."""

START = datetime.now(timezone.utc) - timedelta(hours=3)


class MetadataService(ThreadingHTTPServer):
    """The part of EC2's instance metadata service (version 2) that gives credentials of a role.

    Attributes:
        expiries: maps each access key to the time when it expires, in seconds since the epoch.
        life_s: how long the keys are valid. The clients renew keys that are valid for less than some minutes.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.expiries: dict[str, float] = {}
        self.life_s = 60.0
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def new_key(self) -> tuple[str, float]:
        with self._lock:
            key = f"KEY{len(self.expiries)}"
            self.expiries[key] = time.time() + self.life_s
            return key, self.expiries[key]

    def expire_all(self) -> None:
        with self._lock:
            self.expiries = dict.fromkeys(self.expiries, 0.0)


class _Answers(BaseHTTPRequestHandler):
    server: MetadataService

    def do_PUT(self) -> None:
        self._answer("token")

    def do_GET(self) -> None:
        if not self.path.endswith("/role"):
            self._answer("role")
            return
        key, expires = self.server.new_key()
        self._answer(
            json.dumps(
                {
                    "Code": "Success",
                    "AccessKeyId": key,
                    "SecretAccessKey": "canary-secret",
                    "Token": "canary-token",
                    "Expiration": datetime.fromtimestamp(expires, timezone.utc).strftime(
                        "%Y-%m-%dT%H:%M:%SZ"
                    ),
                    "LastUpdated": "2026-01-01T00:00:00Z",
                    "Type": "AWS-HMAC",
                }
            )
        )

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        return


class ExpiredKeys:
    """Refuses requests whose key has expired or is unknown. `used` contains the other keys."""

    def __init__(self, service: MetadataService) -> None:
        self._service = service
        self.used: set[str] = set()
        self.refused: list[str] = []

    def fault_of(self, request: str, headers: Mapping[str, str]) -> Fault | None:
        found = re.search(r"Credential=(\w+)/", headers.get("Authorization", ""))
        key = found[1] if found else ""
        if time.time() > self._service.expiries.get(key, 0.0):
            self.refused.append(f"{request} with {key!r}")
            return Fault.EXPIRED
        self.used.add(key)
        return None


@pytest.fixture
def metadata_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataService]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with MetadataService() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def expired(metadata_service: MetadataService) -> ExpiredKeys:
    return ExpiredKeys(metadata_service)


@pytest.fixture
def options(moto: S3, metadata_service: MetadataService, expired: ExpiredKeys) -> Iterator[dict[str, str]]:
    """Storage options without keys, for a server that refuses expired keys."""
    with disturbing(moto.endpoint, expired) as endpoint:
        yield {
            "aws_endpoint": endpoint,
            "aws_region": "us-east-1",
            "aws_metadata_endpoint": metadata_service.address,
            "allow_http": "true",
        }


def test_a_job_outlives_its_first_credentials(
    moto: S3, metadata_service: MetadataService, expired: ExpiredKeys, options: dict[str, str]
) -> None:
    table = a_table(TableVersion.V9, START, open_storage(moto.new_table(), options))
    act = JOBS["clean"](table)
    before, first = read_state(table), set(expired.used)
    metadata_service.expire_all()
    time.sleep(CLIENT_KEEPS_KEYS_S)
    act(table.storage, later(1))
    assert read_state(table) != before
    assert first, "no request was signed before the rotation"
    assert expired.used - first, "no request was signed after the rotation"
    assert expired.refused == []


def test_the_server_refuses_keys_that_have_expired(
    moto: S3, metadata_service: MetadataService, expired: ExpiredKeys, options: dict[str, str]
) -> None:
    key, _ = metadata_service.new_key()
    fixed = {**options, "aws_access_key_id": key, "aws_secret_access_key": "s", "aws_session_token": "t"}
    storage = open_storage(moto.new_table(), fixed)
    storage.create("a", b"x")
    metadata_service.expire_all()
    with pytest.raises(StorageError, match="the temporary credentials have expired") as refused:
        storage.read("a")
    assert refused.value.retryable
    assert "valid for longer than the job runs" in refused.value.hint
    assert expired.refused


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["6", "9"])
def test_an_upsert_outlives_the_keys_that_it_started_with(
    spark: SparkSession,
    moto: S3,
    metadata_service: MetadataService,
    expired: ExpiredKeys,
    options: dict[str, str],
    version: str,
) -> None:
    metadata_service.life_s = LIFE_S
    request = UpsertRequest(
        base_path=moto.new_table(),
        storage_options=options,
        table_name="t",
        record_key=("k",),
        partition_by=("p",),
        options={"hoodie.write.table.version": version},
    )
    rows = spark.range(100, numPartitions=2).selectExpr("cast(id as string) k", "cast(id % 3 as string) p")

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(LIFE_S + 1)
        yield from batches

    began = time.time()
    upsert(spark, request, rows.mapInArrow(slowly, rows.schema))
    first = min(metadata_service.expiries.values())
    assert began < first < time.time(), "the first key did not expire during the upsert"
    assert expired.refused == []
    assert len(expired.used) > 1
    batches = HudiTable(request.base_path, moto.options).read(HudiReadOptions())
    assert sum(batch.num_rows for batch in batches) == 100
