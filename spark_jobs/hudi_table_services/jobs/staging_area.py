"""The folder in which one job stages rows, removed with everything in it however the job ends."""

import logging
import uuid
from types import TracebackType

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.storage import Storage

_LOG = logging.getLogger(__name__)
_ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000


class StagingArea:
    """Context manager around one job's staging folder.

    Where there was no table and the job made none, `.hoodie` goes too: a refused first write leaves nothing behind.

    Args:
        parent: folder below the base path that holds the staging folders of all jobs.
    """

    def __init__(self, storage: Storage, parent: str, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._parent = parent.strip("/")
        self.folder = f"{self._parent}/{uuid.uuid4().hex}"

    def __enter__(self) -> "StagingArea":
        self._remove_abandoned()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._storage.delete_folder(self.folder)
            if not self._storage.exists(".hoodie/hoodie.properties"):
                self._storage.delete_folder(".hoodie")
        except StorageError as failure:
            _LOG.warning("Staged rows in %s stay behind: %s", self.folder, failure)

    def _remove_abandoned(self) -> None:
        """Clear what killed jobs left. Age is judged by the newest file, so a running job is safe for a day."""
        now_ms = int(self._clock.now().timestamp() * 1000)
        newest: dict[str, int] = {}
        depth = self._parent.count("/") + 2
        for stored in self._storage.list_files(self._parent):
            folder = "/".join(stored.path.split("/")[:depth])
            newest[folder] = max(newest.get(folder, 0), stored.modified_ms)
        for folder, modified_ms in newest.items():
            if now_ms - modified_ms > _ABANDONED_AFTER_MS:
                _LOG.info("Removing rows staged by an abandoned job: %s", folder)
                self._storage.delete_folder(folder)
