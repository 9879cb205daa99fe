"""Wait in the triggerer, before Spark starts, while another attempt is executing a clustering or a compaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.results.task_outcome import task_error
from airflow_hudi_provider.tables.held_plans import PlannedService
from airflow_hudi_provider.triggers.held_plan import HudiHeldPlanTrigger
from hudi_table_services.errors import InstantHeldError
from hudi_table_services.options.keys import clustering, compaction
from hudi_table_services.storage.clock import SystemClock

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.tasks.run import TaskRun

HELD_POKE_INTERVAL_S = 10.0
_WAIT_KEYS: dict[PlannedService, str] = {
    "clustering": clustering.WAIT_SECONDS.key,
    "compaction": compaction.WAIT_SECONDS.key,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWait:
    """A wait until the attempts of other tasks have ended.

    A task waits only once. If an attempt begins after this wait or lasts longer than this wait, the job itself waits,
    because only the job can determine which files it changes.

    Attributes:
        service: the service to which the plans belong.
        plans: requested times of the plans to wait for. If empty, wait for all plans.
        partitions: wait only for plans with file groups in these partition paths. If empty, wait for all plans.
        wait_seconds: maximum duration of the wait.
        expires_after_minutes: age at which an execution without heartbeats counts as dead.
    """

    service: PlannedService = "clustering"
    plans: Sequence[str] = ()
    partitions: Sequence[str] = ()
    wait_seconds: int
    expires_after_minutes: int

    def defer(self, task: "HudiJobOperator", run: "TaskRun") -> None:
        """Defer the task. Return if there is nothing to wait for, or if the task has waited before.

        Also return if at least one of `plans` is not being executed by another attempt, because the job can then
        execute that plan.

        Raises:
            TaskDeferred: attempts of other requests are executing the plans.
        """
        if run.waited_for is not None:
            return
        found = run.table.held_plans(
            self.service,
            self.plans,
            partitions=self.partitions,
            request_id=run.request_id,
            expires_after_minutes=self.expires_after_minutes,
        )
        held = [instant.requested_time for instant in found]
        if not held or not set(self.plans) <= set(held):
            return
        task.log.info(
            "The task waits in the triggerer for up to %d s (%s), because another attempt is executing plans: %s.",
            self.wait_seconds,
            _WAIT_KEYS[self.service],
            ", ".join(held),
        )
        task.defer(
            trigger=HudiHeldPlanTrigger(
                base_path=task.base_path,
                hudi_conn_id=task.hudi_conn_id,
                storage_conn_id=task.storage_conn_id,
                instants=held,
                request_id=run.request_id,
                expires_after_minutes=self.expires_after_minutes,
                fails_if_missing=False,
                poke_interval=HELD_POKE_INTERVAL_S,
                give_up_at=SystemClock().now().timestamp() + self.wait_seconds,
                service=self.service,
            ),
            method_name="execute_when_free",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWaitEnd:
    """How a wait ended.

    Attributes:
        plans: requested times of the plans that the task waited for.
        held: requested times of the plans that another attempt is still executing.
    """

    plans: tuple[str, ...] = ()
    held: tuple[str, ...] = ()

    @classmethod
    def of_event(cls, event: Mapping[str, Any] | None) -> "PlanWaitEnd":
        """Read the trigger's event.

        Raises:
            HudiTaskError: the triggerer could not read the table.
        """
        found = event or {}
        if "error" in found:
            raise HudiTaskError(f"Waiting for the end of another attempt failed: {found['error']}")
        answer = found.get("answer", {})
        return cls(plans=tuple(answer.get("instants", ())), held=tuple(answer.get("held", ())))

    def require_free_plan(self, service: PlannedService, log: Any) -> None:
        """Check that the task can execute at least one plan. Log the plans that another attempt is still executing.

        Raises:
            HudiTaskError: another attempt is still executing all plans.
        """
        if self.held and set(self.plans) <= set(self.held):
            raise task_error(
                InstantHeldError(
                    f"Nothing was done: another attempt is still executing {service} {', '.join(self.held)}. This task "
                    f"waited for the time that {_WAIT_KEYS[service]} allows.",
                    hint="Clear this task when the other attempt has ended.",
                )
            )
        self.log_held(log)

    def log_held(self, log: Any) -> None:
        if self.held:
            log.warning(
                "The task continues, although another attempt is still executing %s.", ", ".join(self.held)
            )
