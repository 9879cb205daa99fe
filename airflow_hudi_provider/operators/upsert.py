"""Write rows into a Hudi table and keep its files at their right size."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.job import HudiJobOperator, OnEmpty
from airflow_hudi_provider.operators.write import HudiWriteOperator
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import names_of, options_of, text_of
from airflow_hudi_provider.tasks.plan_policy import STRATEGY_KEY, FilesAtStake, strategy_of
from airflow_hudi_provider.tasks.run import TaskRun
from airflow_hudi_provider.tasks.templates import names_filled_in_later
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.writing import MAX_FILE_SIZE, SMALL_FILE_LIMIT
from hudi_table_services.options.writing import resolve_options

_ADDS_FILES = (WriteOperation.INSERT, WriteOperation.BULK_INSERT)
_INTERVAL_TEMPLATE = re.compile(r"\{[{%][^}]*\bdata_interval_(start|end)\b")


class UpsertWithSizingOperator(HudiWriteOperator):
    """Upsert, insert or delete the rows of a source in a copy-on-write Hudi table, on Spark.

    The job fills small files before it opens new ones, so that files reach ``max_file_size``. The same task in the same
    run never writes twice, however often it is retried or cleared. Returns the result document.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; relative: below the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``: base path, Spark and storage connection. (templated)
    :param table_name: needed to create the table; else checked against its name. (templated)
    :param operation: ``upsert``, ``insert``, ``bulk_insert``, ``delete``, ``insert_overwrite``,
        ``insert_overwrite_table`` or ``delete_partition``. (templated)
    :param source_path: file, folder or glob that Spark reads. (templated)
    :param source_format: data source of Spark. (templated)
    :param source_options: options of Spark's reader. (templated)
    :param source_sql: one query, no other statement, over the source, whose view is called ``source``. (templated)
    :param record_key: columns that identify a record. (templated)
    :param partition_by: partition columns; none: not partitioned. (templated)
    :param partitions: partition paths of the rows, if they are known beforehand; ``on_pending_plan`` checks them before
        Spark is started. (templated)
    :param ordering_field: column; of two versions of a record the one with the larger value wins. (templated)
    :param max_file_size: bytes that a base file should reach; ``hoodie.parquet.max.file.size``. (templated)
    :param small_file_limit: bytes; files below it are filled, 0 = none; ``hoodie.parquet.small.file.limit``.
        (templated)
    :param hudi_options: any other ``hoodie.*`` key, with Hudi's meaning; unknown ones are refused when the DAG is
        read. (templated)
    :param on_empty: what a source without rows to write means: ``succeed``, ``skip`` or ``fail``.
    :param on_pending_plan: what a clustering or compaction that is pending on files of this write means: ``refuse``
        fails the task, ``wait`` defers it until there is none, ``give_way`` makes the plan give these files up. Left
        out: ``hoodie.clustering.updates.strategy`` decides. (templated)
    :param on_rerun: what clearing the task means: ``reuse`` the commit it made, or ``write_again``.
    :param dry_run: plan and report, and write nothing.
    :param spark_conn_id: Spark connection, as ``SparkSubmitOperator`` takes it; left out: the hudi connection's, or
        ``spark_default``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param result_base_path: folder for request and result, needed with ``deploy_mode="cluster"``. (templated)
    :param conn_id: the same as ``spark_conn_id``, by the name that ``SparkSubmitOperator`` gives it.
    :param kwargs: everything else that ``SparkSubmitOperator`` takes (``conf``, ``executor_memory``, …).
    """

    script: ClassVar[str] = "upsert_with_sizing.py"
    template_fields: Sequence[str] = (
        *HudiJobOperator.template_fields,
        "table_name",
        "operation",
        "source_path",
        "source_format",
        "source_options",
        "source_sql",
        "record_key",
        "partition_by",
        "partitions",
        "ordering_field",
        "on_pending_plan",
        "max_file_size",
        "small_file_limit",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **HudiJobOperator.template_fields_renderers,
        "source_sql": "sql",
        "source_options": "json",
    }

    def __init__(
        self,
        *,
        table_name: str = "",
        operation: str = "upsert",
        source_path: str | None = None,
        source_format: str = "parquet",
        source_options: Mapping[str, Any] | None = None,
        source_sql: str | None = None,
        record_key: str | Sequence[str] = (),
        partition_by: str | Sequence[str] = (),
        partitions: str | Sequence[str] = (),
        ordering_field: str = "",
        max_file_size: int | str | None = None,
        small_file_limit: int | str | None = None,
        on_empty: OnEmpty = "succeed",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if on_empty not in ("succeed", "skip", "fail"):
            raise ValueError(f"{self.task_id}: on_empty={on_empty!r} must be 'succeed', 'skip' or 'fail'.")
        self.table_name = table_name
        self.operation = operation
        self.source_path = source_path
        self.source_format = source_format
        self.source_options = source_options
        self.source_sql = source_sql
        self.record_key = record_key
        self.partition_by = partition_by
        self.partitions = partitions
        self.ordering_field = ordering_field
        self.max_file_size = max_file_size
        self.small_file_limit = small_file_limit
        self.on_empty = on_empty
        self._has_interval_template = any(
            _INTERVAL_TEMPLATE.search(str(getattr(self, name, ""))) for name in self.template_fields
        )
        self._filled_in_later = names_filled_in_later(self, self._own_fields())
        self.check_when_the_dag_is_read()

    @property
    def _uses_interval(self) -> bool:
        return self._has_interval_template

    def lineage_inputs(self) -> list[str]:
        return [self.source_path] if self.source_path else []

    def files_at_stake(self, run: TaskRun) -> FilesAtStake | None:
        options = resolve_options(self.build_request(run.location, run.request_id, ""))
        if options.operation in _ADDS_FILES:
            return None  # these operations add no rows to files that a plan holds
        held = options.pending_clustering
        if options.operation is WriteOperation.INSERT_OVERWRITE_TABLE:
            return FilesAtStake(is_certain=True, held=held)
        if options.index_type.is_global:
            return FilesAtStake()  # the index may find a row, and the write change it, in any partition
        if options.operation is WriteOperation.DELETE_PARTITION:
            named = options.partitions_to_delete
            return (
                FilesAtStake()
                if "*" in "".join(named)
                else FilesAtStake(partitions=named, is_certain=True, held=held)
            )
        named = names_of(self.partitions)
        return FilesAtStake(partitions=named, is_certain=bool(named), held=held)

    def when_empty(self) -> OnEmpty:
        return self.on_empty

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> UpsertRequest:
        request = UpsertRequest(
            base_path=location.base_path,
            request_id=request_id,
            table_name=self.table_name,
            operation=self.operation,
            source=self._source(),
            record_key=names_of(self.record_key),
            partition_by=names_of(self.partition_by),
            ordering_field=self.ordering_field,
            options=self._options(),
            storage_options=dict(location.storage_options),
            result_path=result_uri,
            dry_run=self.dry_run_only,
        )
        resolve_options(request)
        return request

    def _source(self) -> SourceSpec | None:
        if self.operation == "delete_partition":
            return None
        if not self.source_path and not self.source_options:
            raise InvalidRequestError(
                f"Operation {self.operation} needs a source.", hint="Give source_path, or source_options."
            )
        options = {key: text_of(value) for key, value in (self.source_options or {}).items()}
        return SourceSpec(
            path=self.source_path or "", format=self.source_format, options=options, sql=self.source_sql
        )

    def _options(self) -> dict[str, str]:
        sizes = {
            MAX_FILE_SIZE.key: self.max_file_size,
            SMALL_FILE_LIMIT.key: self.small_file_limit,
        }
        return options_of(self.hudi_options, {**sizes, STRATEGY_KEY: strategy_of(self.on_pending_plan)})

    def refuse_unknown_key(self, key: str) -> None:
        # Keys with this prefix are stored in the commit; any name is allowed.
        if not key.startswith("_"):
            resolve_options(UpsertRequest(base_path="/", options={key: ""}))
