"""Look from the triggerer whether table services are still pending."""

from collections.abc import Sequence
from typing import Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.pending_services import look_once
from airflow_hudi_provider.triggers.table import HudiTableTrigger
from hudi_table_services.storage.clock import SystemClock


class HudiPendingServiceTrigger(HudiTableTrigger):
    """Fires once when nothing of what is asked is pending any more; see `HudiTableTrigger`.

    :param services: names of `pending_services.SERVICES`.
    :param partitions: partition paths that matter; empty: all.
    :param give_up_at: seconds since 1970 when it fires all the same, with what is pending then; None: never.
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

    def asked(self) -> dict[str, Any]:
        return {"services": self.services, "partitions": self.partitions, "give_up_at": self.give_up_at}

    def look(self, hook: HudiHook) -> dict[str, Any] | None:
        pending = look_once(hook, self.services, self.partitions, fails_if_missing=self.fails_if_missing)
        is_late = self.give_up_at is not None and SystemClock().now().timestamp() >= self.give_up_at
        self.state = "; ".join(
            "{service} {instant} is {state}, with {file_groups} file groups".format_map(each)
            for each in pending
        )
        return {"pending": pending} if is_late or not pending else None
