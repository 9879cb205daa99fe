"""Manage the heartbeat and the markers of one attempt to write or to execute a plan."""

import logging
from collections.abc import Collection

from hudi_table_services.errors import StorageError
from hudi_table_services.storage.locks.heartbeat import Heartbeat
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)


class AttemptTraces:
    """Start and end the heartbeat of an attempt, and delete marked files that are not part of the commit.

    If a heartbeat or a marker cannot be removed, a warning is logged: the heartbeat expires, and the next job removes
    the markers.

    Args:
        owner: content of the heartbeat file, which is the request id or the id of the attempt.
    """

    def __init__(self, storage: Storage, instant_time: str, owner: str) -> None:
        self._instant_time = instant_time
        self._heartbeat = Heartbeat(storage, instant_time, owner=owner)
        self._markers = MarkerStore(storage, instant_time)

    def start_heartbeat(self) -> None:
        """Write the heartbeat and keep it fresh. Raises StorageError if it cannot be written."""
        self._heartbeat.start()

    def abandon_heartbeat(self) -> None:
        """Mark the heartbeat as ended and keep its file, so that tasks and a retry see that this attempt has ended."""
        try:
            self._heartbeat.abandon()
        except StorageError as failure:
            _LOG.warning(
                "The heartbeat of %s was not marked as ended, but it expires: %s", self._instant_time, failure
            )

    def let_heartbeat_expire(self) -> None:
        """Stop refreshing the heartbeat, and keep its file unchanged."""
        self._heartbeat.stop_refreshing()

    def stop_heartbeat(self) -> None:
        """Remove the heartbeat if it still belongs to this attempt."""
        try:
            self._heartbeat.stop()
        except StorageError as failure:
            # The heartbeat expires, and no job reads the heartbeat of a finished write.
            _LOG.warning("The heartbeat of %s was not removed: %s", self._instant_time, failure)

    def delete_unlisted(self, keep: Collection[str] = ()) -> None:
        """Delete the marked files of retried and speculative tasks: all marked files except the files to keep.

        Raises:
            StorageError: a file could not be deleted.
        """
        for path in self._markers.sweep(keep=set(keep)):
            _LOG.info("Deleted %s, which the commit does not name.", path)

    def remove(self, keep: Collection[str] = ()) -> None:
        """Delete the marked files except the files to keep, then delete the markers. Raises StorageError."""
        self.delete_unlisted(keep)
        self._markers.delete()

    def remove_after_completion(self, keep: Collection[str]) -> None:
        """Call `remove` after the commit. A failure is only logged, because the committed rows are not affected."""
        try:
            self.remove(keep)
        except StorageError as failure:
            _LOG.warning("The markers of %s were not removed: %s", self._instant_time, failure)
