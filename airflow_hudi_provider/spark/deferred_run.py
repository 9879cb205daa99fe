"""Supervised runs of jobs.

A run continues while its task is deferred, and later tries of the task can wait for the run.
"""

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.results.log import job_line, log_output
from airflow_hudi_provider.spark.signals import signal_error
from airflow_hudi_provider.spark.supervised_run import (
    RunState,
    SupervisedRun,
    folder_of_runs,
    sweep_abandoned,
)
from airflow_hudi_provider.triggers.spark_run import HudiSparkRunTrigger

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.tasks.run import TaskRun

_EARLIER_RUN_TIMEOUT_S = 30.0
_HEARTBEAT_TIMEOUT_S = 10.0
_LATE_RUN_TIMEOUT_S = 25.0
_KILL_TIMEOUT_S = 3.0
_SHOWN_OUTPUT_BYTES = 1 << 20


class DeferredRun:
    """The supervised run of a task in client mode: begin the run, defer the task, and read how the run ended."""

    def __init__(self, task: "HudiJobOperator", run: "TaskRun") -> None:
        self._task = task
        self._run = run
        self._supervised: SupervisedRun | None = None

    @property
    def supervised(self) -> SupervisedRun:
        """The supervised run of this task; an earlier try may have begun the run."""
        if self._supervised is None:
            root = folder_of_runs(conf.get("hudi", "run_folder", fallback="") or "")
            sweep_abandoned(root)
            self._supervised = SupervisedRun.of_task(root, self._run.place)
        return self._supervised

    @property
    def is_possible(self) -> bool:
        """Whether a Spark run in client mode can outlive this process."""
        if not self._task.deferrable:
            return False
        if os.environ.get("AIRFLOW_IS_K8S_EXECUTOR_POD") == "True":
            self._task.log.info(
                "This task waits in its worker. The worker is a pod, which ends when a task is deferred, and Spark's "
                "driver would end with the pod. With deploy_mode='cluster', the task can wait in the triggerer."
            )
            return False
        return True

    def can_continue(self, owner: str) -> bool:
        """Return whether this try can continue the run of an earlier try.

        The owner of the run must be `owner`, and the run must be active or have ended with exit code 0. If an active
        run has a different owner, or if its end was requested, this method ends the run and returns False. An active
        run on another machine must also have a fresh heartbeat.

        Raises:
            HudiTaskError: the earlier run does not end.
        """
        run = self.supervised
        seen = run.observe()
        if (
            seen.state is RunState.RUNNING
            and not seen.is_here
            and not run.has_heartbeat(_HEARTBEAT_TIMEOUT_S)
        ):
            self._task.log.warning(
                "An earlier Spark run of this task on another machine has no fresh heartbeat."
            )
            return False
        if seen.state is RunState.RUNNING and (seen.owner != owner or run.is_asked_to_end()):
            self._end_earlier(run)
            return False
        if seen.owner != owner:
            return False
        if seen.state is RunState.RUNNING:
            self._task.log.info("This try waits for the Spark run that an earlier try began")
            return True
        return seen.state is RunState.ENDED and seen.exit_code == 0

    def _end_earlier(self, run: SupervisedRun) -> None:
        self._task.log.info("This try waits for the end of an earlier Spark run of this task")
        run.ask_to_end()
        if run.wait_for_end(_EARLIER_RUN_TIMEOUT_S).state is RunState.RUNNING:
            raise HudiTaskError(
                f"The Spark run that an earlier try began does not end; see the folder {run.folder} on its machine."
            )

    def defer(self, arguments: dict[str, Any]) -> None:
        """Defer the task; the triggerer waits for the end of the run.

        Args:
            arguments: arguments of `HudiSparkRunTrigger`, except those that this class adds.

        Raises:
            TaskDeferred: always.
        """
        run, timeout = self.supervised, self._task.execution_timeout
        self._task.defer(
            trigger=HudiSparkRunTrigger(
                folder=str(run.folder), launch=run.observe().launch, began=time.time(), **arguments
            ),
            method_name="execute_when_over",
            timeout=timeout if isinstance(timeout, timedelta) else None,
        )

    def wait(self, event: dict[str, Any]) -> Exception | None:
        """Return the error of the run, or None if the run succeeded.

        If the run is active on this machine, first wait for its end.

        Args:
            event: event of the trigger.
        """
        run = self.supervised
        seen = run.observe()
        if seen.state is RunState.RUNNING and seen.is_here:
            self._task.log.warning(
                "The triggerer cannot access %s, so this task waits in its worker. To wait in the triggerer, set "
                "[hudi] run_folder to a folder that worker and triggerer share.",
                run.folder,
            )
            self._follow(run)
            seen = run.observe()
        run.end_orphan()  # the driver must not commit after the operator has read the timeline
        if seen.state is RunState.ABSENT:
            return HudiTaskError(
                f"The Spark run is {event.get('state', 'over')}, and its folder {run.folder} is not on this machine; "
                "set [hudi] run_folder to a folder that all workers share."
            )
        self._log_output(run)
        if seen.state is not RunState.ENDED:
            where = (
                ""
                if seen.is_here
                else " The run was on another machine; the next try checks whether the run has a heartbeat."
            )
            return HudiTaskError(
                f"The supervisor of the Spark run died, for example because its machine stopped.{where}"
            )
        if seen.exit_code == 0:
            return None
        why = " after a request to end it" if seen.was_asked else ""
        error = None if seen.was_asked else signal_error("The job's process", seen.exit_code)
        return error or HudiTaskError(f"The job's process ended with exit code {seen.exit_code}{why}.")

    def discard(self) -> None:
        """Log the output of a finished run, and remove the run.

        Such a run exists if the worker of an earlier try died before the task read the outcome of the run.
        """
        run = self.supervised
        if run.observe().state in (RunState.ENDED, RunState.LOST):
            self._log_output(run)
            run.clear_away()

    def end_late(self) -> None:
        """End the run of a task that was deferred for longer than its ``execution_timeout``."""
        self.supervised.ask_to_end()
        self.supervised.wait_for_end(_LATE_RUN_TIMEOUT_S)

    def ask_to_end(self) -> None:
        """Ask the run of a killed task to end, if this process has begun a run or waited for a run."""
        if self._supervised is not None:
            self._supervised.ask_to_end()

    def wait_for_killed(self) -> None:
        """Wait for the end of a killed task's run, within the time that Airflow gives `on_kill`."""
        if self._supervised is not None:
            self._supervised.wait_for_end(_KILL_TIMEOUT_S)

    def _log_output(self, run: SupervisedRun) -> None:
        lines, _ = run.output_from(max(0, run.output_bytes() - _SHOWN_OUTPUT_BYTES), _SHOWN_OUTPUT_BYTES)
        log_output(self._task.log, lines)

    def _follow(self, run: SupervisedRun) -> None:
        is_over = False
        while not is_over:
            is_over = run.observe().state is not RunState.RUNNING
            for line in run.new_output():
                if (found := job_line(line)) is not None:
                    level, text = found
                    getattr(self._task.log, level)("%s", text)
            time.sleep(0 if is_over else 1.0)
