"""The active timeline on storage: the only module that writes or removes instants, always create-if-absent."""

import time
from dataclasses import replace

from hudi_table_services.errors import (
    InstantExistsError,
    InstantVanishedError,
    MalformedFileNameError,
    ObjectExistsError,
    TimelineInvariantError,
)
from hudi_table_services.model.instant import Action, Instant, InstantState, looks_like_instant
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.clock import Clock, instant_text, later
from hudi_table_services.storage.storage import Storage


class TimelineStore:
    def __init__(self, storage: Storage, config: TableConfig, clock: Clock) -> None:
        self._storage, self._config, self._clock = storage, config, clock
        self._layout = config.table_version.layout

    def load(self) -> Timeline:
        instants = []
        for stored in self._storage.list_folder(self._layout.timeline_folder).files:
            name = stored.path.rpartition("/")[2]
            if not looks_like_instant(name):
                continue
            try:
                instant = Instant.from_file_name(name, self._layout)
            except MalformedFileNameError:
                continue
            if instant.is_completed and stored.size_bytes == 0:
                raise TimelineInvariantError(f"The completed instant {stored.path} has zero bytes.", hint="Restore it, or roll it back with Hudi's CLI; nothing is written until then.")
            instants.append(instant)
        return Timeline.of(instants)

    def path_of(self, instant: Instant) -> str:
        return f"{self._layout.timeline_folder}/{instant.file_name(self._layout)}"

    def read(self, instant: Instant) -> bytes:
        return self._storage.read(self.path_of(instant))

    def new_instant_time(self) -> str:
        timeline = self.load()
        newest = max((t for i in timeline for t in (i.requested_time, i.completion_time or "")), default="")
        while True:
            text = instant_text(self._clock.now(), self._config)
            if text > newest:
                return text
            time.sleep(0.001)

    def request(self, action: Action, content: bytes = b"", requested_time: str | None = None) -> Instant:
        instant = Instant(requested_time=requested_time or self.new_instant_time(), action=action, state=InstantState.REQUESTED)
        self._create(instant, content)
        return instant

    def start(self, instant: Instant, content: bytes = b"") -> Instant:
        self._require(instant)
        started = replace(instant, state=InstantState.INFLIGHT)
        self._create(started, content)
        return started

    def complete(self, instant: Instant, content: bytes) -> Instant:
        for state in (InstantState.REQUESTED, InstantState.INFLIGHT):
            self._require(replace(instant, state=state))
        completed = replace(instant, state=InstantState.COMPLETED, action=instant.action.comparable,
            completion_time=self.new_instant_time() if self._layout.has_completion_time_in_names else None)
        self._create(completed, content)
        return completed

    def remove(self, instant: Instant) -> None:
        for state in (InstantState.INFLIGHT, InstantState.REQUESTED):
            self._storage.delete(self.path_of(replace(instant, state=state, completion_time=None)))

    def _require(self, instant: Instant) -> None:
        if not self._storage.exists(self.path_of(instant)):
            raise InstantVanishedError(f"{self.path_of(instant)} is gone: another writer rolled this attempt back.", hint="Run the request again.")

    def _create(self, instant: Instant, content: bytes) -> None:
        try:
            self._storage.create(self.path_of(instant), content)
        except ObjectExistsError as error:
            raise InstantExistsError(f"{self.path_of(instant)} already exists: another writer was first.") from error
