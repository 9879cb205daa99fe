"""Tell an asset of the commits that anybody makes on its table."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_hudi_provider.commit_cursor import CommitCursor
from airflow_hudi_provider.commit_payload import write_operations
from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.triggers.looks import pause, take_a_look
from airflow_hudi_provider.watched_commits import CommitWatch, NewCommits, watched_payload
from hudi_table_services.errors import HudiTableServiceError

_CURSOR = "cursor"
_SETTLING_S = 5.0


class HudiTableWatcherTrigger(BaseEventTrigger):
    """Fires again and again: an event for every so many commits; its payload is that of `watched_payload`.

    How far it came is kept in the asset's state store (Airflow 3.3). It is written some seconds after an event, when
    the event is in Airflow's database: a triggerer that dies in between tells the event once more, with the same
    ``dedupe_key``, and none is lost. Without a store, restarts begin at what the timeline holds then.

    A table that cannot be read is waited for, and one that is not there yet: all of its commits are new then.

    :param watch_id: makes triggers of several assets on one table differ; Airflow would make one of equal ones, and
        one trigger cannot keep the state of two assets.
    :param every_n_commits: one event for as many commits, or more where they came between two looks.
    :param operations: only writes of these, such as ``upsert``; empty: all but clusterings and compactions.
    :param from_beginning: tell, when watching begins, what the active timeline holds already.
    :param poke_interval: seconds between two looks.
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
        cursor = await self._stored_cursor()
        all_is_new = self.from_beginning
        while True:
            found = await self._look(cursor)
            all_is_new |= found.is_missing
            if found.timeline is not None and cursor is None:
                cursor = CommitCursor() if all_is_new else CommitCursor.at_head(found.timeline)
                await self._store(cursor)
                continue
            if found.timeline is not None and cursor is not None:
                is_due = len(found.wanted) >= self.every_n_commits
                if is_due:
                    yield TriggerEvent(watched_payload(found.base_path, found.wanted, self.every_n_commits))
                    await asyncio.sleep(min(_SETTLING_S, self.poke_interval))
                moved = found.moved(cursor, are_told=is_due)
                if moved != cursor:
                    cursor = moved
                    await self._store(cursor)
            await pause(self.poke_interval)

    async def _look(self, cursor: CommitCursor | None) -> NewCommits:
        try:
            return await take_a_look(self._look_now, cursor)
        except (HudiTableServiceError, HudiTaskRefusedError) as error:
            self.log.warning("The timeline was not read, looking again later: %s", error)
            return NewCommits()

    def _look_now(self, cursor: CommitCursor | None) -> NewCommits:
        hook = HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        return self._watch.look(hook, cursor)

    async def _stored_cursor(self) -> CommitCursor | None:
        store = self._state_store()
        if store is None:
            self.log.warning("This Airflow keeps no state of assets: a restart begins at the newest commit.")
            return None
        try:
            stored = await store.aget(_CURSOR, None)
        except ValueError:
            self.log.warning("Two assets share this watcher, so its state is not kept; give each a watch_id.")
            self.asset_state_store = None
            return None
        return None if stored is None else CommitCursor.from_json(stored)

    async def _store(self, cursor: CommitCursor) -> None:
        store = self._state_store()
        if store is not None:
            await store.aset(_CURSOR, cursor.to_json())

    def _state_store(self) -> Any:
        """None below Airflow 3.3."""
        return getattr(self, "asset_state_store", None)
