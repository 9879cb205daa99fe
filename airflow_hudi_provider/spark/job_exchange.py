"""Exchange the request and result documents between a task and its job."""

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

from hudi_table_services.contract.progress import progress_path
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import HudiTableServiceError, ObjectNotFoundError
from hudi_table_services.services.registry import read_result

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

REQUEST = "request.json"
"""Name of the job's request in the folder of a submission; the request may contain credentials."""

_PREFIX = "airflow-hudi-task-"
_ABANDONED_AFTER_S = 24 * 3600.0


class JobExchange:
    """Request and result documents of one submission. The end of a ``with`` block removes the request.

    Args:
        folder_uri: folder that both worker and driver can access, required if the driver runs on a cluster. All tries
            use the same file names, because a retry may wait for a driver of an earlier try. If empty, the
            exchange uses a private folder of this worker.
        place: DAG id, run id, task id and, for a mapped task, map index.
        storage_options: storage options for the folder.
    """

    def __init__(self, folder_uri: str, place: tuple[str, ...], storage_options: Mapping[str, str]) -> None:
        if not folder_uri:
            _sweep_abandoned()
        self._temporary = None if folder_uri else Path(tempfile.mkdtemp(prefix=_PREFIX))
        names = [quote(name, safe="") for name in place]
        self._root = str(self._temporary) if self._temporary else "/".join([folder_uri.rstrip("/"), *names])
        self._storage_options = storage_options if folder_uri else {}
        self._is_kept = False
        self.problem = ""
        """The reason why `read_result` returned no result."""

    @classmethod
    def in_folder(cls, folder: Path) -> "JobExchange":
        """Return an exchange in a local folder that the caller creates and removes."""
        exchange = cls(str(folder), (), {})
        exchange.keep()
        return exchange

    def keep(self) -> None:
        """Keep the request at the end of the block, because the run continues and may still read the request."""
        self._is_kept = True

    def __enter__(self) -> "JobExchange":
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        elif not self._is_kept:
            self.forget_request()

    @property
    def request_uri(self) -> str:
        return f"{self._root}/{REQUEST}"

    @property
    def result_uri(self) -> str:
        return f"{self._root}/result.json"

    def put_request(self, request: JobRequest) -> None:
        """Write the request; on a local file system, only this user can read a request that contains credentials."""
        from hudi_table_services.storage.stores.local import LocalStorage

        storage = self._storage()
        content = request.to_json().encode()
        if request.has_credentials and isinstance(storage, LocalStorage):
            storage.write_secret(REQUEST, content)
        else:
            storage.write(REQUEST, content)

    def forget_request(self) -> None:
        """Remove the request, which may contain credentials. Call this method when no driver will read it again."""
        self._storage().delete(REQUEST)

    def forget_result(self) -> None:
        """Remove the result of an earlier try. Call this method before a new driver is submitted."""
        storage = self._storage()
        for path in (self.result_uri, progress_path(self.result_uri)):
            storage.delete(path.rpartition("/")[2])

    def read_result(self, request_id: str) -> JobResult | None:
        """Return the result of this request. If there is no valid result, set `problem` and return None."""
        try:
            result = read_result(self._storage().read("result.json").decode())
        except ObjectNotFoundError:
            self.problem = f"The job wrote no result document ({self.result_uri})."
        except (HudiTableServiceError, UnicodeDecodeError) as error:
            self.problem = f"The result document {self.result_uri} cannot be read: {error}"
        else:
            if result.request_id == request_id:
                return result
            self.problem = (
                f"The result document {self.result_uri} belongs to another request, {result.request_id}."
            )
        return None

    def _storage(self) -> "Storage":
        from hudi_table_services.storage.stores.factory import open_storage

        return open_storage(self._root, self._storage_options)


def _sweep_abandoned() -> None:
    """Remove folders that this user's killed tasks left behind and that are older than a day."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            status = folder.stat()
        except FileNotFoundError:
            continue
        if status.st_uid == os.getuid() and time.time() - status.st_mtime > _ABANDONED_AFTER_S:
            shutil.rmtree(folder, ignore_errors=True)
