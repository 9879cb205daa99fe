"""The folder in which one job stages rows, removed with everything in it however the job ends."""

import logging
import uuid
from types import TracebackType

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.storage import Storage

_LOG = logging.getLogger(__name__)
STAGING_FOLDER = ".hoodie/.aux/staging"
"""Beside the table's own auxiliary files: no reader or writer of Hudi looks into it."""

_ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000


class StagingArea:
    """Context manager around one job's staging folder.

    Args:
        keeps_table_folder: False when there is no table yet: then `.hoodie` is removed too unless the job made a
            table meanwhile, so that a refused first write leaves nothing behind.
    """

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self.folder = f"{STAGING_FOLDER}/{uuid.uuid4().hex}"

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
        for stored in self._storage.list_files(STAGING_FOLDER):
            folder = "/".join(stored.path.split("/")[:4])
            newest[folder] = max(newest.get(folder, 0), stored.modified_ms)
        for folder, modified_ms in newest.items():
            if now_ms - modified_ms > _ABANDONED_AFTER_MS:
                _LOG.info("Removing rows staged by an abandoned job: %s", folder)
                self._storage.delete_folder(folder)
