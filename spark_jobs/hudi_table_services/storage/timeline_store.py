"""The active timeline on storage. Only this module creates or removes instants; it never overwrites a file."""

import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from hudi_table_services.errors import (
    CommitStateUnknownError,
    InstantExistsError,
    InstantVanishedError,
    MalformedFileNameError,
    MalformedMetadataError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
    TimelineInvariantError,
)
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata
from hudi_table_services.model.instant import Action, Instant, InstantState, is_instant_name
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TimelineLayout
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata
from hudi_table_services.options.keys.writing import FAILED_WRITES_POLICY
from hudi_table_services.storage.clock import Clock, instant_moment, instant_time
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import FolderListing, Storage, StoredObject
from hudi_table_services.storage.table_store import require_table

_LOG = logging.getLogger(__name__)

# Newest instant time that this process generated for each table, so that two threads never get the same time.
_given_out: dict[str, str] = {}
_given_out_guard = threading.Lock()

_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds between reads of a completed file that is empty or truncated. On a local disk, Hudi first creates the file
and then writes its content, so for a short time a concurrent reader can find an incomplete file."""


class TimelineStore:
    """The timeline folder of one table (HoodieActiveTimeline, Hudi 1.2).

    The states of an instant are requested, inflight and completed. Each state has its own file, which never changes.
    """

    def __init__(self, storage: Storage, config: TableConfig, clock: Clock) -> None:
        self._storage = storage
        self._config = config
        self._clock = clock
        self._layout = config.table_version.layout

    def load(self) -> Timeline:
        """All instants, each in its most advanced state.

        Raises:
            TableNotFoundError: the base path contains neither an instant nor the properties of a table.
            TimelineInvariantError: a completed file has zero bytes, or a file name belongs to the other layout.
        """
        listing = self._listing()
        archive_folder = self._config.archive_folder.removeprefix(f"{self._layout.timeline_folder}/")
        may_have_archive = archive_folder.split("/")[0] in ("", ".", "..", *listing.folders)
        return Timeline.of(self._instants_in(listing), may_have_archive=may_have_archive)

    def age_s(self, instant: Instant) -> float:
        """Seconds since the requested time of the instant; 0 if its digits are not a date."""
        moment = instant_moment(instant.requested_time, self._config)
        return max(0.0, (self._clock.now() - moment).total_seconds()) if moment else 0.0

    def path_of(self, instant: Instant) -> str:
        """Path of the state file, relative to the base path."""
        return join_path(self._layout.timeline_folder, instant.file_name(self._layout))

    def read(self, instant: Instant) -> bytes:
        """Content of the instant's file in exactly this state. Raises ObjectNotFoundError."""
        return self._storage.read(self.path_of(instant))

    def modified_ms(self, instant: Instant) -> int:
        """Modification time of the instant's file in exactly this state, in ms. Raises ObjectNotFoundError."""
        return self._storage.modified_ms(self.path_of(instant))

    def requested_path_of(self, instant: Instant) -> str:
        """Path of the requested file of a pending instant. This file contains the plan."""
        return self.path_of(self._in_state(instant, InstantState.REQUESTED))

    def read_requested(self, instant: Instant) -> bytes:
        """Content of the requested file, which contains the plan. The instant may be in any state.

        The action in the completed file's name can differ from the requested action: clustering becomes replacecommit.
        """
        requested = self._in_state(instant, InstantState.REQUESTED)
        if not instant.is_completed:
            return self.read(requested)
        names = [a for a in Action if a.comparable is instant.action and a is not instant.action]
        for action in (instant.action, *names):
            path = self.path_of(replace(requested, action=action))
            with suppress(ObjectNotFoundError):
                return self._storage.read(path)
        missing = self.path_of(requested)
        raise ObjectNotFoundError(f"{missing} does not exist.", path=missing)

    def commit_metadata(self, instant: Instant) -> CommitMetadata:
        """Commit metadata of a completed write, or the workload profile of an inflight write.

        Raises:
            ObjectNotFoundError: the file no longer exists.
            MalformedMetadataError: the file cannot be decoded; the message names the file.
        """
        try:
            return self._decoded(instant)
        except MalformedMetadataError as error:
            raise MalformedMetadataError(
                f"{self.path_of(instant)}: {error.message}",
                path=self.path_of(instant),
                hint="A writer died while it wrote the file. Restore the file from a backup, or undo the instant with "
                "Hudi's command line; until then, no job of this project writes to the table.",
            ) from error

    def _decoded(self, instant: Instant) -> CommitMetadata:
        for pause in _PAUSES if instant.is_completed else ():
            with suppress(MalformedMetadataError):
                return decode_commit_metadata(self.read(instant))
            time.sleep(pause)
        return decode_commit_metadata(self.read(instant))

    def new_instant_time(self) -> str:
        """Return a time later than every time on the timeline and every time that this process generated before."""
        return self._time_after(self._state_files())

    def request(self, action: Action, content: bytes = b"", requested_time: str | None = None) -> Instant:
        """Create the requested file of an action. The content is the plan, if the action has a plan.

        Raises:
            InstantExistsError: another writer used this time for the same action.
        """
        instant = Instant(
            requested_time=requested_time or self.new_instant_time(),
            action=action,
            state=InstantState.REQUESTED,
        )
        return self._create(instant, content)

    def begin_savepoint(self, requested_time: str) -> Instant:
        """Create the inflight file of a savepoint for the commit of that time. A savepoint has no requested state.

        Raises:
            InstantExistsError: another writer, or an attempt that died, began this savepoint.
        """
        instant = Instant(requested_time=requested_time, action=Action.SAVEPOINT, state=InstantState.INFLIGHT)
        return self._create(instant, b"")

    def start(self, instant: Instant, content: bytes = b"") -> Instant:
        """Make a requested instant inflight.

        Raises:
            InstantVanishedError: the instant has been rolled back.
            InstantExistsError: another writer started the instant.
        """
        self._require_present(instant, self._state_files())
        return self._create(self._in_state(instant, InstantState.INFLIGHT), content)

    def begin(self, action: Action, requested_time: str) -> Instant:
        """Request an action without a plan, and make it inflight.

        Unlike `start`, this method does not check that the requested file still exists, but `complete` checks this.

        Raises:
            InstantExistsError: another writer used this time for the same action.
        """
        return self._create(
            self._in_state(self.request(action, requested_time=requested_time), InstantState.INFLIGHT), b""
        )

    def complete(self, instant: Instant, content: bytes) -> Instant:
        """Create the completed file, which makes the change visible. The caller holds the table lock.

        Raises:
            InstantVanishedError: the requested or inflight file no longer exists: another writer rolled this attempt
                back and deleted its data. Completing now would lose rows without any error.
            InstantExistsError: another writer completed the instant.
            CommitStateUnknownError: the storage failed, and it is unknown whether the file exists.
        """
        present = self._state_files()
        for state in (InstantState.REQUESTED, InstantState.INFLIGHT):
            if not (instant.action is Action.SAVEPOINT and state is InstantState.REQUESTED):
                self._require_present(self._in_state(instant, state), present)
        if any(other.is_completed and other.identity == instant.identity for other in present):
            raise InstantExistsError(
                f"{instant.action.value} {instant.requested_time} is already completed.",
                hint="Another process is working on the same instant; load the timeline again.",
            )
        timed = self._layout.has_completion_time_in_names
        completed = Instant(
            requested_time=instant.requested_time,
            action=instant.action.comparable,
            state=InstantState.COMPLETED,
            completion_time=self._time_after(present) if timed else None,
        )
        return self._create(completed, content)

    def return_to_requested(self, instant: Instant) -> None:
        """Delete the inflight file of a plan, so that the plan is requested again."""
        self._storage.delete(self.path_of(self._in_state(instant, InstantState.INFLIGHT)))

    def remove(self, instant: Instant) -> None:
        """Delete the files of a pending instant: first the inflight file, then the requested file, as Hudi does."""
        for state in (InstantState.INFLIGHT, InstantState.REQUESTED):
            self._storage.delete(self.path_of(self._in_state(instant, state)))

    def remove_completed(self, instant: Instant) -> None:
        """Delete the completed file of an instant that is being undone. The caller then deletes its other files."""
        self._storage.delete(self.path_of(instant))

    def state_files(self) -> Mapping[Instant, StoredObject]:
        """Map each instant of the active timeline, in each of its states, to its file."""
        return {
            instant: stored
            for stored in self._listing().files
            if (instant := self._parsed(stored)) is not None
        }

    def remove_archived(self, instants: Sequence[Instant]) -> None:
        """Delete the files of completed instants that the archive contains. The caller holds the table lock.

        The requested and inflight files are deleted first, then the completed files one by one, oldest first. If the
        deletion stops at any point, the newest completed writes are on the timeline without gaps, and no completed
        instant seems pending.

        Raises:
            StorageError: a file cannot be deleted; the files after that file were not deleted.
        """
        pending = [
            self.path_of(replace(self._in_state(instant, state), action=action))
            for instant in instants
            for action in instant.action.pending_names
            for state in (InstantState.REQUESTED, InstantState.INFLIGHT)
        ]
        present = {stored.path for stored in self._list().files}
        failures = self._storage.delete_files([path for path in pending if path in present])
        for failure in failures.values():
            raise failure
        for instant in sorted(instants):
            self._storage.delete(self.path_of(instant))

    @staticmethod
    def _in_state(instant: Instant, state: InstantState) -> Instant:
        return replace(instant, state=state, completion_time=None)

    def _state_files(self) -> tuple[Instant, ...]:
        return self._instants_in(self._listing())

    def _instants_in(self, listing: FolderListing) -> tuple[Instant, ...]:
        found = (self._parsed(stored) for stored in listing.files)
        return tuple(instant for instant in found if instant is not None)

    def _listing(self) -> FolderListing:
        """List the instant files and the folders of the timeline. List again while a completed file is empty."""
        for pause in _PAUSES:
            found = self._list()
            if not any(self._is_empty_completed(stored) for stored in found.files):
                return found
            time.sleep(pause)
        return self._list()

    def _list(self) -> FolderListing:
        listing = self._storage.list_folder(self._layout.timeline_folder)
        found = tuple(stored for stored in listing.files if is_instant_name(stored.name))
        if not found:
            require_table(self._storage)  # either the table is new, or its folder was deleted
        return replace(listing, files=found)

    def _is_empty_completed(self, stored: StoredObject) -> bool:
        with suppress(MalformedFileNameError):
            return stored.size_bytes == 0 and Instant.from_file_name(stored.name, self._layout).is_completed
        return False

    def _parsed(self, stored: StoredObject) -> Instant | None:
        """Return the instant of a state file; None for names that Hudi ignores too, such as temporary files."""
        try:
            instant = Instant.from_file_name(stored.name, self._layout)
        except MalformedFileNameError:
            if _is_instant_of_other_layout(stored.name, self._layout):
                raise TimelineInvariantError(
                    f"The name of {stored.path} does not belong to timeline layout {self._layout.value}, which this "
                    "table has.",
                    path=stored.path,
                    hint="An upgrade or downgrade of the table was interrupted; finish it with Hudi first.",
                ) from None
            return None
        if instant.is_completed and stored.size_bytes == 0:
            raise TimelineInvariantError(
                f"The completed instant {stored.path} has zero bytes.",
                path=stored.path,
                hint="A writer died while it wrote the file. Restore the file from a backup, or undo the instant with "
                "Hudi's command line; until then, no job of this project writes to the table.",
            )
        return instant

    def _time_after(self, present: Collection[Instant]) -> str:
        times = {i.requested_time for i in present} | {i.completion_time or "" for i in present}
        with _given_out_guard:
            newest = max(times | {_given_out.get(self._storage.uri, "")})
            found = instant_time(self._clock.now(), self._config, after=newest)
            _given_out[self._storage.uri] = found
        return found

    def _require_present(self, instant: Instant, present: Collection[Instant]) -> None:
        if instant not in present:
            raise InstantVanishedError(
                f"{self.path_of(instant)} no longer exists: another writer rolled this attempt back.",
                path=self.path_of(instant),
                hint="Run the request again. Concurrent Hudi writers need the table lock and "
                f"{FAILED_WRITES_POLICY}=LAZY.",
            )

    def _create(self, instant: Instant, content: bytes) -> Instant:
        path = self.path_of(instant)
        try:
            self._storage.create(path, content)
        except StoragePermissionError:
            raise
        except StorageError as error:
            self._resolve_failed_create(path, content, error)
        _LOG.debug("Created %s below %s", path, self._storage.uri)
        return instant

    def _resolve_failed_create(self, path: str, content: bytes, error: StorageError) -> None:
        """Find out whether a failed creation created the file.

        A failed creation may have created the file: the response to the creation can be lost. The storage client then
        repeats the creation, and the repeated creation fails because the file exists.

        This method returns if this writer created the file; otherwise it raises an error. An empty file does not show
        which writer created it, so if an empty file existed already, the method raises an error.
        """
        exists_already = isinstance(error, ObjectExistsError)
        try:
            is_ours = self._storage.read(path) == content and (content != b"" or not exists_already)
        except ObjectNotFoundError:
            raise error from None
        except StorageError as failure:
            raise CommitStateUnknownError(
                f"It is unknown whether {path} was created: {error.message} The check then failed: {failure.message}",
                path=path,
                hint="Nothing was deleted. Run the request again: it checks the timeline first.",
            ) from failure
        if is_ours:
            return
        if exists_already:
            raise InstantExistsError(
                f"{path} already exists: another writer created it first.",
                path=path,
                hint="Run the request again.",
            ) from error
        raise error


def _is_instant_of_other_layout(name: str, layout: TimelineLayout) -> bool:
    other = TimelineLayout.V1 if layout is TimelineLayout.V2 else TimelineLayout.V2
    try:
        Instant.from_file_name(name, other)
    except MalformedFileNameError:
        return False
    return True
