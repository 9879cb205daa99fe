"""Base class of the operators that write rows. A completed commit with the request id proves that rows are written."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.job import HudiJobOperator
from airflow_hudi_provider.spark.submission import Submission
from airflow_hudi_provider.tasks.arguments import check_choice
from airflow_hudi_provider.tasks.declared_table import declare_table
from airflow_hudi_provider.tasks.plan_policy import (
    CHOICES,
    FilesAtStake,
    OnPendingPlan,
    PendingPlanPolicy,
    require_no_plans,
)
from airflow_hudi_provider.tasks.plan_wait import PlanWaitEnd
from airflow_hudi_provider.tasks.request_state import state_of_request
from airflow_hudi_provider.tasks.run import TaskRun
from airflow_hudi_provider.tasks.turn import Turn
from hudi_table_services.contract.completed_request import result_of_completed
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class HudiWriteOperator(HudiJobOperator):
    """Base of the operators that write rows.

    :param dry_run: plan the write, report the plan, and write nothing.
    :param take_turns: wait in the table's writer queue until all earlier tasks with ``take_turns`` have written to the
        table, across all DAGs, runs and backfills. Waiting tasks are deferred and occupy no worker. A dry run does not
        wait.
    :param on_pending_plan: what the task does if a clustering is pending on file groups that this write changes:
        ``refuse`` fails the task, ``wait`` defers the task until no such plan is pending, and ``give_way`` releases
        these file groups from the plan. By default, the key ``hoodie.clustering.updates.strategy`` decides. A
        pending compaction matters only if the write overwrites or deletes partitions. (templated)
    :param pending_plan_timeout: maximum duration, in seconds, of one wait with ``on_pending_plan="wait"``. If plans are
        still pending after this time, the task fails.
    :param emit_partitions: add the written partition paths to the asset events of the outlets as partition keys
        (Airflow 3.3 and later). A DAG with ``PartitionedAssetTimetable`` then runs once for each partition path.
    """

    def __init__(
        self,
        *,
        dry_run: bool = False,
        take_turns: bool = False,
        on_pending_plan: OnPendingPlan | None = None,
        pending_plan_timeout: float = 6 * 3600,
        emit_partitions: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if on_pending_plan is not None:
            check_choice(self.task_id, "on_pending_plan", on_pending_plan, CHOICES, is_templated=True)
        self.on_pending_plan = on_pending_plan
        if pending_plan_timeout < 0:
            raise ValueError(
                f"{self.task_id}: pending_plan_timeout={pending_plan_timeout!r} must not be below 0."
            )
        self.pending_plan_timeout = pending_plan_timeout
        self.dry_run_only = dry_run
        self.take_turns = take_turns
        self.emit_partitions = emit_partitions
        declare_table(self)
        if emit_partitions and not self.outlets:
            raise ValueError(f"{self.task_id}: emit_partitions needs outlets, such as HudiAsset(base_path).")

    @abstractmethod
    def files_at_stake(self, run: TaskRun) -> FilesAtStake | None:
        """Return the partition paths in which the write may change existing files; None if it changes no existing file.

        Raises:
            InvalidRequestError: an argument has an invalid value.
        """

    def changes_rows(self) -> bool:
        return True

    def is_preview(self) -> bool:
        return self.dry_run_only

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        """Return the result of an earlier try that committed and was ended before it reported the result.

        Raises:
            HudiTaskRefusedError: an earlier try found the commit, but the timeline no longer contains the commit.
        """
        if self.dry_run_only:
            return None
        found = _committed(run, request)
        instant_time = run.memory.commit_of(request.request_id)
        if found is None and instant_time and run.table.begins_after(instant_time):
            raise HudiTaskRefusedError(
                f"Instant {instant_time} completed this request, but is older than the active timeline: it was "
                "archived, or the table was created again. Nothing was done, because a second write could duplicate "
                "the rows. To write the rows again, set on_rerun='write_again' and clear the task."
            )
        return found

    def find_result(self, run: TaskRun, submission: Submission, event: dict[str, Any] | None) -> JobResult:
        turn = Turn(self, run)
        try:
            result = super().find_result(run, submission, event)
        except TaskDeferred:
            raise  # a trigger keeps the turn, or the task has left the queue
        except BaseException:
            turn.leave_after_failure()
            raise
        turn.leave()  # an earlier try may have completed the request and been killed before it left the queue
        return result

    def run_job(self, run: TaskRun, submission: Submission) -> JobResult:
        turn = Turn(self, run)
        policy = PendingPlanPolicy(self, run, turn)
        if not run.memory.follows_driver:  # the driver's try has passed this check
            policy.check()
        with policy.around_job():
            turn.wait()
            with turn.kept():
                return super().run_job(run, submission)

    def conclude_job(self, run: TaskRun, submission: Submission, event: dict[str, Any]) -> JobResult:
        turn = Turn(self, run)
        with PendingPlanPolicy(self, run, turn).around_job(), turn.kept():
            return super().conclude_job(run, submission, event)

    def execute_when_free(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the task after the wait for other attempts. Airflow passes the trigger's event.

        Raises:
            HudiTaskError: the triggerer could not read the table.
        """
        end = PlanWaitEnd.of_event(event)
        self._waited_for = end.plans
        end.log_held(self.log)
        return self.execute(context)

    def execute_without_plans(
        self, context: "Context", event: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Run the task after the wait for pending plans. The task checks again, because a new plan may exist.

        Raises:
            HudiTaskError: plans are still pending, or the triggerer could not read the table.
        """
        require_no_plans(event, self.pending_plan_timeout)
        return self.execute(context)

    def execute_in_turn(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the task after the wait for its turn. The task checks its turn again: another task may be ahead."""
        if event is not None and "error" in event:
            Turn(self, self._begin(context).run).leave_after_failure()
            raise HudiTaskError(f"Waiting for the task's turn failed: {event['error']}")
        return self.execute(context)

    def leave_turn(self, run: TaskRun, request_id: str) -> None:
        Turn(self, run).leave(request_id)

    def release(self, run: TaskRun) -> None:
        Turn(self, run).leave()

    def end_late_run(self, submission: Submission) -> None:
        super().end_late_run(submission)
        Turn(self, submission.run).leave()

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return None if self.dry_run_only else _committed(run, request)

    def remember(self, run: TaskRun, result: JobResult) -> None:
        if result.outcome is Outcome.COMPLETED and result.instant_time:
            run.memory.remember_commit(run.request_id, result.instant_time)

    def add_partitions(self, event: Any, result: JobResult) -> None:
        if not self.emit_partitions or result.outcome is not Outcome.COMPLETED:
            return
        if not hasattr(event, "add_partitions"):
            raise HudiTaskRefusedError(
                "emit_partitions needs Airflow 3.3 or later. The write is complete: its rows are in the table."
            )
        keys = [each.partition_path for each in result.partitions if each.partition_path]
        self.log.info("The asset event contains %d partition keys", len(keys))
        if keys:
            event.add_partitions(keys)

    def table_after_failure(self, run: TaskRun) -> str:
        if run.table.find_table_config() is None:
            return "Nothing was written: there is no table yet."
        nothing = "Nothing was written: readers see the table as it was before."
        return state_of_request(run.table, run.request_id, how="Failed", otherwise=nothing)

    def log_state_after_kill(self, run: TaskRun) -> None:
        nothing = "Killed before the write began: the table is unchanged."
        self.log.warning("%s", state_of_request(run.table, run.request_id, how="Killed", otherwise=nothing))


def _committed(run: TaskRun, request: JobRequest) -> JobResult | None:
    found = run.table.find_request(request.request_id)
    return None if found is None else result_of_completed(request, *found)
