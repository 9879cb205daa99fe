"""Wait until a Hudi table has new completed instants."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowSkipException,
    BaseSensorOperator,
    PokeReturnValue,
    conf,
)

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import InstantQuery, QueryAnswer
from airflow_hudi_provider.templates import names_filled_in_later, refuse_emptied
from airflow_hudi_provider.triggers.instant import HudiInstantTrigger, look_once, query_to_json
from hudi_table_services.errors import (
    CorruptTableError,
    HudiTableServiceError,
    InvalidRequestError,
    StorageError,
    TableNotFoundError,
    UnsupportedTableError,
)

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_SHORTEST_RESCHEDULE_S = 30
_PERMANENT = (CorruptTableError, InvalidRequestError, TableNotFoundError, UnsupportedTableError)


class HudiInstantSensor(BaseSensorOperator):
    """Waits for completed instants of a Hudi table, written by anyone.

    Returns ``{"count", "after", "until", "instants"}``: ``until`` is the time of the latest of them. In table version 8
    and later instants are ordered by completion, before that by request, so that there a write which began
    earlier and ended later is not seen.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param after: count what became visible after this instant time or ISO date and time. (templated)
        Left out: after what the last successful run of this task saw; the first run counts the whole active timeline.
    :param actions: ``commit``, ``deltacommit``, ``replacecommit``, ``clean``, …; left out: those that write rows.
        (templated)
    :param operations: operation types of writes, such as ``upsert`` or ``cluster``. (templated)
    :param partitions: partition paths of which a write must have touched one. (templated)
    :param min_count: as many instants must have completed.
    :param if_missing: what a table that does not exist means: ``wait`` for it, or ``fail``.
    :param deferrable: wait in the triggerer, without a worker slot.
    """

    template_fields: Sequence[str] = (
        "base_path",
        "hudi_conn_id",
        "storage_conn_id",
        "after",
        "actions",
        "operations",
        "partitions",
    )
    ui_color = "#d5eef7"

    def __init__(
        self,
        *,
        base_path: str | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        after: str | None = None,
        actions: Sequence[str] = (),
        operations: Sequence[str] = (),
        partitions: Sequence[str] = (),
        min_count: int = 1,
        if_missing: Literal["wait", "fail"] = "wait",
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if base_path is None and hudi_conn_id is None:
            raise ValueError(f"{self.task_id}: give base_path or hudi_conn_id.")
        if if_missing not in ("wait", "fail"):
            raise ValueError(f"{self.task_id}: if_missing={if_missing!r} must be 'wait' or 'fail'.")
        if min_count < 1:
            raise ValueError(f"{self.task_id}: min_count={min_count} must be at least 1.")
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.after = after
        self.actions = actions
        self.operations = operations
        self.partitions = partitions
        self.min_count = min_count
        self.if_missing = if_missing
        self.deferrable = deferrable
        self._filled_in_later = names_filled_in_later(self, self.template_fields)

    def execute(self, context: "Context") -> Any:
        if self.mode == "reschedule" and self.poke_interval < _SHORTEST_RESCHEDULE_S:
            self.log.warning(
                "poke_interval=%g in mode reschedule: Airflow may take a task that comes back so soon for failed. "
                "Use 60 or more, or deferrable=True.",
                self.poke_interval,
            )
        if not self.deferrable:
            return super().execute(context)
        try:
            query = self._query(context)
            found = self._look(query)
        except AirflowException as error:
            # Airflow itself looks at these only once a sensor is deferred.
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(str(error)) from error
            raise
        if found.is_done:
            return found.xcom_value
        self.defer(
            trigger=HudiInstantTrigger(
                base_path=self.base_path,
                hudi_conn_id=self.hudi_conn_id,
                storage_conn_id=self.storage_conn_id,
                query=query_to_json(query),
                fails_if_missing=self.if_missing == "fail",
                poke_interval=self.poke_interval,
            ),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: "Context", event: dict[str, Any] | None = None) -> Any:
        """Called with the trigger's event."""
        if event is None or not ("error" in event or "answer" in event):
            raise HudiTaskError(f"The trigger ended with an unknown event: {event!r}.")
        if "error" in event:
            raise HudiTaskRefusedError(str(event["error"]))
        answer = event["answer"]
        self.log.info("%d instants, the latest at %s", answer["count"], answer["until"])
        return answer

    def poke(self, context: "Context") -> PokeReturnValue:
        """One look; the baseline comes from the run, never from this object, which may be another one each time."""
        return self._look(self._query(context))

    def _look(self, query: InstantQuery) -> PokeReturnValue:
        hook = self._hook()
        try:
            answer = look_once(hook, query, fails_if_missing=self.if_missing == "fail")
        except _PERMANENT as error:
            raise HudiTaskRefusedError(f"{error.kind}: {error}") from error
        except StorageError as error:
            if not error.retryable:
                raise HudiTaskRefusedError(f"{error.kind}: {error}") from error
            self.log.warning("The timeline was not read, looking again later: %s", error)
            return PokeReturnValue(is_done=False)
        except HudiTableServiceError as error:
            raise HudiTaskError(f"{error.kind}: {error}") from error
        return self._said(hook.storage.uri, answer, query)

    def _said(self, uri: str, answer: QueryAnswer | None, query: InstantQuery) -> PokeReturnValue:
        if answer is None:
            self.log.info("There is no table at %s yet.", uri)
            return PokeReturnValue(is_done=False)
        since = f"after {query.after}" if query.after else "on the timeline"
        self.log.info(
            "%d of %d instants of %s %s%s", answer.count, self.min_count, uri, since, _latest(answer)
        )
        return PokeReturnValue(is_done=answer.count >= self.min_count, xcom_value=answer.to_json())

    def _query(self, context: "Context") -> InstantQuery:
        after = self._after(context)
        try:
            return InstantQuery(
                after=after,
                actions=_names(self.actions),
                operations=_names(self.operations),
                partitions=_names(self.partitions),
                min_count=self.min_count,
            )
        except InvalidRequestError as error:
            raise HudiTaskRefusedError(f"{error.kind}: {error}") from error

    def _after(self, context: "Context") -> str:
        """Instant time, ISO date and time, or nothing: everything counts."""
        refuse_emptied(self, self._filled_in_later)
        if self.after is not None:
            if not str(self.after).strip():
                raise HudiTaskRefusedError("after is empty once its template is rendered.")
            return str(self.after)
        ti = context["ti"]
        # With a map index it is one value, of the latest run before this one; without, all of all runs.
        map_index = getattr(ti, "map_index", -1)
        seen = ti.xcom_pull(task_ids=self.task_id, include_prior_dates=True, map_indexes=map_index)
        return str(seen.get("until") or seen.get("after") or "") if isinstance(seen, dict) else ""

    def _hook(self) -> HudiHook:
        return HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)


def _latest(answer: QueryAnswer) -> str:
    return f", the latest {answer.instants[-1].requested_time}" if answer.instants else ""


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    """A template renders to text: names between commas."""
    names = given.split(",") if isinstance(given, str) else given
    return tuple(str(name).strip() for name in names if str(name).strip())
