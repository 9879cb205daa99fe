"""Write rows into a Hudi table with file sizing, so that its files reach their target size."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.job import HudiJobOperator, OnEmpty
from airflow_hudi_provider.operators.write import HudiWriteOperator
from airflow_hudi_provider.tables.connection import TableLocation, find_connection
from airflow_hudi_provider.tables.pending_services import PLANS, PLANS_OF_CLUSTERINGS
from airflow_hudi_provider.tables.storage_connection import storage_options
from airflow_hudi_provider.tasks.arguments import check_choice, mapping_of, names_of, options_of, string_of
from airflow_hudi_provider.tasks.plan_policy import STRATEGY_KEY, FilesAtStake, strategy_of
from airflow_hudi_provider.tasks.run import TaskRun
from airflow_hudi_provider.tasks.templates import names_filled_in_later
from hudi_table_services.contract.writing import (
    OPERATIONS,
    SourceMode,
    SourceSpec,
    TimestampsWithoutZone,
    UpsertRequest,
)
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.writing import MAX_FILE_SIZE, SMALL_FILE_LIMIT
from hudi_table_services.options.writing import resolve_options

_ZONES = ("", *(each.value for each in TimestampsWithoutZone))
_MODES = ("", *(each.value for each in SourceMode))
_ADDS_FILES = (WriteOperation.INSERT, WriteOperation.BULK_INSERT)
_REPLACES_FILES = (
    WriteOperation.INSERT_OVERWRITE,
    WriteOperation.INSERT_OVERWRITE_TABLE,
    WriteOperation.DELETE_PARTITION,
)
_INTERVAL_TEMPLATE = re.compile(r"\{[{%][^}]*\bdata_interval_(start|end)\b")


class UpsertWithSizingOperator(HudiWriteOperator):
    """Upsert, insert or delete the rows of a source in a Hudi table, on Spark.

    The job adds rows to small files before it creates new files, so that files reach ``max_file_size``. By default,
    a task writes its rows only once in one DAG run, even if Airflow retries the task or a user clears it (see
    ``on_rerun``). Returns the result document.

    .. seealso:: docs/airflow.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi`` with base path, Spark and storage connection. (templated)
    :param table_name: name of the table, required if the write creates the table. The task fails if an existing table
        has a different name. (templated)
    :param operation: ``upsert``, ``insert``, ``bulk_insert``, ``delete``, ``insert_overwrite``,
        ``insert_overwrite_table`` or ``delete_partition``. (templated)
    :param source_path: file, folder or glob that Spark reads. (templated)
    :param source_format: name of Spark's data source, such as ``parquet``. (templated)
    :param source_options: options for Spark's reader. (templated)
    :param source_sql: a single SQL query on the view ``source``, which contains the source rows. (templated)
    :param source_table: URI or path of a Hudi table, which the task reads instead of files. The rows of the source are
        the changes of this table since the last load into the target. A relative path starts at the connection's base
        path. The commit stores how far the task has read the table. See docs/incremental-chains.md. (templated)
    :param source_mode: with ``source_table``: ``incremental`` (default) loads the changed and deleted rows, and
        ``source_sql`` converts each row on its own. ``changed_groups`` is for aggregates: ``source_sql`` reads all rows
        of each group in which a row changed. The record key of the target identifies a group. (templated)
    :param source_chain: name under which the target stores its position in ``source_table``. By default, the location
        of the table. (templated)
    :param source_begin: read ``source_table`` again from this point in time, exclusive, or from ``earliest``. By
        default, a load continues from the stored position. (templated)
    :param source_first_begin: point in time, exclusive, from which the first load reads ``source_table``. By default,
        the first load reads the whole table. (templated)
    :param source_storage_conn_id: connection with credentials of the object store of ``source_table``. By default, the
        task reads ``source_table`` with the credentials of the target. (templated)
    :param record_key: columns that identify a record. (templated)
    :param partition_by: partition columns; ``created_at:day`` makes a partition for each day. If empty, the table is
        not partitioned. (templated)
    :param partitions: partition paths of the rows, if known in advance; ``on_pending_plan`` checks these partitions
        before Spark starts. (templated)
    :param ordering_field: column that decides which of two versions of a record wins: the version with the larger
        value. (templated)
    :param timestamps_without_zone: how to store timestamps without time zone: ``utc`` reads them as times in UTC, and
        ``session`` as times in Spark's session time zone. ``refuse`` converts no timestamps. The write then fails if
        the table has version 6, which cannot store timestamps without time zone. By default, tables of version 6 store
        times in UTC, with a warning, and tables of later versions store timestamps without time zone. (templated)
    :param skip_unchanged: with ``operation="upsert"``, do not write rows that equal the stored row. The result counts
        these rows as unchanged, and a batch without any change makes no commit.
    :param check_source: check before Spark starts that the source exists and has the columns of the table's keys. Set
        False if Spark reads the source from a file system that the worker cannot access.
    :param max_file_size: target size of a base file in bytes; sets ``hoodie.parquet.max.file.size``. (templated)
    :param small_file_limit: size in bytes below which the job adds rows to an existing file; with 0, it adds rows to
        new files only. Sets ``hoodie.parquet.small.file.limit``. (templated)
    :param hudi_options: any other ``hoodie.*`` keys, with Hudi's meaning. An unknown key is an error when Airflow
        parses the DAG. (templated)
    :param on_empty: what the task does if the source has no rows to write: ``succeed``, ``skip`` or ``fail``. With
        ``source_table``, the default is ``skip``: a task is skipped if the table has no new commit. Otherwise, the
        default is ``succeed``.
    :param on_pending_plan: what the task does if a clustering is pending on file groups that this write changes:
        ``refuse`` fails the task, ``wait`` defers the task until the plan is no longer pending, and ``give_way``
        releases these file groups from the plan. By default, the key ``hoodie.clustering.updates.strategy`` decides.
        A pending compaction matters only if the write overwrites or deletes partitions. (templated)
    :param on_rerun: what a cleared task does: ``reuse`` reports the earlier commit, and ``write_again`` writes the rows
        again.
    :param dry_run: plan the write, report the plan, and write nothing.
    :param spark_conn_id: connection of the type Spark or Spark Connect. By default, the task uses the Spark connection
        that the hudi connection names, else ``spark_default``. (templated)
    :param storage_conn_id: connection with credentials of the object store. (templated)
    :param result_base_path: folder for the request and result documents, required with ``deploy_mode="cluster"``.
        (templated)
    :param conn_id: the same as ``spark_conn_id``, under the name that ``SparkSubmitOperator`` uses.
    :param kwargs: further arguments of ``SparkSubmitOperator`` (``conf``, ``executor_memory``, …).
    """

    script: ClassVar[str] = "upsert_with_sizing.py"
    may_be_empty: ClassVar[frozenset[str]] = frozenset({"source_begin", "source_first_begin"})
    template_fields: Sequence[str] = (
        *HudiJobOperator.template_fields,
        "table_name",
        "operation",
        "source_path",
        "source_format",
        "source_options",
        "source_sql",
        "source_table",
        "source_mode",
        "source_chain",
        "source_begin",
        "source_first_begin",
        "source_storage_conn_id",
        "record_key",
        "partition_by",
        "partitions",
        "ordering_field",
        "timestamps_without_zone",
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
        source_table: str | None = None,
        source_mode: str = "",
        source_chain: str = "",
        source_begin: str = "",
        source_first_begin: str = "",
        source_storage_conn_id: str | None = None,
        record_key: str | Sequence[str] = (),
        partition_by: str | Sequence[str] = (),
        partitions: str | Sequence[str] = (),
        ordering_field: str = "",
        timestamps_without_zone: str = "",
        skip_unchanged: bool = False,
        check_source: bool = True,
        max_file_size: int | str | None = None,
        small_file_limit: int | str | None = None,
        on_empty: OnEmpty | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if on_empty is not None:
            check_choice(self.task_id, "on_empty", on_empty, ("succeed", "skip", "fail"))
        check_choice(self.task_id, "source_mode", source_mode, _MODES, is_templated=True)
        check_choice(self.task_id, "operation", operation, OPERATIONS, is_templated=True)
        check_choice(
            self.task_id, "timestamps_without_zone", timestamps_without_zone, _ZONES, is_templated=True
        )
        self.table_name = table_name
        self.operation = operation
        self.source_path = source_path
        self.source_format = source_format
        self.source_options = source_options
        self.source_sql = source_sql
        self.source_table = source_table
        self.source_mode = source_mode
        self.source_chain = source_chain
        self.source_begin = source_begin
        self.source_first_begin = source_first_begin
        self.source_storage_conn_id = source_storage_conn_id
        self.record_key = record_key
        self.partition_by = partition_by
        self.partitions = partitions
        self.ordering_field = ordering_field
        self.timestamps_without_zone = timestamps_without_zone
        self.skip_unchanged = skip_unchanged
        self.check_source = check_source
        self.max_file_size = max_file_size
        self.small_file_limit = small_file_limit
        self.on_empty: OnEmpty = on_empty or ("skip" if source_table else "succeed")
        self._has_interval_template = any(
            _INTERVAL_TEMPLATE.search(str(getattr(self, name, ""))) for name in self.template_fields
        )
        self._filled_in_later = names_filled_in_later(self, self._own_fields())
        self.check_when_the_dag_is_read()

    @property
    def _uses_interval(self) -> bool:
        return self._has_interval_template

    def lineage_inputs(self) -> list[str]:
        if self.source_table:
            return [self._table_path(self.find_table().location)]
        return [self.source_path] if self.source_path else []

    def files_at_stake(self, run: TaskRun) -> FilesAtStake | None:
        options = resolve_options(self.build_request(run.location, run.request_id, ""))
        if options.operation in _ADDS_FILES:
            return None  # these operations add no rows to the files of a pending plan
        held = options.pending_clustering
        services = PLANS if options.operation in _REPLACES_FILES else PLANS_OF_CLUSTERINGS
        if options.operation is WriteOperation.INSERT_OVERWRITE_TABLE:
            return FilesAtStake(is_certain=True, services=services, held=held)
        if options.index_type.is_global:
            # With a global index the write may change rows in any partition.
            return FilesAtStake(services=services)
        if options.operation is WriteOperation.DELETE_PARTITION:
            named = options.partitions_to_delete
            return (
                FilesAtStake(services=services)
                if "*" in "".join(named)
                else FilesAtStake(partitions=named, is_certain=True, services=services, held=held)
            )
        named = names_of(self.partitions, "partitions")
        return FilesAtStake(partitions=named, is_certain=bool(named), services=services, held=held)

    def when_empty(self) -> OnEmpty:
        return self.on_empty

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> UpsertRequest:
        request = UpsertRequest(
            base_path=location.base_path,
            request_id=request_id,
            table_name=self.table_name,
            operation=self.operation,
            source=self._source(location),
            record_key=names_of(self.record_key, "record_key"),
            partition_by=names_of(self.partition_by, "partition_by"),
            ordering_field=self.ordering_field,
            timestamps_without_zone=self.timestamps_without_zone,
            skip_unchanged=self.skip_unchanged,
            check_source=self.check_source,
            options=self._options(),
            storage_options=dict(location.storage_options),
            result_path=result_uri,
            dry_run=self.dry_run_only,
        )
        resolve_options(request)
        return request

    def _source(self, location: TableLocation) -> SourceSpec | None:
        if self.operation == "delete_partition":
            return None
        if not self.source_path and not self.source_options and not self.source_table:
            raise InvalidRequestError(
                f"Operation {self.operation} needs a source.",
                hint="Give source_path, source_options or source_table.",
            )
        options = mapping_of(self.source_options, "source_options")
        return SourceSpec(
            path=self.source_path or "",
            format=self.source_format,
            options=options,
            sql=string_of(self.source_sql, "source_sql"),
            table=self._table_path(location),
            mode=self.source_mode,
            chain=self.source_chain,
            begin=self.source_begin,
            first_begin=self.source_first_begin,
            storage_options=self._source_storage(),
        )

    def _source_storage(self) -> Mapping[str, str] | None:
        """Return the settings of the source's object store; None if the settings of the target apply.

        While Airflow parses the DAG, connections are not read, and the settings are empty.
        """
        if not self.source_storage_conn_id:
            return None
        if self.begun_run is None:
            return {}
        return storage_options(find_connection(self.source_storage_conn_id, "source_storage_conn_id"))

    def _table_path(self, location: TableLocation) -> str:
        """Return the location of the source table; empty if the source is not a table."""
        path = (self.source_table or "").strip()
        if not path or path.startswith("/") or ":/" in path:
            return path
        if self.hudi_conn_id is None:
            raise InvalidRequestError(
                f"source_table={path!r} is relative.",
                hint="Give a URI or an absolute path, or hudi_conn_id with a base path.",
            )
        # When Airflow parses the DAG, the connection is not read, and the path stays relative.
        return f"{location.root}/{path}" if location.root else path

    def _options(self) -> dict[str, str]:
        sizes = {
            MAX_FILE_SIZE.key: self.max_file_size,
            SMALL_FILE_LIMIT.key: self.small_file_limit,
        }
        return options_of(self.hudi_options, {**sizes, STRATEGY_KEY: strategy_of(self.on_pending_plan)})

    def refuse_unknown_key(self, key: str) -> None:
        # Every key with the prefix "_" is allowed, because the commit stores such keys.
        if not key.startswith("_"):
            resolve_options(UpsertRequest(base_path="/", options={key: ""}))
