"""Credentials of an instance role expire during a job. The job gets new ones from the machine's metadata service."""

import json
import re
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from proxy import forwarding

from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.factory import open_storage
from s3_server import S3
from support.jobs_on_tables import JOBS, later, read_state
from support.undone_tables import a_table

LIFE_S = 1.0
START = datetime.now(timezone.utc) - timedelta(hours=3)


class MetadataService(ThreadingHTTPServer):
    """The part of EC2's instance metadata service (version 2) that gives credentials of a role."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.given: list[str] = []


class _Answers(BaseHTTPRequestHandler):
    server: MetadataService

    def do_PUT(self) -> None:
        self._answer("token")

    def do_GET(self) -> None:
        if not self.path.endswith("/role"):
            self._answer("role")
            return
        self.server.given.append(f"KEY{len(self.server.given)}")
        expires = datetime.now(timezone.utc) + timedelta(seconds=LIFE_S)
        self._answer(
            json.dumps(
                {
                    "Code": "Success",
                    "AccessKeyId": self.server.given[-1],
                    "SecretAccessKey": "canary-secret",
                    "Token": "canary-token",
                    "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
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


class UsedKeys:
    """Collects the access keys of the requests that pass a proxy."""

    def __init__(self) -> None:
        self.keys: set[bytes] = set()

    def sent(self, data: bytes) -> bytes:
        self.keys.update(re.findall(rb"Credential=(\w+)/", data))
        return data

    def received(self, data: bytes) -> bytes:
        return data


@pytest.fixture
def metadata_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataService]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with MetadataService() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_job_outlives_its_first_credentials(moto: S3, metadata_service: MetadataService) -> None:
    used = UsedKeys()
    with forwarding(moto, used) as recorded:
        options = {
            "aws_endpoint": recorded.endpoint,
            "aws_region": "us-east-1",
            "aws_metadata_endpoint": f"http://127.0.0.1:{metadata_service.server_address[1]}",
            "allow_http": "true",
        }
        table = a_table(TableVersion.V9, START, open_storage(moto.new_table(), options))
        act = JOBS["clean"](table)
        before = read_state(table)
        act(table.storage, later(1))
        assert read_state(table) != before
    assert len(used.keys) > 1
    assert used.keys <= {key.encode() for key in metadata_service.given}
