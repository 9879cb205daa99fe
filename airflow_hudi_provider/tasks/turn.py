"""The turn of a task in the table's writer queue."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.triggers.turn import SHOWN_AHEAD, HudiTurnTrigger, writer_queue
from hudi_table_services.errors import HudiTableServiceError

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.tasks.run import TaskRun


class Turn:
    """The turn of one execution of a task. Without ``take_turns``, or in a dry run, every method does nothing."""

    def __init__(self, task: "HudiJobOperator", run: "TaskRun") -> None:
        self._task = task
        # A dry run writes nothing, so it need not wait, and the files of the queue would create the table's folder.
        self._takes_turns = task.take_turns and not task.is_preview()
        self._run = run

    def wait(self) -> None:
        """Defer the task until its turn. Return if it is the task's turn, or if a driver of an earlier try is writing.

        Raises:
            TaskDeferred: other tasks write first.
        """
        if not self._takes_turns:
            return
        queue, request_id = writer_queue(self._run.table), self._run.request_id
        if queue.begin(request_id) or self._run.memory.follows_driver:
            return
        ahead = queue.wait(request_id).ahead[:SHOWN_AHEAD]
        self._task.log.info(
            "Other tasks write to %s first: %s", self._run.location.base_path, ", ".join(ahead)
        )
        self._task.defer(
            trigger=HudiTurnTrigger(
                base_path=self._task.base_path,
                hudi_conn_id=self._task.hudi_conn_id,
                storage_conn_id=self._task.storage_conn_id,
                owner=request_id,
            ),
            method_name="execute_in_turn",
        )

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Refresh the turn during the block, then leave the queue, unless the task is deferred while its job runs."""
        if not self._takes_turns:
            yield
            return
        queue = writer_queue(self._run.table)
        with queue.writing(self._run.request_id, keep_turn_after=TaskDeferred):
            yield

    def leave(self, request_id: str | None = None) -> None:
        """Leave the writer queue immediately, whether or not it is this task's turn.

        Args:
            request_id: request id of an earlier execution. If None, use the request id of this execution.
        """
        if self._takes_turns:
            writer_queue(self._run.table).leave(request_id or self._run.request_id)

    def leave_after_failure(self) -> None:
        """Leave the queue and ignore errors: the task's own failure matters more, and turns expire."""
        with suppress(HudiTableServiceError):
            self.leave()
