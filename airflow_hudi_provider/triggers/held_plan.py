"""Wait in the triggerer until no other attempt is executing certain clusterings or compactions."""

from collections.abc import Sequence
from typing import Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.held_plans import PlannedService
from airflow_hudi_provider.triggers.table import HudiTableTrigger


class HudiHeldPlanTrigger(HudiTableTrigger):
    """Fires once when no other attempt is executing any of these plans; see `HudiTableTrigger`.

    The answer is ``{"instants", "held"}``. ``instants`` contains the plans to wait for, and ``held`` contains the
    plans that another attempt is still executing. An attempt is over when its plan is completed or cancelled, or when
    the heartbeat of the attempt has expired.

    :param instants: requested times of the plans, one or more.
    :param request_id: attempts of this request do not count as other attempts.
    :param expires_after_minutes: age at which an execution without a heartbeat, such as an execution by Hudi, counts as
        dead.
    :param give_up_at: time, in seconds since 1970, at which the trigger fires even if other attempts execute plans.
    :param service: ``clustering`` or ``compaction``: the service to which the plans belong.
    """

    def __init__(
        self,
        *,
        instants: Sequence[str],
        request_id: str,
        expires_after_minutes: int,
        give_up_at: float,
        service: PlannedService = "clustering",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.instants = list(instants)
        self.request_id = request_id
        self.expires_after_minutes = expires_after_minutes
        self.give_up_at = give_up_at
        self.service = service

    def condition(self) -> dict[str, Any]:
        return {
            "instants": self.instants,
            "request_id": self.request_id,
            "expires_after_minutes": self.expires_after_minutes,
            "give_up_at": self.give_up_at,
            "service": self.service,
        }

    def poll(self, hook: HudiHook) -> dict[str, Any] | None:
        found = hook.held_plans(
            self.service,
            self.instants,
            request_id=self.request_id,
            expires_after_minutes=self.expires_after_minutes,
        )
        held = [instant.requested_time for instant in found]
        self.state = f"Another attempt is executing these plans: {', '.join(held)}"
        return {"instants": self.instants, "held": held} if self.is_late() or not held else None
