"""An S3 server with conditional puts, in a separate process: versitygw, or else moto.

The variable ``VERSITYGW`` contains the path of versitygw (``scripts/ensure_versitygw.sh``). ``make test-s3`` builds
versitygw if ``TEST_DEPTH`` is ``all`` or ``exhaustive``; otherwise, it uses versitygw only if it is already built.
"""

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-s3" / "bin" / "python"
# The command of moto starts a server with threads. Such a server checks the condition of a put and stores the object in
# two steps, so two writers could get one lock. Therefore this program starts moto without threads.
SERVER = """
import sys
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple
run_simple("127.0.0.1", int(sys.argv[1]), DomainDispatcherApplication(create_backend_app), threaded=False)
"""
BUCKET = "lake"
_STARTS_WITHIN_S = 120


@dataclass(frozen=True, slots=True)
class S3:
    """The address of a server with a bucket, and the storage options for the server."""

    endpoint: str
    secret: str = "canary-secret"

    @property
    def options(self) -> dict[str, str]:
        return {
            "aws_endpoint": self.endpoint,
            "aws_region": "us-east-1",
            "aws_access_key_id": "key",
            "aws_secret_access_key": self.secret,
            "allow_http": "true",
        }

    def at(self, endpoint: str) -> "S3":
        """Return the same server at another address."""
        return replace(self, endpoint=endpoint)

    def new_table(self) -> str:
        """URI of a folder that no other test uses."""
        return f"s3://{BUCKET}/tables/{uuid4().hex}"


@contextmanager
def running_server(folder: Path, versitygw: str = "") -> Iterator[S3]:
    """Run a server with a bucket; its log and data are in the folder.

    Args:
        versitygw: path of the program; if it is empty, the server is moto, which does not check signatures.
    """
    port = _free_port()
    server = S3(f"http://127.0.0.1:{port}")
    log = folder / "server.log"
    command, variables = [str(PYTHON), "-c", SERVER, str(port)], dict(os.environ)
    if versitygw:
        (folder / "data" / BUCKET).mkdir(parents=True)
        command = [
            *(versitygw, "--port", f"127.0.0.1:{port}", "--region", "us-east-1", "--quiet"),
            *("posix", str(folder / "data")),
        ]
        variables |= {"ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": server.secret}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=variables, stdout=output, stderr=subprocess.STDOUT)
        try:
            if versitygw:
                _wait_until_it_listens(port, process, log)
            else:
                _make_bucket(server, process, log)
            yield server
        finally:
            process.terminate()
            process.wait(10)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_until_it_listens(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"The server did not start: {log.read_text()}")
            time.sleep(0.1)


def _make_bucket(server: S3, process: "subprocess.Popen[bytes]", log: Path) -> None:
    signed = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request"
    request = urllib.request.Request(
        f"{server.endpoint}/{BUCKET}", method="PUT", headers={"Authorization": signed}
    )
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while True:
        try:
            urllib.request.urlopen(request, timeout=5).close()
            return
        except OSError:  # includes the timeout of a busy server
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"The server did not start: {log.read_text()}")
            time.sleep(0.1)
