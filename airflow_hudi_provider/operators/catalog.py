"""Sync a Hudi table to a Hive Metastore or to AWS Glue."""

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_hudi_provider.operators.job import OnEmpty
from airflow_hudi_provider.operators.service_job import HudiServiceOperator, RunOn
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.arguments import check_choice
from airflow_hudi_provider.tasks.run import TaskRun
from hudi_table_services.contract.catalog.catalog_sync import CATALOGS, SyncCatalogRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options

_FIELDS = ("catalog", "database", "catalog_table", "metastore_uris")


class HudiCatalogSyncOperator(HudiServiceOperator):
    """Update a table of a Hive Metastore or of AWS Glue to the current columns and partitions of a Hudi table.

    Run this operator after a load, so that Trino, Athena, Hive and Spark SQL see new partitions and columns. If the
    catalog is up to date, the task changes nothing. If the catalog has a table of the same name that does not belong
    to the Hudi table, the task fails. The job needs thriftpy2 (Hive Metastore) or boto3 (AWS Glue) on the worker:
    install ``airflow-provider-hudi[catalogs]``.
    Returns ``{"report": {"synced_commit", "tables", "partition_count", …}, …}``.

    .. seealso:: docs/catalogs.md

    :param base_path: URI or path of the table; a relative path starts at the connection's base path. (templated)
    :param hudi_conn_id: connection of type ``hudi``. (templated)
    :param catalog: kind of catalog: ``hms`` (Hive Metastore) or ``glue`` (AWS Glue). By default, the value of
        ``hoodie.datasource.hive_sync.mode``, else ``hms``. (templated)
    :param database: database of the catalog's table. By default, the database name of the Hudi table, else
        ``default``. (templated)
    :param catalog_table: name of the catalog's table. By default, the name of the Hudi table. (templated)
    :param metastore_uris: addresses of the Hive Metastore, such as ``thrift://metastore:9083``. By default, the value
        of ``hoodie.datasource.hive_sync.metastore.uris``. (templated)
    :param preview: report what would be changed, and change nothing.
    :param hudi_options: any ``hoodie.datasource.hive_sync.*`` keys, with Hudi's meaning. (templated)
    :param run_on: where the job runs: ``worker`` (in the task's process), or ``spark`` (submitted to Spark).
    :param on_nothing: what the task does if the catalog is up to date: ``succeed``, ``skip`` or ``fail``.
    :param table_name: expected name of the Hudi table; the task fails if the table's actual name differs. (templated)
    :param storage_conn_id: connection with credentials of the object store; AWS Glue uses the same credentials.
        (templated)
    """

    script: ClassVar[str] = "sync_catalog.py"
    left_behind = "The next run of the task makes the changes that are still missing in the catalog."
    changes_table = False
    template_fields: Sequence[str] = (*HudiServiceOperator.template_fields, *_FIELDS)

    def __init__(
        self,
        *,
        catalog: str = "",
        database: str = "",
        catalog_table: str = "",
        metastore_uris: str = "",
        preview: bool = False,
        run_on: RunOn = "worker",
        on_nothing: OnEmpty = "succeed",
        **kwargs: Any,
    ) -> None:
        super().__init__(on_nothing=on_nothing, **kwargs)
        self.choose_where_to_run(run_on)
        check_choice(self.task_id, "catalog", catalog, ("", *CATALOGS), is_templated=True)
        self.catalog = catalog
        self.database = database
        self.catalog_table = catalog_table
        self.metastore_uris = metastore_uris
        self.preview = preview
        self.check_arguments()

    def build_request(self, location: TableLocation, request_id: str, result_uri: str) -> SyncCatalogRequest:
        request = SyncCatalogRequest(
            **self.common_fields(location, request_id, result_uri),
            catalog=self.catalog,
            database=self.database,
            catalog_table=self.catalog_table,
            metastore_uris=self.metastore_uris,
            preview=self.preview,
        )
        resolve_catalog_options(request)
        return request

    def refuse_unknown_key(self, key: str) -> None:
        resolve_catalog_options(SyncCatalogRequest(base_path="/", options={key: ""}))

    def confirm(self, run: TaskRun, request: JobRequest, result: JobResult | None) -> JobResult | None:
        return result

    def log_state_after_kill(self, run: TaskRun) -> None:
        self.log.warning(
            "The task was killed. Run it again to make the changes that are still missing in the catalog."
        )
