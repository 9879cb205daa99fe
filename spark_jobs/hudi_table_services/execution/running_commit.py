"""Tasks ask whether their write still goes on: Spark lets them run after a job has failed or been decided."""

from hudi_table_services.errors import InstantVanishedError
from hudi_table_services.execution.base_file_writer import BaseFileSpec
from hudi_table_services.storage.locks.heartbeat import has_heartbeat, read_heartbeat_owner
from hudi_table_services.storage.stores.storage import Storage


def require_running(storage: Storage, spec: BaseFileSpec, owner: str | None = None) -> None:
    """Leave nothing behind in a write that is over.

    Asked after the marker and again after the file. Whoever ends a write removes its heartbeat, or takes it over, and
    afterwards, if not before as well, the files of all markers, so a file is either removed there or here.

    Args:
        owner: the attempt that must still hold the heartbeat; None: any.

    Raises:
        InstantVanishedError: the write was completed, rolled back or taken over without this task.
    """
    instant_time = spec.base_file.instant_time
    if owner is None:
        goes_on = has_heartbeat(storage, instant_time)
    else:
        goes_on = read_heartbeat_owner(storage, instant_time) == owner
    if goes_on:
        return
    storage.delete(spec.path)
    storage.delete(spec.marker_path)
    storage.delete_empty_folders(spec.marker_path.rpartition("/")[0])
    raise InstantVanishedError(f"The commit {instant_time} ended while {spec.path} was being written.")
