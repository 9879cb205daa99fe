"""Wait in the triggerer for completed instants."""

from dataclasses import asdict, replace
from typing import Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import InstantQuery, QueryAnswer, parse_moment
from airflow_hudi_provider.triggers.table import NO_TABLE, HudiTableTrigger
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import TableNotFoundError
from hudi_table_services.storage.archive.examined_history import ExaminedHistory


class HudiInstantTrigger(HudiTableTrigger):
    """Fires once when enough instants have completed; see `HudiTableTrigger`. The answer is a `QueryAnswer`.

    :param query: an `InstantQuery` as a dictionary.
    """

    def __init__(self, *, query: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.query = query
        self._examined = ExaminedHistory()

    def condition(self) -> dict[str, Any]:
        return {"query": self.query}

    def poll(self, hook: HudiHook) -> dict[str, Any] | None:
        query = query_from_json(self.query)
        answer = query_once(hook, query, self._examined, fails_if_missing=self.fails_if_missing)
        if answer is None:
            self.state = NO_TABLE
            return None
        since = f"after {query.after}" if query.after else "on the timeline"
        self.state = f"{answer.count} of {counted(query.min_count, 'instant')} {since}"
        return answer.to_json() if answer.count >= query.min_count else None


def query_once(
    hook: HudiHook, query: InstantQuery, examined: ExaminedHistory, *, fails_if_missing: bool
) -> QueryAnswer | None:
    """Query the timeline. If the table is missing, raise an error if `fails_if_missing` is true, else return None.

    If the base path contains other files, raise TableNotFoundError in both cases.

    Args:
        query: the query. Its ``after`` may also be an ISO date and time, which is converted to the table's time zone.
        examined: an object for all polls of the table.
    """
    try:
        if query.after:
            parse_moment(query.after, "after")
            query = replace(query, after=hook.instant_time_of(query.after))
        return hook.instants(query, examined)
    except TableNotFoundError:
        if fails_if_missing:
            raise
        hook.find_table_config()  # raises the error about other files
        return None


def query_to_json(query: InstantQuery) -> dict[str, Any]:
    """Return the query as plain JSON values, which Airflow can store with a trigger."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(query).items()}


def query_from_json(document: dict[str, Any]) -> InstantQuery:
    """Return the query from plain JSON values. This function is the inverse of `query_to_json`."""
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in document.items()
    }
    return InstantQuery(**fields)
