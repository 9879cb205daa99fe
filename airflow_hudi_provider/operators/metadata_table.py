"""Build the metadata table of a Hudi table, or drop its indexes."""

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.upkeep import UpkeepOperator
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import names_of
from airflow_hudi_provider.tasks.request_state import state_of_metadata_table
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.options.metadata_table import resolve_metadata_table_options

_NAMES = ("partitions", "drop")


class RebuildMetadataTableOperator(UpkeepOperator):
    """Build a Hudi table's metadata table from the table's files, add an index to the metadata table, or drop indexes.

    The job changes no rows. Writers wait while the job runs, because the job holds the table lock. A build fails if an
    instant is pending. Exceptions are savepoints, and plans of a clean, clustering or compaction whose execution has
    not begun. Returns ``{"built", "dropped", "is_whole", "partitions_before", "data_files", …}``.

    .. seealso:: docs/metadata-table.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param partitions: partitions of the metadata table to build: ``files``, ``column_stats``, ``partition_stats``,
        ``bloom_filters``, ``record_index``, and secondary indexes that the table defines (``secondary_index_<name>``).
        If empty, the job builds the partitions that Hudi builds by default and the partitions that the table already
        has. (templated)
    :param drop: partitions to drop first, or ``all``. If only this argument is given, the job builds nothing.
        (templated)
    :param preview: report what would be dropped and built, and write nothing.
    :param hudi_options: any ``hoodie.*`` keys, with Hudi's meaning. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process; needs pyarrow), or ``spark`` (submitted to
        Spark), for a record index, for secondary indexes and for tables with thousands of files.
    :param on_nothing: what the task does if there is nothing to drop: ``skip``, ``succeed`` or ``fail``.
    :param table_name: expected name of the table; the task fails if the table's actual name differs. (templated)
    """

    script: ClassVar[str] = "rebuild_metadata_table.py"
    left_behind = (
        "No reader uses the incomplete indexes, because the properties of the table list only complete ones. The next "
        "run builds the incomplete indexes again."
    )
    template_fields: Sequence[str] = (*UpkeepOperator.template_fields, *_NAMES)

    def __init__(
        self,
        *,
        partitions: str | Sequence[str] | None = None,
        drop: str | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.partitions = partitions
        self.drop = drop
        self.check_arguments()

    def build_request(
        self, location: TableLocation, request_id: str, result_uri: str
    ) -> RebuildMetadataTableRequest:
        request = RebuildMetadataTableRequest(
            **self.common_fields(location, request_id, result_uri),
            partitions=names_of(self.partitions, "partitions"),
            drop=names_of(self.drop, "drop"),
            preview=self.preview,
        )
        resolve_metadata_table_options(request)
        return request

    def changed_so_far(self, run: TaskRun) -> str:
        return state_of_metadata_table(run.table)

    def refuse_unknown_key(self, key: str) -> None:
        resolve_metadata_table_options(RebuildMetadataTableRequest(base_path="/", options={key: ""}))

    def log_state_after_kill(self, run: TaskRun) -> None:
        self.log.warning("The task was killed. Run it again to build the indexes that are not complete.")
