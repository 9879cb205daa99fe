"""Wait until no table service is pending on a Hudi table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import PokeReturnValue

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.sensors.table import HudiTableSensor
from airflow_hudi_provider.tables.pending_services import find_pending_services, services_of
from airflow_hudi_provider.tasks.arguments import names_of
from airflow_hudi_provider.tasks.templates import is_filled_in_later, names_filled_in_later, refuse_emptied
from airflow_hudi_provider.triggers.pending_service import HudiPendingServiceTrigger
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    services: tuple[str, ...]
    partitions: tuple[str, ...]


class HudiPendingServiceSensor(HudiTableSensor):
    """Waits until no plan of a table service is pending on a Hudi table, or on some of its partitions.

    A pending plan blocks its file groups for Hudi's writers, and delays cleaning and archival. Use this sensor before
    a backfill that overwrites partitions, to wait for the plans on these partitions. The sensor returns
    ``{"pending": []}``.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table. A relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param services: services to wait for: ``clustering``, ``compaction``, ``clean``, ``rollback``, ``restore``,
        ``indexing``, ``savepoint``. Default: ``clustering`` and ``compaction``. (templated)
    :param partitions: partition paths whose plans count. Default: all partitions. (templated)
    :param if_missing: what to do if the table does not exist. With ``wait``, the sensor succeeds, because a missing
        table has no pending services. With ``fail``, the sensor fails.
    :param deferrable: wait in the triggerer, without a worker slot.
    """

    template_fields: Sequence[str] = (*HudiTableSensor.template_fields, "services", "partitions")

    def __init__(
        self, *, services: str | Sequence[str] = (), partitions: str | Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.services = services
        self.partitions = partitions
        self._filled_in_later = names_filled_in_later(self, self.template_fields)
        try:
            if not is_filled_in_later(services):
                services_of(names_of(services, "services"))
        except InvalidRequestError as error:
            raise ValueError(f"{self.task_id}: {error}") from error

    def query(self, context: "Context") -> _Query:
        refuse_emptied(self, self._filled_in_later)
        return _Query(
            services=services_of(names_of(self.services, "services")),
            partitions=names_of(self.partitions, "partitions"),
        )

    def poll(self, hook: HudiHook, query: _Query) -> PokeReturnValue:
        pending = find_pending_services(
            hook, query.services, query.partitions, fails_if_missing=self.if_missing == "fail"
        )
        for each in pending:
            self.log.info("%(service)s %(instant)s is %(state)s, with %(file_groups)d file groups", each)
        answer = {"pending": pending}
        if not pending:
            if hook.find_table_config() is None:
                self.no_table(hook)
            self.log.info("%s: %s", hook.storage.uri, self.describe(answer))
        return PokeReturnValue(is_done=not pending, xcom_value=answer)

    def make_trigger(self, query: _Query) -> HudiPendingServiceTrigger:
        return HudiPendingServiceTrigger(
            services=query.services, partitions=query.partitions, **self.common_arguments()
        )

    def describe(self, answer: dict[str, Any]) -> str:
        return "No table service is pending"
