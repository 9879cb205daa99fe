"""Runs of Spark that go on while their task is deferred, and that later tries take up."""

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.operators.followed_driver import FollowedDriverOperator
from airflow_hudi_provider.results.log import job_line, log_output
from airflow_hudi_provider.spark.supervised_run import (
    RunState,
    SupervisedRun,
    folder_of_runs,
    sweep_abandoned,
)
from airflow_hudi_provider.tables.connection import find_connection
from airflow_hudi_provider.triggers.spark_run import HudiSparkRunTrigger

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_FAILED_WHILE_DEFERRED = "__fail__"
_OLD_RUN_PATIENCE_S = 30.0
_SIGN_PATIENCE_S = 10.0
_KILL_PATIENCE_S = 3.0
_SHOWN_OUTPUT_BYTES = 1 << 20


class DeferredRunOperator(FollowedDriverOperator):
    """A task that begins a supervised run of spark-submit, is deferred, and comes back when the run has ended."""

    _supervised: SupervisedRun | None = None

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.deferrable and getattr(self, "post_submit_commands", None):
            raise ValueError(
                f"{self.task_id}: post_submit_commands would run before the job ends, since the task is deferred once "
                "it has begun. Make them a task of their own, or give deferrable=False."
            )

    def run_of(self, place: tuple[str, ...]) -> SupervisedRun:
        """The run of this task, whichever try began it.

        Args:
            place: dag, run, task and map index.
        """
        root = folder_of_runs(conf.get("hudi", "run_folder", fallback="") or "")
        sweep_abandoned(root)
        self._supervised = SupervisedRun.of_task(root, place)
        return self._supervised

    def is_under_way(self, run: SupervisedRun, owner: str) -> bool:
        """Whether an earlier try began this very run, and it runs or ended well without anybody having looked.

        A run that somebody ended, or that has another owner, is ended and waited for.

        Raises:
            HudiTaskError: it does not end.
        """
        seen = run.look()
        if seen.state is RunState.RUNNING and not seen.is_here and not run.gives_signs(_SIGN_PATIENCE_S):
            self.log.warning("An earlier Spark run of this task ran on a machine that gives no sign of life.")
            return False
        if seen.state is RunState.RUNNING and (seen.owner != owner or run.shall_end()):
            self.log.info("Waiting for the end of an earlier Spark run of this task")
            run.ask_to_end()
            seen = run.wait_for_end(_OLD_RUN_PATIENCE_S)
            if seen.state is RunState.RUNNING:
                raise HudiTaskError(
                    f"The Spark run that an earlier try began does not end; see {run.folder} on its machine."
                )
            return False
        if seen.owner != owner:
            return False
        if seen.state is RunState.RUNNING:
            self.log.info("Taking up the Spark run that an earlier try began")
            return True
        return seen.state is RunState.ENDED and seen.exit_code == 0

    def launch(self, context: "Context", run: SupervisedRun) -> Exception | None:
        """Begin the run, in its prepared folder; returns the reason where it was not begun."""
        connection = find_connection(self._conn_id, "spark_conn_id")
        # `prepare_spark` has looked which program the connection may name.
        binary = self._spark_binary or connection.extra_dejson.get("spark-binary") or "spark-submit"
        self._spark_binary = run.write_launcher(binary)
        return self.run_spark(context)

    def defer_until_over(self, run: SupervisedRun, **of_the_table: Any) -> None:
        """Wait for the run's end in the triggerer. Raises TaskDeferred."""
        self.defer(
            trigger=HudiSparkRunTrigger(
                folder=str(run.folder), launch=run.look().launch, began=time.time(), **of_the_table
            ),
            method_name="execute_when_over",
            timeout=self.execution_timeout if isinstance(self.execution_timeout, timedelta) else None,
        )

    def end_of(self, run: SupervisedRun, event: dict[str, Any]) -> Exception | None:
        """How the run ended, which may not be the case yet; None: well.

        Args:
            event: of the trigger.
        """
        seen = run.look()
        if seen.state is RunState.RUNNING and seen.is_here:
            self.log.warning(
                "The triggerer does not see %s, so this task waits itself. For waiting without a worker give worker "
                "and triggerer one folder: [hudi] run_folder.",
                run.folder,
            )
            self._follow(run)
            seen = run.look()
        run.end_orphan()  # before the timeline is read: it must not commit afterwards
        if seen.state is RunState.ABSENT:
            return HudiTaskError(
                f"The Spark run is {event.get('state', 'over')}, and its folder {run.folder} is not on this machine; "
                "[hudi] run_folder names one that all workers share."
            )
        self._log_output(run)
        if seen.state is not RunState.ENDED:
            where = (
                "" if seen.is_here else " It ran on another machine; the next try looks whether that lives."
            )
            return HudiTaskError(f"The supervisor of the Spark run died, e.g. with its machine.{where}")
        if seen.exit_code == 0:
            return None
        by_whom = " after somebody ended it" if seen.was_asked else ""
        return HudiTaskError(f"spark-submit ended with exit code {seen.exit_code}{by_whom}.")

    def forget_run(self, place: tuple[str, ...]) -> None:
        """Of a run that nobody came back for, since its worker died: log what it said, and remove it."""
        run = self.run_of(place)
        if run.look().state in (RunState.ENDED, RunState.LOST):
            self._log_output(run)
            run.clear_away()

    @property
    def goes_on_by_itself(self) -> bool:
        """Whether a run in client mode may outlive this process."""
        if not self.deferrable:
            return False
        if os.environ.get("AIRFLOW_IS_K8S_EXECUTOR_POD") == "True":
            self.log.info(
                "This worker is a pod that ends with its task, and Spark's driver with it: the task waits here. "
                "deploy_mode='cluster' can be waited for in the triggerer."
            )
            return False
        return True

    def _log_output(self, run: SupervisedRun) -> None:
        lines, _ = run.output_from(max(0, run.output_bytes() - _SHOWN_OUTPUT_BYTES), _SHOWN_OUTPUT_BYTES)
        log_output(self.log, lines)

    def _follow(self, run: SupervisedRun) -> None:
        is_over = False
        while not is_over:
            is_over = run.look().state is not RunState.RUNNING
            for line in run.new_output():
                if (found := job_line(line)) is not None:
                    level, text = found
                    getattr(self.log, level)("%s", text)
            time.sleep(0 if is_over else 1.0)

    def resume_execution(
        self, next_method: str, next_kwargs: dict[str, Any] | None, context: "Context"
    ) -> Any:
        """Called by Airflow; a task whose time is over ends its run first, as one that is not deferred does."""
        error = str((next_kwargs or {}).get("error", ""))
        if next_method == _FAILED_WHILE_DEFERRED and "timeout" in error.lower():
            self.end_late_run(context)
        return super().resume_execution(next_method, next_kwargs, context)

    def end_late_run(self, context: "Context") -> None:
        """End the run of a task that was deferred for longer than its ``execution_timeout``."""

    def end_spark(self) -> None:
        """The supervised run too: it may be about to begin, or be followed."""
        if self._supervised is not None:
            self._supervised.ask_to_end()
        super().end_spark()
        if self._supervised is not None:
            self._supervised.wait_for_end(_KILL_PATIENCE_S)
