"""Wait in the triggerer until no table service is pending."""

from collections.abc import Sequence
from typing import Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.pending_services import find_pending_services
from airflow_hudi_provider.triggers.table import HudiTableTrigger
from hudi_table_services.contract.text import counted


class HudiPendingServiceTrigger(HudiTableTrigger):
    """Fires once when none of these services is pending; see `HudiTableTrigger`.

    :param services: names from `pending_services.SERVICES`.
    :param partitions: partition paths to check. If empty, the trigger checks all partitions.
    :param give_up_at: time, in seconds since 1970, at which the trigger fires even if services are pending. If
        None, the trigger waits without a limit.
    """

    def __init__(
        self,
        *,
        services: Sequence[str],
        partitions: Sequence[str] = (),
        give_up_at: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.services = list(services)
        self.partitions = list(partitions)
        self.give_up_at = give_up_at

    def condition(self) -> dict[str, Any]:
        return {"services": self.services, "partitions": self.partitions, "give_up_at": self.give_up_at}

    def poll(self, hook: HudiHook) -> dict[str, Any] | None:
        pending = find_pending_services(
            hook, self.services, self.partitions, fails_if_missing=self.fails_if_missing
        )
        self.state = "; ".join(
            f"{each['service']} {each['instant']} is {each['state']}, with {counted(each['file_groups'], 'file group')}"
            for each in pending
        )
        return {"pending": pending} if self.is_late() or not pending else None
