"""Check in a task that its write is still running, because Spark can run tasks after the job has failed or finished."""

from typing import Protocol

from hudi_table_services.errors import InstantVanishedError
from hudi_table_services.storage.locks.heartbeat import has_heartbeat, read_heartbeat_owner
from hudi_table_services.storage.stores.storage import Storage


class MarkedFile(Protocol):
    """A data file that a task writes, with its marker."""

    @property
    def instant_time(self) -> str:
        """Requested time of the write."""

    @property
    def path(self) -> str:
        """Path of the file, relative to the base path."""

    @property
    def marker_path(self) -> str:
        """Path of the marker, relative to the base path."""


def require_running(storage: Storage, spec: MarkedFile, owner: str | None = None) -> None:
    """If the write has ended, delete this task's file and marker, and raise an error.

    Call this function after the task has written the marker, and again after the task has written the file. If a job
    ends a write, it removes or takes over the heartbeat first, and then deletes the files of all markers. So either
    that job or this function deletes the file.

    Args:
        owner: the attempt that must still own the heartbeat; None allows any owner.

    Raises:
        InstantVanishedError: the write was completed, rolled back or taken over without this task.
    """
    instant_time = spec.instant_time
    if owner is None:
        is_running = has_heartbeat(storage, instant_time)
    else:
        is_running = read_heartbeat_owner(storage, instant_time) == owner
    if is_running:
        return
    storage.delete(spec.path)
    storage.delete(spec.marker_path)
    storage.delete_empty_folders(spec.marker_path.rpartition("/")[0])
    raise InstantVanishedError(f"The commit {instant_time} ended while {spec.path} was being written.")
