"""Wait, without a worker and before Spark is started, while another attempt carries a clustering out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.job import HudiJobOperator
from airflow_hudi_provider.task_results import task_error
from airflow_hudi_provider.triggers.held_plan import HudiHeldPlanTrigger
from hudi_table_services.errors import InstantHeldError
from hudi_table_services.storage.clock import SystemClock

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

HELD_POKE_INTERVAL_S = 10.0


class WaitsForAttempts(HudiJobOperator):
    """Base of the operators whose job would wait for the attempt of another task.

    What begins between the look and the job is still waited for by the job.
    """

    def wait_for_attempts(
        self,
        instants: Sequence[str] = (),
        *,
        partitions: Sequence[str] = (),
        wait_seconds: int,
        expires_after_minutes: int,
    ) -> None:
        """Nothing where no attempt of another request holds one of these plans. Raises TaskDeferred.

        Args:
            instants: requested times of plans; empty: all.
            partitions: only plans with file groups in one of them; empty: all.
            wait_seconds: the longest wait.
            expires_after_minutes: age at which an execution without a heartbeat counts as dead.
        """
        assert self._table is not None  # noqa: S101 - `execute` has made it
        held = self._table.held_clusterings(
            instants,
            partitions=partitions,
            request_id=self._request_id,
            expires_after_minutes=expires_after_minutes,
        )
        if not held:
            return
        self.log.info(
            "Waiting in the triggerer, up to %d s (hoodie.airflow.clustering.wait.seconds), for the attempt of another "
            "task at %s.",
            wait_seconds,
            ", ".join(instant.requested_time for instant in held),
        )
        self.defer(
            trigger=HudiHeldPlanTrigger(
                base_path=self.base_path,
                hudi_conn_id=self.hudi_conn_id,
                storage_conn_id=self.storage_conn_id,
                instants=instants,
                partitions=partitions,
                request_id=self._request_id,
                expires_after_minutes=expires_after_minutes,
                fails_if_missing=False,
                poke_interval=HELD_POKE_INTERVAL_S,
                give_up_at=SystemClock().now().timestamp() + wait_seconds,
            ),
            method_name="execute_when_free",
        )

    def execute_when_free(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called with the trigger's event: looks again, as yet another attempt may have begun.

        Raises:
            HudiTaskError: the attempt goes on, or cannot be looked at.
        """
        told = event or {}
        if "error" in told:
            raise HudiTaskError(f"The end of another attempt was waited for in vain: {told['error']}")
        if held := told.get("answer", {}).get("held"):
            raise task_error(
                InstantHeldError(
                    f"Nothing was done: another attempt still carries out clustering {', '.join(held)}; it was waited "
                    "for as long as hoodie.airflow.clustering.wait.seconds says.",
                    hint="Clear this task when it has ended.",
                )
            )
        return self.execute(context)
