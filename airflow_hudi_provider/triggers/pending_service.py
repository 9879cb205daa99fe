"""Look from the triggerer whether table services are still pending."""

from collections.abc import Sequence
from typing import Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.pending_services import look_once
from airflow_hudi_provider.triggers.table import HudiTableTrigger


class HudiPendingServiceTrigger(HudiTableTrigger):
    """Fires once when nothing of what is asked is pending any more; see `HudiTableTrigger`.

    :param services: names of `pending_services.SERVICES`.
    :param partitions: partition paths that matter; empty: all.
    """

    def __init__(self, *, services: Sequence[str], partitions: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.services = list(services)
        self.partitions = list(partitions)

    def asked(self) -> dict[str, Any]:
        return {"services": self.services, "partitions": self.partitions}

    def look(self, hook: HudiHook) -> dict[str, Any] | None:
        pending = look_once(hook, self.services, self.partitions, fails_if_missing=self.fails_if_missing)
        return None if pending else {"pending": []}
