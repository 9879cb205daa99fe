"""The folder in which one job stages rows. The folder is removed when the job succeeds or fails."""

import hashlib
import logging
import uuid
from collections.abc import Collection
from itertools import accumulate
from types import TracebackType

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)
_ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000


class StagingArea:
    """Context manager around one job's staging folder.

    Args:
        parent: folder below the base path that contains the staging folders of all jobs.
        owner: id of the request, or empty if the folder belongs to no request. Folders of earlier attempts of the
            same request are removed immediately.
        leaves_no_folder: whether to remove the folders that the job creates above the staging folder, too. True for a
            dry run, and for a first write, because the job may fail before it creates the table.
    """

    def __init__(
        self, storage: Storage, parent: str, clock: Clock, *, owner: str = "", leaves_no_folder: bool = False
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._parent = parent.strip("/")
        self._leaves_no_folder = leaves_no_folder
        self._earlier_folders: tuple[str, ...] = ()
        self._own_prefix = _prefix(self._parent, owner) if owner else ""
        self.folder = f"{self._own_prefix or f'{self._parent}/'}{uuid.uuid4().hex}"

    def __enter__(self) -> "StagingArea":
        self.remove_abandoned()
        if self._leaves_no_folder:
            parents = accumulate(self._parent.split("/"), join_path)
            self._earlier_folders = tuple(each for each in ("", *parents) if self._storage.has_folder(each))
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._storage.delete_folder(self.folder)
            if self._leaves_no_folder:
                # Other writers may use folders that are not empty.
                self._storage.delete_empty_folders(self._parent)
                if "" not in self._earlier_folders:
                    # On HDFS, deleting the base path needs write access to its parent folder, even if the base path is
                    # not empty.
                    self._storage.delete_empty_folders("")
                for folder in self._earlier_folders:
                    self._storage.make_folder(folder)
        except StorageError as failure:
            _LOG.warning("Staged rows in %s were not removed: %s", self.folder, failure)

    def remove_abandoned(self) -> None:
        """Remove folders of killed jobs: folders whose newest file is older than a day.

        A folder of an earlier attempt of the same request is removed at any age: either that attempt is dead, or it
        must not commit in addition to this attempt.
        """
        now_ms = int(self._clock.now().timestamp() * 1000)
        newest: dict[str, int] = {}
        depth = self._parent.count("/") + 2
        for stored in self._storage.list_files(self._parent):
            folder = "/".join(stored.path.split("/")[:depth])
            newest[folder] = max(newest.get(folder, 0), stored.modified_ms)
        for folder, modified_ms in newest.items():
            is_own = bool(self._own_prefix) and folder.startswith(self._own_prefix)
            if is_own or now_ms - modified_ms > _ABANDONED_AFTER_MS:
                _LOG.info("Removing rows staged by an abandoned job: %s", folder)
                self._storage.delete_folder(folder)


def remove_staged_by(storage: Storage, parent: str, owners: Collection[str]) -> None:
    """Delete the staging folders of these owners, all of whose attempts have ended.

    Args:
        parent: as in `StagingArea`.
        owners: values of `owner` in `StagingArea`.
    """
    parent = parent.strip("/")
    stored = list(storage.list_files(parent))
    prefixes = tuple(_prefix(parent, owner) for owner in owners) if stored else ()
    depth = parent.count("/") + 2
    for folder in {"/".join(each.path.split("/")[:depth]) for each in stored}:
        if folder.startswith(prefixes):
            _LOG.info("Removing rows staged by an attempt that has ended: %s", folder)
            storage.delete_folder(folder)


def _prefix(parent: str, owner: str) -> str:
    return f"{parent}/{hashlib.sha256(owner.encode()).hexdigest()[:16]}-"
