"""Fire asset events for the commits that any writer makes to a table."""

import asyncio
from collections.abc import AsyncIterator, Container, Sequence
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.commit_cursor import CommitCursor
from airflow_hudi_provider.tables.commit_payload import write_operations
from airflow_hudi_provider.tables.watched_commits import CommitWatch, NewCommits, watched_payload
from airflow_hudi_provider.triggers.pool import pause, run_in_pool
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.write_stat import CommitMetadata

_CURSOR = "cursor"
_ANNOUNCED = "telling"
"""Key for the requested times of the commits in the newest event. Airflow may not have stored this event yet."""

_SETTLING_S = 5.0


class HudiTableWatcherTrigger(BaseEventTrigger):
    """Fires an event after every ``every_n_commits`` commits. The payload of an event is a `watched_payload`.

    The trigger stores its cursor in the asset's state store (Airflow 3.3 and later), some seconds after an event. By
    then, Airflow has stored the event. If the triggerer dies before the cursor is stored, the trigger fires the
    event again after the restart, with the same ``dedupe_key``. No event is lost. Without a state store, the trigger
    begins, after each restart, at the newest commit or, with ``from_beginning``, at the oldest active commit.

    The trigger waits for a table that cannot be read or does not exist yet. All commits of a new table count.

    :param watch_id: name that distinguishes the triggers of several assets on one table. Airflow would merge equal
        triggers, but one trigger cannot store the state of two assets.
    :param every_n_commits: number of commits that cause an event. An event covers more commits if more commits
        completed between two polls.
    :param operations: write operations that count, such as ``upsert``. If empty, all operations count except
        clusterings and compactions.
    :param from_beginning: also count the commits that are on the active timeline when watching begins.
    :param poke_interval: seconds between two polls.
    """

    def __init__(
        self,
        *,
        base_path: str | None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        watch_id: str = "",
        every_n_commits: int = 1,
        operations: Sequence[str] = (),
        from_beginning: bool = False,
        poke_interval: float = 60,
    ) -> None:
        super().__init__()
        if every_n_commits < 1:
            raise ValueError(f"every_n_commits={every_n_commits} must be at least 1.")
        if poke_interval <= 0:
            raise ValueError(f"poke_interval={poke_interval} must be above 0 seconds.")
        self._watch = CommitWatch(operations=write_operations(operations))
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.watch_id = watch_id
        self.every_n_commits = every_n_commits
        self.operations = list(operations)
        self.from_beginning = from_beginning
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "base_path": self.base_path,
                "hudi_conn_id": self.hudi_conn_id,
                "storage_conn_id": self.storage_conn_id,
                "watch_id": self.watch_id,
                "every_n_commits": self.every_n_commits,
                "operations": self.operations,
                "from_beginning": self.from_beginning,
                "poke_interval": self.poke_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        stored = await self._stored(_CURSOR)
        cursor = None if stored is None else CommitCursor.from_json(stored)
        announced = frozenset(await self._stored(_ANNOUNCED) or ())
        while True:
            found = await self._poll(cursor)
            if cursor is None:
                cursor = self._beginning(found)
                if cursor is not None:
                    await self._store(_CURSOR, cursor.to_json())
                    continue
            elif found.timeline is not None:
                batch = self._batch(found, announced)
                announced = frozenset()
                if batch:
                    await self._store(_ANNOUNCED, [instant.requested_time for instant, _ in batch])
                    yield TriggerEvent(watched_payload(found.base_path, batch, self.every_n_commits))
                    await asyncio.sleep(min(_SETTLING_S, self.poke_interval))
                moved = found.moved(cursor, reported=[instant for instant, _ in batch])
                if moved != cursor:
                    cursor = moved
                    await self._store(_CURSOR, cursor.to_json())
            await pause(self.poke_interval)

    def _beginning(self, found: NewCommits) -> CommitCursor | None:
        """Return the cursor at which watching begins, or None if the table could not be read.

        If the table does not exist yet, all its commits will count.
        """
        if found.is_missing:
            return CommitCursor.before_all()
        if found.timeline is None:
            return None
        return CommitCursor() if self.from_beginning else CommitCursor.at_head(found.timeline)

    def _batch(
        self, found: NewCommits, announced: Container[str]
    ) -> Sequence[tuple[Instant, CommitMetadata]]:
        """Return the commits of the next event. If there are too few commits, return an empty sequence.

        After a restart, first repeat the event that was announced before the restart, with the same ``dedupe_key``.
        """
        again = [each for each in found.wanted if each[0].requested_time in announced]
        return again or (found.wanted if len(found.wanted) >= self.every_n_commits else ())

    async def _poll(self, cursor: CommitCursor | None) -> NewCommits:
        try:
            return await run_in_pool(self._poll_table, cursor)
        except (HudiTableServiceError, HudiTaskRefusedError) as error:
            self.log.warning("The timeline could not be read; the trigger polls again later: %s", error)
            return NewCommits()

    def _poll_table(self, cursor: CommitCursor | None) -> NewCommits:
        hook = HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        return self._watch.poll(hook, cursor)

    async def _stored(self, key: str) -> Any:
        store = self._state_store()
        if store is None:
            if key == _CURSOR:
                self.log.warning(
                    "Airflow stores no state for this asset, so the trigger starts without state after each restart."
                )
            return None
        try:
            return await store.aget(key, None)
        except ValueError:
            self.log.warning(
                "Two assets share this watcher, so Airflow cannot store its state. Give each watcher its own name."
            )
            self.asset_state_store = None
            return None

    async def _store(self, key: str, value: Any) -> None:
        store = self._state_store()
        if store is not None:
            await store.aset(key, value)

    def _state_store(self) -> Any:
        """Return the asset's state store, or None if Airflow provides none (versions older than 3.3)."""
        return getattr(self, "asset_state_store", None)
