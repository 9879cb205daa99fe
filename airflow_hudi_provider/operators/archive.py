"""Move the oldest instants of a Hudi table out of its active timeline."""

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.upkeep import UpkeepOperator
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import whole_number_of
from airflow_hudi_provider.tasks.request_state import state_of_timeline
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.options.archival import resolve_archive_options

_NUMBERS = ("min_commits", "max_commits")


class ArchiveOperator(UpkeepOperator):
    """Move old instants from the active timeline into the archived timeline, in Hudi's own format.

    Every job and reader lists the active timeline, so a short timeline makes jobs and readers faster. Hudi can read the
    archived timeline and append to it. Run this operator after cleaning: an instant that replaced files stays on the
    active timeline until a clean has deleted these files. Returns ``{"archived_commits", "archived_services",
    "retention", "held_back_by", …}``.

    .. seealso:: docs/archival.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param min_commits: number of completed writes that stay on the active timeline. With 0, the value of
        ``hoodie.keep.min.commits`` applies. (templated)
    :param max_commits: archive only if the active timeline has more completed writes than this number. With 0, the
        value of ``hoodie.keep.max.commits`` applies. (templated)
    :param preview: report which instants would be archived and what limits archival, and write nothing.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process; needs pyarrow for table versions 8 and 9) or
        ``spark`` (submitted to Spark).
    :param on_nothing: what the task does if there is nothing to archive: ``skip``, ``succeed`` or ``fail``.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    """

    script: ClassVar[str] = "archive.py"
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, *_NUMBERS)

    def __init__(self, *, min_commits: int | str = 0, max_commits: int | str = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.min_commits = min_commits
        self.max_commits = max_commits
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> ArchiveRequest:
        request = ArchiveRequest(
            **self.common_fields(location, request_id, result_uri),
            preview=self.preview,
            min_commits=whole_number_of("min_commits", self.min_commits) or None,
            max_commits=whole_number_of("max_commits", self.max_commits) or None,
        )
        resolve_archive_options(request)
        return request

    def changed_so_far(self, run: TaskRun) -> str:
        return state_of_timeline(
            run.table,
            then="Instants leave the active timeline only after they are in the archive; the next archival removes "
            "from the active timeline the instants that are already in the archive.",
        )

    def refuse_unknown_key(self, key: str) -> None:
        resolve_archive_options(ArchiveRequest(base_path="/", options={key: ""}))
