"""The two places of a generated table: a folder on the local disk, and the S3 server of this package."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from scale.counted_storage import CountedLocalStorage, local_counts, server_counts

DISK, S3 = "disk", "s3"
BUCKET = "lake"


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlace:
    """A table as a measured process opens it.

    Attributes:
        uri: folder of the table, or URI of its objects.
        endpoint: address of the S3 server; empty if the table is on the disk.
    """

    uri: str
    endpoint: str = ""

    @property
    def storage_options(self) -> dict[str, str]:
        if not self.endpoint:
            return {}
        return {
            "aws_endpoint": self.endpoint,
            "aws_region": "us-east-1",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
            "allow_http": "true",
        }

    def open(self) -> Storage:
        """Open the storage. Requests to a local disk are counted by the storage itself."""
        if not self.endpoint:
            return CountedLocalStorage(self.uri)
        return open_storage(self.uri, self.storage_options)

    def counts(self) -> "Counter[str]":
        """Number of all requests until now, by kind."""
        return server_counts(self.endpoint) if self.endpoint else local_counts()


@contextmanager
def served(folder: Path, wait_ms: float) -> Iterator[TablePlace]:
    """Serve a table from its folder as objects of S3, as long as the context lasts. Nothing changes the folder."""
    script = Path(__file__).parent / "object_server.py"
    command = [sys.executable, str(script), str(folder.parent), str(wait_ms)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError(f"The S3 server of {folder} did not start.")
        yield TablePlace(uri=f"s3://{BUCKET}/{folder.name}", endpoint=f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(10)
