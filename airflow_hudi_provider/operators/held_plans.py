"""Wait, without a worker and before Spark is started, while another attempt carries a clustering out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.job import HudiJobOperator
from airflow_hudi_provider.triggers.held_plan import HudiHeldPlanTrigger
from hudi_table_services.storage.clock import SystemClock

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

HELD_POKE_INTERVAL_S = 10.0


class WaitsForAttempts(HudiJobOperator):
    """Base of the operators whose job would wait for the attempt of another task.

    They wait once; what begins later, or goes on for too long, is left to the job, which alone knows the files.
    """

    _has_waited = False
    _waited_for: tuple[str, ...] = ()
    """Plans that this task waited for, by their requested times."""

    def wait_for_attempts(
        self,
        instants: Sequence[str] = (),
        *,
        partitions: Sequence[str] = (),
        wait_seconds: int,
        expires_after_minutes: int,
    ) -> None:
        """Nothing where no attempt of another request holds one of these plans. Raises TaskDeferred.

        With plans by name nothing either where one of them is free: the job has something to do.

        Args:
            instants: requested times of plans; empty: all.
            partitions: only plans with file groups in one of them; empty: all.
            wait_seconds: the longest wait.
            expires_after_minutes: age at which an execution without a heartbeat counts as dead.
        """
        if self._has_waited:
            return
        assert self._table is not None  # noqa: S101 - `execute` has made it
        found = self._table.held_clusterings(
            instants,
            partitions=partitions,
            request_id=self._request_id,
            expires_after_minutes=expires_after_minutes,
        )
        held = [instant.requested_time for instant in found]
        if not held or not set(instants) <= set(held):
            return
        self.log.info(
            "Waiting in the triggerer, up to %d s (hoodie.airflow.clustering.wait.seconds), for the attempt of another "
            "task at %s.",
            wait_seconds,
            ", ".join(held),
        )
        self.defer(
            trigger=HudiHeldPlanTrigger(
                base_path=self.base_path,
                hudi_conn_id=self.hudi_conn_id,
                storage_conn_id=self.storage_conn_id,
                instants=held,
                request_id=self._request_id,
                expires_after_minutes=expires_after_minutes,
                fails_if_missing=False,
                poke_interval=HELD_POKE_INTERVAL_S,
                give_up_at=SystemClock().now().timestamp() + wait_seconds,
            ),
            method_name="execute_when_free",
        )

    def execute_when_free(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called with the trigger's event: all over again, without waiting a second time.

        Raises:
            HudiTaskError: the attempt goes on and leaves nothing to do, or cannot be looked at.
        """
        told = event or {}
        if "error" in told:
            raise HudiTaskError(f"The end of another attempt was waited for in vain: {told['error']}")
        answer = told.get("answer", {})
        self._has_waited, self._waited_for = True, tuple(answer.get("instants", ()))
        if held := answer.get("held"):
            self.go_on_beside(held)
        return self.execute(context)

    def go_on_beside(self, held: Sequence[str]) -> None:
        """Called where plans are still held after the longest wait. Raises HudiTaskError where that is an error."""
        self.log.warning("Going on, though another attempt still carries out %s.", ", ".join(held))
