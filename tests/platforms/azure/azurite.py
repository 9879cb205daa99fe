"""Azurite, an emulator of Azure Blob Storage, as a process of the tests."""

import base64
import hashlib
import hmac
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from uuid import uuid4

REPOSITORY = Path(__file__).resolve().parents[3]
ACCOUNT = "devstoreaccount1"
# The key that every emulator has; Microsoft documents it. It opens nothing else.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
CONTAINER = "lake"
_STARTS_WITHIN_S = 60.0


@dataclass(frozen=True)
class Azurite:
    """A running server with a container."""

    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        """Storage options for the server."""
        return {
            "azure_storage_account_name": ACCOUNT,
            "azure_storage_account_key": KEY,
            "azure_endpoint": self.endpoint,
            "allow_http": "true",
        }

    def new_table(self, scheme: str = "az") -> str:
        """Return the URI of a folder that no other test uses."""
        return f"{scheme}://{CONTAINER}/tables/{uuid4().hex}"


@contextmanager
def running_azurite(folder: Path) -> Iterator[Azurite]:
    """Start a server whose files are below a folder; end it at the end."""
    made = subprocess.run(
        [REPOSITORY / "scripts" / "ensure_azurite.sh"],
        capture_output=True,
        text=True,
        check=True,
        timeout=900,
    )
    process, port = _start(made.stdout.strip(), folder)
    server = Azurite(f"http://127.0.0.1:{port}/{ACCOUNT}")
    try:
        urllib.request.urlopen(_signed_creation(server), timeout=30).close()
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _start(program: str, folder: Path) -> "tuple[subprocess.Popen[bytes], int]":
    """Start a server and wait until it listens. Another process may take its port first; then try another port."""
    log = folder / "azurite.log"
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline:
        port = _free_port()
        command = [program, "--silent", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
        command += ["--location", str(folder), "--disableTelemetry", "--skipApiVersionCheck"]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        while process.poll() is None and time.monotonic() < deadline:
            if b"successfully listens" in log.read_bytes():
                return process, port
            time.sleep(0.1)
        process.kill()
    raise AssertionError(f"Azurite did not start: {log.read_text()}")


def _signed_creation(server: Azurite) -> urllib.request.Request:
    """Return the request that creates the container, signed with the shared key of the account."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    named = "\n".join(f"{name}:{value}" for name, value in sorted(headers.items()))
    resource = f"/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
    text = "PUT" + "\n" * 12 + f"{named}\n{resource}"
    signature = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signature).decode()}"
    url = f"{server.endpoint}/{CONTAINER}?restype=container"
    # Without data, urllib adds no Content-Type, which the signature would have to include.
    return urllib.request.Request(url, method="PUT", headers={**headers, "Content-Length": "0"})


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
