"""What the tasks of all table services have in common, and those whose job needs no Spark."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.job import HudiJobOperator, OnEmpty
from airflow_hudi_provider.results.judgement import task_error
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import options_of
from airflow_hudi_provider.tasks.memory import TaskMemory
from airflow_hudi_provider.tasks.templates import names_filled_in_later
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult, Outcome

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

RunOn = Literal["worker", "spark"]


class HudiServiceOperator(HudiJobOperator):
    """Base of the operators of table services.

    :param table_name: checked against the table's name. (templated)
    :param on_nothing: what it means that there is nothing to do: ``skip``, ``succeed`` or ``fail``.
    """

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "table_name")

    def __init__(self, *, table_name: str = "", on_nothing: OnEmpty = "skip", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if on_nothing not in ("skip", "succeed", "fail"):
            raise ValueError(
                f"{self.task_id}: on_nothing={on_nothing!r} must be 'skip', 'succeed' or 'fail'."
            )
        self.table_name = table_name
        self.on_nothing = on_nothing

    def check_arguments(self) -> None:
        """To be called once all of them are set. Raises ValueError for what no rendering can mend."""
        self._filled_in_later = names_filled_in_later(self, self._own_fields())
        self.check_when_the_dag_is_read()
        # The answer of another task may well hold empty texts; `instants_of` looks at what counts in it.
        self._filled_in_later = tuple(name for name in self._filled_in_later if name != "instant")

    def common_fields(self, location: TableLocation, request_id: str, result_uri: str) -> dict[str, Any]:
        """Those of every request."""
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

    def look_before(self, table: HudiHook, request: JobRequest, memory: TaskMemory) -> JobResult | None:
        return None


class WorkerOrSparkOperator(HudiServiceOperator):
    """Base of those whose job needs no Spark, since it reads and writes metadata only.

    :param run_on: ``worker``: in the process of the task; ``spark``: submitted like the others, for tables whose
        metadata is too much for a worker.
    """

    needs_engine_for: ClassVar[str] = "this task needs for this table"
    """Where a worker without the engine's packages is refused: what for, behind the name of the package."""

    def __init__(self, *, run_on: RunOn = "worker", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if run_on not in ("worker", "spark"):
            raise ValueError(f"{self.task_id}: run_on={run_on!r} must be 'worker' or 'spark'.")
        self.run_on = run_on

    @abstractmethod
    def run_here(self, request: JobRequest) -> JobResult:
        """The job, in this process."""

    def _run_job(self, context: "Context", location: TableLocation, memory: TaskMemory) -> JobResult:
        if self.run_on == "spark":
            return super()._run_job(context, location, memory)
        try:
            result = self.run_here(self.build_request(location, self._request_id, ""))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("hudi_table_services"):
                raise
            raise HudiTaskRefusedError(
                f"The worker lacks the package {error.name}, which {self.needs_engine_for}. Install "
                "airflow-provider-hudi[engine] on the worker, or set run_on='spark'."
            ) from error
        if result.outcome is Outcome.FAILED and result.error is not None:
            self.tell_failure(context, result)
            raise task_error(result.error)
        return result
