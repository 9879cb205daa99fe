"""Delete old file versions that the retention of a Hudi table does not keep for readers."""

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.upkeep import UpkeepOperator
from airflow_hudi_provider.results.cleaning import clean_answer, clean_event
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import check_choice, whole_number_of
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.cleaning import POLICIES, CleanRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.cleaning import resolve_clean_options

_NUMBERS = ("commits_retained", "hours_retained", "file_versions_retained", "max_commits_per_run")


class CleanOperator(UpkeepOperator):
    """Delete file versions that the retention policy does not keep, and record a clean that Hudi's own tools can read.

    The job first finishes cleans that other jobs left pending, and rolls back dead writes, because pending
    cleans and dead writes block cleaning. You can end a clean at any time; the next clean completes the work. The
    job reads only metadata, so by default it runs in the worker. Returns ``{"instant", "files", "bytes",
    "earliest_commit_to_retain", "retention", "blocker", …}``.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param policy: ``KEEP_LATEST_COMMITS``, ``KEEP_LATEST_BY_HOURS`` or ``KEEP_LATEST_FILE_VERSIONS``. If empty,
        and exactly one of the three retention arguments below is given, the policy of that argument applies.
        (templated)
    :param commits_retained: number of commits whose state stays readable. With 0, the value of
        ``hoodie.clean.commits.retained`` applies. (templated)
    :param hours_retained: number of past hours whose commits stay readable. With 0, the value of
        ``hoodie.clean.hours.retained`` applies. (templated)
    :param file_versions_retained: number of file slices to keep in each file group. With 0, the value of
        ``hoodie.clean.fileversions.retained`` applies. (templated)
    :param max_commits_per_run: maximum number of commits that one run cleans, so that several runs can share the work
        of a large first clean. With 0, the value of ``hoodie.clean.max.commits.to.clean`` applies. (templated)
    :param preview: report the names and sizes of the files that would be deleted, and delete nothing.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process), or ``spark`` (submitted to Spark) for tables
        with a lot of metadata.
    :param on_nothing: what the task does if there is nothing to clean: ``skip``, ``succeed`` or ``fail``.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    """

    script: ClassVar[str] = "clean.py"
    action = "clean"
    left_behind = (
        "Files that the clean has deleted cannot be recovered; the next clean deletes the remaining files."
    )
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, "policy", *_NUMBERS)

    def __init__(
        self,
        *,
        policy: str = "",
        commits_retained: int | str = 0,
        hours_retained: int | str = 0,
        file_versions_retained: int | str = 0,
        max_commits_per_run: int | str = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice(self.task_id, "policy", policy, ("", *POLICIES), is_templated=True, normal=str.upper)
        self.policy = policy
        self.commits_retained = commits_retained
        self.hours_retained = hours_retained
        self.file_versions_retained = file_versions_retained
        self.max_commits_per_run = max_commits_per_run
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> CleanRequest:
        request = CleanRequest(
            **self.common_fields(location, request_id, result_uri),
            policy=self.policy.upper(),
            preview=self.preview,
            commits_retained=whole_number_of("commits_retained", self.commits_retained) or None,
            hours_retained=whole_number_of("hours_retained", self.hours_retained) or None,
            file_versions_retained=whole_number_of("file_versions_retained", self.file_versions_retained)
            or None,
            max_commits_per_run=whole_number_of("max_commits_per_run", self.max_commits_per_run) or None,
        )
        resolve_clean_options(request)
        return request

    def refuse_unknown_key(self, key: str) -> None:
        resolve_clean_options(CleanRequest(base_path="/", options={key: ""}))

    def log_state_after_kill(self, run: TaskRun) -> None:
        pending = [i.requested_time for i in run.table.timeline().pending if i.action.value == "clean"]
        what = (
            f"clean {', '.join(pending)} is pending, and the next clean completes it"
            if pending
            else "no clean is pending"
        )
        self.log.warning("The task was killed; %s.", what)

    def answer_of(self, result: JobResult) -> dict[str, Any]:
        return clean_answer(result)

    def event_of(self, result: JobResult) -> dict[str, Any]:
        return clean_event(result)
