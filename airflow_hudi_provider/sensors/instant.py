"""Wait until a Hudi table has new completed instants."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import PokeReturnValue

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import InstantQuery, QueryAnswer
from airflow_hudi_provider.sensors.table import HudiTableSensor
from airflow_hudi_provider.tasks.templates import names_filled_in_later, refuse_emptied
from airflow_hudi_provider.triggers.instant import HudiInstantTrigger, query_once, query_to_json
from hudi_table_services.contract.text import counted
from hudi_table_services.storage.archive.examined_history import ExaminedHistory

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class HudiInstantSensor(HudiTableSensor):
    """Waits until a number of new instants, by any writers, have completed on a Hudi table.

    Until the task has succeeded once, the sensor counts all instants of the active timeline, so the first run on a
    table with ``min_count`` instants does not wait. Give ``after`` to wait for new instants in the first run as well.

    The sensor returns ``{"count", "after", "until", "instants"}``. ``until`` is the time of the latest instant. From
    table version 8 on, instants are ordered by completion time. In earlier versions they are ordered by requested
    time, so the sensor misses a write that was requested before ``after`` and completes later.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table. A relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param after: instant time, or ISO date and time. Only instants that became visible after this time count. By
        default, the sensor counts instants after the latest instant that an earlier successful run of this task
        returned; the first run counts all instants of the active timeline. (templated)
    :param actions: actions that count: ``commit``, ``deltacommit``, ``replacecommit``, ``clean``, … Default: actions
        that write files, which are the first three. So clusterings and compactions also count. (templated)
    :param operations: write operations that count, such as ``upsert`` or ``cluster``. (templated)
    :param partitions: partition paths. A write counts if it changed at least one of them. (templated)
    :param min_count: number of instants that must have completed.
    :param if_missing: what to do if the table does not exist: ``wait`` for the table, or ``fail``.
    :param deferrable: wait in the triggerer, without a worker slot.
    """

    template_fields: Sequence[str] = (
        *HudiTableSensor.template_fields,
        "after",
        "actions",
        "operations",
        "partitions",
    )

    def __init__(
        self,
        *,
        after: str | None = None,
        actions: Sequence[str] = (),
        operations: Sequence[str] = (),
        partitions: Sequence[str] = (),
        min_count: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if min_count < 1:
            raise ValueError(f"{self.task_id}: min_count={min_count} must be at least 1.")
        self.after = after
        self.actions = actions
        self.operations = operations
        self.partitions = partitions
        self.min_count = min_count
        self._examined = ExaminedHistory()
        self._filled_in_later = names_filled_in_later(self, self.template_fields)

    def query(self, context: "Context") -> InstantQuery:
        return InstantQuery(
            after=self._after(context),
            actions=_names(self.actions),
            operations=_names(self.operations),
            partitions=_names(self.partitions),
            min_count=self.min_count,
        )

    def poll(self, hook: HudiHook, query: InstantQuery) -> PokeReturnValue:
        answer = query_once(hook, query, self._examined, fails_if_missing=self.if_missing == "fail")
        if answer is None:
            return self.no_table(hook)
        since = f"after {query.after}" if query.after else "on the timeline"
        self.log.info(
            "%s: the sensor found %s %s%s; it needs %d",
            hook.storage.uri,
            counted(answer.count, "instant"),
            since,
            _latest(answer),
            self.min_count,
        )
        return PokeReturnValue(is_done=answer.count >= self.min_count, xcom_value=answer.to_json())

    def make_trigger(self, query: InstantQuery) -> HudiInstantTrigger:
        return HudiInstantTrigger(query=query_to_json(query), **self.common_arguments())

    def describe(self, answer: dict[str, Any]) -> str:
        return f"{counted(answer['count'], 'instant')}, the latest at {answer['until']}"

    def _after(self, context: "Context") -> str:
        """Return the instant time, or ISO date and time, after which instants count. If empty, all instants count."""
        refuse_emptied(self, self._filled_in_later)
        if self.after is not None:
            if not str(self.after).strip():
                raise HudiTaskRefusedError(
                    "The argument 'after' is empty after Airflow rendered its template."
                )
            return str(self.after)
        ti = context["ti"]
        # With a map index, Airflow returns one value, from the latest earlier run. Without a map index, Airflow
        # returns all values of all runs.
        map_index = getattr(ti, "map_index", -1)
        seen = ti.xcom_pull(task_ids=self.task_id, include_prior_dates=True, map_indexes=map_index)
        return str(seen.get("until") or seen.get("after") or "") if isinstance(seen, dict) else ""


def _latest(answer: QueryAnswer) -> str:
    return f", the latest {answer.instants[-1].requested_time}" if answer.instants else ""


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names in a sequence, or in a string with commas between the names, such as a rendered template."""
    names = given.split(",") if isinstance(given, str) else given
    return tuple(str(name).strip() for name in names if str(name).strip())
