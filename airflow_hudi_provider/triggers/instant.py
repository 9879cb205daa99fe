"""Watch a table's timeline from the triggerer."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import InstantQuery, QueryAnswer
from hudi_table_services.errors import HudiTableServiceError, StorageError, TableNotFoundError


class HudiInstantTrigger(BaseTrigger):
    """Fires once when enough instants have completed, or when waiting makes no sense any more.

    Its event is ``{"answer": …}`` (see `QueryAnswer`) or ``{"error": message}``. A storage that fails is asked again:
    a restart of the triggerer, too, only means another look.

    :param query: an `InstantQuery` as a dictionary.
    :param fails_if_missing: a missing table is an error instead of something to wait for.
    """

    def __init__(
        self,
        *,
        base_path: str | None,
        hudi_conn_id: str | None,
        storage_conn_id: str | None,
        query: dict[str, Any],
        fails_if_missing: bool,
        poke_interval: float,
    ) -> None:
        super().__init__()
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.query = query
        self.fails_if_missing = fails_if_missing
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "base_path": self.base_path,
                "hudi_conn_id": self.hudi_conn_id,
                "storage_conn_id": self.storage_conn_id,
                "query": self.query,
                "fails_if_missing": self.fails_if_missing,
                "poke_interval": self.poke_interval,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        query = query_from_json(self.query)
        while True:
            try:
                answer = await asyncio.to_thread(self._look, query)
            except StorageError as error:
                if not error.retryable:
                    yield TriggerEvent({"error": f"{error.kind}: {error}"})
                    return
                self.log.warning("The timeline was not read, looking again later: %s", error)
            except (HudiTableServiceError, HudiTaskRefusedError) as error:
                yield TriggerEvent({"error": f"{type(error).__name__}: {error}"})
                return
            else:
                if answer is not None and answer.count >= query.min_count:
                    yield TriggerEvent({"answer": answer.to_json()})
                    return
            await asyncio.sleep(self.poke_interval)

    def _look(self, query: InstantQuery) -> QueryAnswer | None:
        hook = HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        return look_once(hook, query, fails_if_missing=self.fails_if_missing)


def look_once(hook: HudiHook, query: InstantQuery, *, fails_if_missing: bool) -> QueryAnswer | None:
    """What the timeline says now; None: there is no table yet, and that is no error.

    Args:
        query: its ``after`` may also be an ISO date and time, which is taken in the table's zone.
    """
    try:
        if query.after:
            query = replace(query, after=hook.instant_time_of(query.after))
        return hook.instants(query)
    except TableNotFoundError:
        if fails_if_missing:
            raise
        return None


def query_to_json(query: InstantQuery) -> dict[str, Any]:
    """Plain JSON values, as triggers are stored."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(query).items()}


def query_from_json(document: dict[str, Any]) -> InstantQuery:
    """The inverse of `query_to_json`."""
    return InstantQuery(**{k: tuple(v) if isinstance(v, list) else v for k, v in document.items()})
