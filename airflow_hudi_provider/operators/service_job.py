"""Base class of the operators of table services, whose jobs run in the worker or on Spark."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.operators.job import HudiJobOperator, OnEmpty
from airflow_hudi_provider.results.task_outcome import task_error
from airflow_hudi_provider.spark.submission import Submission
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import check_choice, options_of
from airflow_hudi_provider.tasks.run import TaskRun
from airflow_hudi_provider.tasks.templates import names_filled_in_later
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome

RunOn = Literal["worker", "spark"]


class HudiServiceOperator(HudiJobOperator):
    """Base of the operators of table services.

    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param on_nothing: what the task does if there is nothing to do: ``skip``, ``succeed`` or ``fail``.
    """

    run_on: RunOn = "spark"
    """Where the job runs: ``worker`` is the task's process. Operators whose job needs no Spark have this argument."""

    needs_engine_for: ClassVar[str] = "this task needs for this table"
    """End of the sentence "The worker lacks the package X, which …" in an error: why the job needs the package."""

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "table_name")

    def __init__(self, *, table_name: str = "", on_nothing: OnEmpty = "skip", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice(self.task_id, "on_nothing", on_nothing, ("skip", "succeed", "fail"))
        self.table_name = table_name
        self.on_nothing = on_nothing

    def choose_where_to_run(self, run_on: RunOn) -> None:
        """Set `run_on` from the argument. Raises ValueError."""
        check_choice(self.task_id, "run_on", run_on, ("worker", "spark"))
        self.run_on = run_on

    def check_arguments(self) -> None:
        """Check the arguments. Raises ValueError for errors that no template can correct.

        Call this method when all arguments are set.
        """
        self._filled_in_later = names_filled_in_later(self, self._own_fields())
        self.check_when_the_dag_is_read()
        # `refuse_emptied` must not check `instant`: the return value of another task can contain empty strings, for
        # example as the reason. `instants_of` checks the instant times in such a return value.
        self._filled_in_later = tuple(name for name in self._filled_in_later if name != "instant")

    def common_fields(self, location: TableLocation, request_id: str, result_uri: str) -> dict[str, Any]:
        """Return the fields that all requests of table services have."""
        return {
            "base_path": location.base_path,
            "request_id": request_id,
            "table_name": self.table_name,
            "options": options_of(self.hudi_options, {}),
            "storage_options": dict(location.storage_options),
            "result_path": result_uri,
        }

    def when_empty(self) -> OnEmpty:
        return self.on_nothing

    def find_completed(self, run: TaskRun, request: JobRequest) -> JobResult | None:
        return None

    def run_job(self, run: TaskRun, submission: Submission) -> JobResult:
        if self.run_on == "spark":
            return super().run_job(run, submission)
        try:
            result = self.run_here(self.build_request(run.location, run.request_id, ""))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("hudi_table_services"):
                raise
            raise HudiTaskRefusedError(
                f"The worker lacks the package {error.name}, which {self.needs_engine_for}. Install "
                "airflow-provider-hudi[engine] on the worker, or set run_on='spark'."
            ) from error
        if result.outcome is Outcome.FAILED and result.error is not None:
            self.report_failure(run.context, result)
            raise task_error(result.error)
        return result

    def run_here(self, request: JobRequest) -> JobResult:
        """Run the job in this process. Raises HudiTableServiceError."""
        from hudi_table_services.services.registry import script

        return script(self.script).run(None, request)
