"""Measure the health of a Hudi table, and warn or fail if a measure exceeds its limit."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_hudi_provider.operators.service_job import HudiServiceOperator, RunOn
from airflow_hudi_provider.results.health import health_answer, health_event
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import UnhealthyTableError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


class HudiTableHealthOperator(HudiServiceOperator):
    """Measure a table: file sizes, pending instants and what they block, overdue table services, and leftover files.

    The job writes nothing. Returns ``{"status", "measures", "findings", "pending", "partitions", …}``. If the task
    fails because a measure is above its limit, the task stores this dictionary under the XCom key ``health`` instead of
    returning it.

    .. seealso:: docs/health.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param warn_above: maps each measure to its limit. The log and the return value contain a warning for each measure
        above its limit. (templated)
    :param fail_above: maps each measure to its limit. If a measure is above its limit, the task fails without a retry.
        (templated)
    :param small_file_limit_bytes: size below which a file counts as small. With 0, the task uses the limit that the
        table's writers recorded or, without such a limit, the default of ``hoodie.parquet.small.file.limit``.
    :param deep: also read all records of the metadata table, and compare the statistics of columns with the footers of
        the data files. The comparison opens every data file. On the worker, ``deep`` needs pyarrow.
    :param hudi_options: ``hoodie.clean.*`` keys that define which files cleaning keeps. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process), or ``spark`` (submitted to Spark) for tables
        with a lot of metadata.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    """

    script: ClassVar[str] = "table_health.py"
    left_behind = "The job wrote nothing."
    changes_table = False
    template_fields: Sequence[str] = (*HudiServiceOperator.template_fields, "warn_above", "fail_above")

    def __init__(
        self,
        *,
        warn_above: Mapping[str, float | str] | None = None,
        fail_above: Mapping[str, float | str] | None = None,
        small_file_limit_bytes: int = 0,
        deep: bool = False,
        run_on: RunOn = "worker",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.choose_where_to_run(run_on)
        self.warn_above = dict(warn_above or {})
        self.fail_above = dict(fail_above or {})
        self.small_file_limit_bytes = small_file_limit_bytes
        self.deep = deep
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> HealthRequest:
        return HealthRequest(
            **self.common_fields(location, request_id, result_uri),
            warn_above={name: str(limit) for name, limit in self.warn_above.items()},
            fail_above={name: str(limit) for name, limit in self.fail_above.items()},
            small_file_limit_bytes=self.small_file_limit_bytes,
            deep=self.deep,
        )

    def refuse_unknown_key(self, key: str) -> None:
        from hudi_table_services.contract.cleaning import CleanRequest
        from hudi_table_services.options.cleaning import resolve_clean_options

        resolve_clean_options(CleanRequest(base_path="/", options={key: ""}))

    def run_here(self, request: JobRequest) -> JobResult:
        try:
            return super().run_here(request)
        except UnhealthyTableError as error:
            return JobResult.failed(request, error)

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return result

    def report_failure(self, context: "Context", result: JobResult) -> None:
        super().report_failure(context, result)
        if result.report is not None:
            context["ti"].xcom_push(key="health", value=health_answer(result))

    def log_state_after_kill(self, run: TaskRun) -> None:
        self.log.warning("The task was killed. A health task writes nothing.")

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return health_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return health_event(result)
