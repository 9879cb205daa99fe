"""Wait until a Hudi table has enough new commits for a clustering."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import PokeReturnValue

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.sensors.table import HudiTableSensor
from airflow_hudi_provider.tables.commit_payload import commit_payload, describe_count, write_operations
from airflow_hudi_provider.tasks.arguments import names_of, whole_number_of
from airflow_hudi_provider.tasks.templates import is_filled_in_later, names_filled_in_later, refuse_emptied
from airflow_hudi_provider.triggers.commit_count import HudiCommitCountTrigger, count_once
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.write_stat import WriteOperation

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    every: int
    operations: tuple[str, ...]


class HudiCommitCountSensor(HudiTableSensor):
    """Waits until a Hudi table has enough commits after its newest completed or pending clustering.

    A commit of any writer counts if it is completed and was requested after the newest clustering was requested. So
    the count begins again when any writer schedules a clustering. The answer depends only on the timeline. The
    sensor returns ``{"count", "every", "since", "since_state", "instants", "not_counted", "is_complete",
    "dedupe_key"}``. ``is_complete`` is False if the sensor found enough commits but no clustering, and did not read the
    earlier commits in the archive; then ``count`` is a lower bound.


    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table. A relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param every_n_commits: number of commits that must have completed, 1 or more. (templated)
    :param operations: write operations that count, such as ``upsert``. Default: all operations that change rows.
        (templated)
    :param if_missing: what to do if the table does not exist: ``wait`` for the table, or ``fail``.
    :param deferrable: wait in the triggerer, without a worker slot.
    """

    template_fields: Sequence[str] = (*HudiTableSensor.template_fields, "every_n_commits", "operations")

    def __init__(
        self, *, every_n_commits: int | str, operations: str | Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.every_n_commits = every_n_commits
        self.operations = operations
        self._remembered: dict[str, WriteOperation] = {}
        self._filled_in_later = names_filled_in_later(self, self.template_fields)
        try:
            if not is_filled_in_later(every_n_commits):
                self._every()
            if not is_filled_in_later(operations):
                write_operations(names_of(operations, "operations"))
        except InvalidRequestError as error:
            raise ValueError(f"{self.task_id}: {error}") from error

    def query(self, context: "Context") -> _Query:
        refuse_emptied(self, self._filled_in_later)
        operations = names_of(self.operations, "operations")
        write_operations(operations)
        return _Query(every=self._every(), operations=operations)

    def _every(self) -> int:
        every = whole_number_of("every_n_commits", self.every_n_commits)
        if every < 1:
            raise InvalidRequestError(f"every_n_commits={every} must be at least 1.")
        return every

    def poll(self, hook: HudiHook, query: _Query) -> PokeReturnValue:
        count = count_once(
            hook,
            query.operations,
            enough=query.every,
            remembered=self._remembered,
            fails_if_missing=self.if_missing == "fail",
        )
        if count is None:
            return self.no_table(hook)
        answer = commit_payload(count, query.every)
        self.log.info("%s: %s", hook.storage.uri, self.describe(answer))
        return PokeReturnValue(is_done=count.count >= query.every, xcom_value=answer)

    def make_trigger(self, query: _Query) -> HudiCommitCountTrigger:
        return HudiCommitCountTrigger(
            every_n_commits=query.every, operations=query.operations, **self.common_arguments()
        )

    def describe(self, answer: dict[str, Any]) -> str:
        return describe_count(answer)
