"""Tasks that write rows: the completed commit that carries the request's id is their witness."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.held_plans import WaitsForAttempts
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tables.pending_services import PLANS, look_once
from airflow_hudi_provider.tasks.identity import identity_of
from airflow_hudi_provider.tasks.left_behind import what_is_left
from airflow_hudi_provider.tasks.memory import TaskMemory
from airflow_hudi_provider.tasks.plan_policy import (
    CHOICES,
    FilesAtStake,
    OnPendingPlan,
    cure,
    in_words,
    refused,
)
from airflow_hudi_provider.tasks.templates import is_filled_in_later
from airflow_hudi_provider.triggers.pending_service import HudiPendingServiceTrigger
from airflow_hudi_provider.triggers.turn import TOLD_AHEAD, HudiTurnTrigger, writer_queue
from hudi_table_services.contract.completed_request import result_of_completed
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import HudiTableServiceError, PendingPlanError
from hudi_table_services.storage.clock import SystemClock

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from hudi_table_services.storage.locks.turns import WriterQueue

PLAN_POKE_INTERVAL_S = 10.0


class HudiWriteOperator(WaitsForAttempts):
    """Base of the operators that write rows.

    :param dry_run: tell what would be written, and write nothing.
    :param take_turns: wait until no other task with ``take_turns`` writes this table, in the order of arrival and
        across all DAGs, runs and backfills; waiting tasks are deferred and hold no worker.
    :param on_pending_plan: what a clustering or compaction that is pending on files of this write means: ``refuse``
        fails the task, ``wait`` defers it until there is none, ``give_way`` makes the plan give these files up. Left
        out: ``hoodie.clustering.updates.strategy`` decides, by default as ``give_way``. (templated)
    :param pending_plan_timeout: seconds that ``wait`` waits at a time before the task fails.
    :param emit_partitions: the asset events of the outlets carry the table's partition paths as partition keys, so
        that a DAG scheduled by ``PartitionedAssetTimetable`` runs once for each (Airflow 3.3).
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
        if on_pending_plan not in (None, *CHOICES) and not is_filled_in_later(on_pending_plan):
            known = ", ".join(map(repr, CHOICES))
            raise ValueError(f"{self.task_id}: on_pending_plan={on_pending_plan!r} must be one of {known}.")
        self.on_pending_plan = on_pending_plan
        if pending_plan_timeout < 0:
            raise ValueError(
                f"{self.task_id}: pending_plan_timeout={pending_plan_timeout!r} must not be below 0."
            )
        self.pending_plan_timeout = pending_plan_timeout
        self.dry_run_only = dry_run
        self.take_turns = take_turns
        self.emit_partitions = emit_partitions
        if emit_partitions and not self.outlets:
            raise ValueError(f"{self.task_id}: emit_partitions needs outlets, such as HudiAsset(base_path).")

    def is_preview(self) -> bool:
        return self.dry_run_only

    @abstractmethod
    def files_at_stake(self, location: TableLocation) -> FilesAtStake | None:
        """Where files that are there may be changed; None: nowhere. Raises InvalidRequestError."""

    def tell_partitions(self, event: Any, result: JobResult) -> None:
        if not self.emit_partitions or result.outcome is not Outcome.COMPLETED:
            return
        if not hasattr(event, "add_partitions"):
            raise HudiTaskRefusedError("emit_partitions needs Airflow 3.3; the rows are written.")
        keys = [each.partition_path for each in result.partitions if each.partition_path]
        self.log.info("Partition keys of the asset event: %d", len(keys))
        if keys:
            event.add_partitions(keys)

    def look_before(self, table: HudiHook, request: JobRequest, memory: TaskMemory) -> JobResult | None:
        """Result of an earlier try that committed and could not say so.

        Raises:
            HudiTaskRefusedError: the request was seen to commit, and the timeline does not know of it any more.
        """
        if self.dry_run_only:
            return None
        found = _committed(table, request)
        instant_time = memory.commit_of(request.request_id)
        if found is None and instant_time and table.begins_after(instant_time):
            raise HudiTaskRefusedError(
                f"This request was completed by {instant_time}, which is older than the active timeline: it was "
                "archived, or the table was made anew. Writing again could double its rows, so nothing was done. "
                "To write them again, set on_rerun='write_again' and clear the task."
            )
        return found

    def _result(
        self, context: "Context", location: TableLocation, memory: TaskMemory, event: dict[str, Any] | None
    ) -> JobResult:
        try:
            result = super()._result(context, location, memory, event)
        except TaskDeferred:
            raise  # somebody else goes on
        except BaseException:
            self._leave_after_failure()
            raise
        self._leave_queue()  # an earlier try that completed the request may have been killed before it left
        return result

    def _run_job(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        if not memory.follows_driver:  # one on a cluster that an earlier try submitted is taken up as it is
            self._mind_pending_plans(location)
        with self._waiting_for_plans_in_the_way():
            return self._run_in_turn(context, location, memory)

    @contextmanager
    def _waiting_for_plans_in_the_way(self) -> Iterator[None]:
        """Around the job, which may refuse because of a plan that nobody knew of before."""
        try:
            yield
        except HudiTaskError as error:
            if self.on_pending_plan is None or error.kind != PendingPlanError.__name__:
                raise
            if self.on_pending_plan != "wait":
                raise type(error)(
                    f"{error} This task has on_pending_plan={self.on_pending_plan!r}; 'wait' and 'give_way' are the "
                    "other ways. ExecuteClusteringOperator carries a plan out, CancelClusteringOperator drops it."
                ) from error
            self.log.info("A plan was made meanwhile, or for other partitions than those named: %s", error)
            # The job knows the files, so whatever partitions were named, a plan on some of the others is in the way.
            self._wait_for_plans(())

    def _mind_pending_plans(self, location: TableLocation) -> None:
        """Before Spark is started. What cannot be known yet is the job's to refuse, before it writes anything."""
        stake = self.files_at_stake(location) if self.on_pending_plan is not None else None
        if stake is None or not (stake.is_certain or self.on_pending_plan == "wait"):
            return
        if self.on_pending_plan == "give_way":
            self._wait_for_attempts_at(stake)
            return
        assert self._table is not None  # noqa: S101 - `execute` has made it
        pending = look_once(self._table, PLANS, stake.partitions, fails_if_missing=False)
        if not pending:
            return
        if self.on_pending_plan == "refuse":
            raise refused(pending)
        self.log.info("Waiting in the triggerer for %s. %s.", in_words(pending), cure(pending))
        self._wait_for_plans(stake.partitions)

    def _wait_for_attempts_at(self, stake: FilesAtStake) -> None:
        """A plan that is being carried out gives nothing up: the job would wait for its end."""
        if self.dry_run_only:
            return
        try:
            self.wait_for_attempts(
                partitions=stake.partitions,
                wait_seconds=stake.held.wait_seconds,
                expires_after_minutes=stake.held.expires_after_minutes,
            )
        except TaskDeferred:
            self._leave_queue()
            raise

    def _leave_queue(self) -> None:
        """Others need not wait for what this task waits for."""
        self.leave_turn(self._request_id)

    def _leave_after_failure(self) -> None:
        with suppress(HudiTableServiceError):  # the place expires by itself; what went wrong must be told
            self._leave_queue()

    def leave_turn(self, request_id: str) -> None:
        if self.take_turns and self._table is not None:
            writer_queue(self._table).leave(request_id)

    def _wait_for_plans(self, partitions: Sequence[str]) -> NoReturn:
        self._leave_queue()
        self.defer(
            trigger=HudiPendingServiceTrigger(
                base_path=self.base_path,
                hudi_conn_id=self.hudi_conn_id,
                storage_conn_id=self.storage_conn_id,
                services=PLANS,
                partitions=partitions,
                fails_if_missing=False,
                poke_interval=PLAN_POKE_INTERVAL_S,
                give_up_at=SystemClock().now().timestamp() + self.pending_plan_timeout,
            ),
            method_name="execute_without_plans",
        )

    def execute_without_plans(
        self, context: "Context", event: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Called with the trigger's event: looks again, as another plan may have been made.

        Raises:
            HudiTaskError: there still are plans, or they cannot be looked for.
        """
        told = event or {}
        if "error" in told:
            raise HudiTaskError(f"The end of pending plans was waited for in vain: {told['error']}")
        if pending := told.get("answer", {}).get("pending"):
            raise HudiTaskError(
                f"Nothing was done: after {self.pending_plan_timeout:.0f} s (pending_plan_timeout) there still is "
                f"{in_words(pending)}. {cure(pending)}."
            )
        return self.execute(context)

    def _run_in_turn(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        if not self.take_turns:
            return super()._run_job(context, location, memory)
        assert self._table is not None  # noqa: S101 - `execute` has made it
        queue = writer_queue(self._table)
        if not queue.begin(self._request_id) and not memory.follows_driver:  # which does not wait
            self.log.info("Others write %s first: %s", location.base_path, ", ".join(self._ahead(queue)))
            self.defer(
                trigger=HudiTurnTrigger(
                    base_path=self.base_path,
                    hudi_conn_id=self.hudi_conn_id,
                    storage_conn_id=self.storage_conn_id,
                    owner=self._request_id,
                ),
                method_name="execute_in_turn",
            )
        with queue.writing(self._request_id, stays_after=TaskDeferred):
            return super()._run_job(context, location, memory)

    def holds_turn(self) -> bool:
        return self.take_turns

    def _conclude_run(
        self, context: "Context", location: TableLocation, memory: TaskMemory, event: dict[str, Any]
    ) -> JobResult:
        with self._waiting_for_plans_in_the_way():
            if not self.take_turns:
                return super()._conclude_run(context, location, memory, event)
            assert self._table is not None  # noqa: S101 - `_carry_out` has made it
            with writer_queue(self._table).writing(self._request_id):
                return super()._conclude_run(context, location, memory, event)

    def _ahead(self, queue: "WriterQueue") -> tuple[str, ...]:
        return queue.wait(self._request_id).ahead[:TOLD_AHEAD]

    def execute_in_turn(self, context: "Context", event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called with the trigger's event: the same as in the beginning, as another one may have been quicker."""
        if event is not None and "error" in event:
            self._table = self.find_table()
            self._request_id = identity_of(context, self.retries, self.on_rerun)
            self._leave_after_failure()
            raise HudiTaskError(f"Its turn was waited for in vain: {event['error']}")
        return self.execute(context)

    def end_late_run(self, context: "Context") -> None:
        super().end_late_run(context)
        self._leave_queue()

    def let_go(self) -> None:
        self._leave_queue()
        super().let_go()

    def look_after(self, table: HudiHook, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return None if self.dry_run_only else _committed(table, request)

    def remember(self, memory: TaskMemory, result: JobResult) -> None:
        if result.outcome is Outcome.COMPLETED and result.instant_time:
            memory.remember_commit(self._request_id, result.instant_time)

    def tell_what_is_left(self, table: HudiHook, request_id: str) -> None:
        nothing = "Killed before anything was begun: the table is as it was."
        self.log.warning("%s", what_is_left(table, request_id, how="Killed", otherwise=nothing))


def _committed(table: HudiHook, request: JobRequest) -> JobResult | None:
    found = table.find_request(request.request_id)
    return None if found is None else result_of_completed(request, *found)
