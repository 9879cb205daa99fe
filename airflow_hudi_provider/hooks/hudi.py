"""Read a Hudi table from a worker, the triggerer or a callback, without Spark."""

from collections.abc import Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseHook

from airflow_hudi_provider.instant_query import InstantQuery, QueryAnswer, find_instants, parse_moment
from airflow_hudi_provider.tables.commit_payload import write_operations
from airflow_hudi_provider.tables.connection import TableLocation, locate_table
from airflow_hudi_provider.tables.held_plans import PlannedService, held_plans

if TYPE_CHECKING:
    from pyarrow import Table

    from airflow_hudi_provider.incremental import IncrementalWindow
    from hudi_table_services.contract.config_check import ConfigReport
    from hudi_table_services.contract.health import HealthReport
    from hudi_table_services.contract.result import JobResult
    from hudi_table_services.model.archival import ArchivedWrite
    from hudi_table_services.model.clustering import CommitCount
    from hudi_table_services.model.instant import Instant
    from hudi_table_services.model.table_config import TableConfig
    from hudi_table_services.model.table_snapshot import TableSnapshot
    from hudi_table_services.model.timeline import Timeline
    from hudi_table_services.model.write_history import TableHistory
    from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation
    from hudi_table_services.storage.archive.examined_history import ExaminedHistory
    from hudi_table_services.storage.stores.storage import Storage
    from hudi_table_services.storage.timeline_store import TimelineStore
    from hudi_table_services.tables.clustering_history import ClusteringHistory
    from hudi_table_services.tables.clustering_lookup import ClusteringLookup
    from hudi_table_services.tables.compaction.compaction_history import CompactionHistory


class HudiHook(BaseHook):
    """Read access to one Hudi table: properties, timeline, file slices, health and settings.

    Every call reads the storage again. If a read fails, the call raises an error of `hudi_table_services.errors`.

    :param base_path: URI or path of the table. A relative path starts at the connection's base path.
    :param hudi_conn_id: connection of type ``hudi``. If None, ``base_path`` alone locates the table.
    :param storage_conn_id: connection with credentials of the object store. If None, the hudi connection names it.
    """

    conn_name_attr = "hudi_conn_id"
    default_conn_name = "hudi_default"
    conn_type = "hudi"
    hook_name = "Apache Hudi"

    def __init__(
        self,
        base_path: str | None = None,
        *,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._arguments = (base_path, hudi_conn_id, storage_conn_id)

    @cached_property
    def location(self) -> TableLocation:
        """Location of the table. Raises HudiTaskRefusedError if neither arguments nor connection name a table."""
        return locate_table(*self._arguments)

    @cached_property
    def storage(self) -> "Storage":
        """The table's storage. Raises InvalidRequestError for a scheme that is not supported."""
        from hudi_table_services.storage.stores.factory import open_storage

        return open_storage(self.location.base_path, self.location.storage_options)

    def get_conn(self) -> "Storage":
        return self.storage

    def find_table_config(self) -> "TableConfig | None":
        """Read the properties; return None if there is no table yet. Raises TableNotFoundError for other files."""
        from airflow_hudi_provider.tables.configs import find_config

        return find_config(self.storage)

    def table_config(self) -> "TableConfig":
        """Read the properties of the table. Raises TableNotFoundError."""
        from airflow_hudi_provider.tables.configs import require_config

        return require_config(self.storage)

    def timeline(self) -> "Timeline":
        """Read all instants of the active timeline. Raises TableNotFoundError."""
        return self.timeline_store().load()

    def snapshot(self, *partitions: str) -> "TableSnapshot":
        """Read the timeline and the live file slices, or only the slices in the partition paths that are given."""
        from hudi_table_services.tables.views.named_partitions import load_named_partitions

        return load_named_partitions(self.storage, partitions)

    def instants(self, query: InstantQuery, examined: "ExaminedHistory | None" = None) -> QueryAnswer:
        """Find the completed instants that match the query; see `ExaminedHistory`. Raises TableNotFoundError."""
        from hudi_table_services.tables.archived_timeline import ArchivedTimeline

        config = self.table_config()
        archive = ArchivedTimeline(self.storage, config, examined)
        return find_instants(self.timeline_store(config), query, archive.readable_writes_completed_after)

    def archived_writes(self) -> "Sequence[ArchivedWrite]":
        """Read the archived writes, oldest first. If pyarrow is needed but missing, log a warning and return ``()``."""
        from hudi_table_services.tables.archived_timeline import ArchivedTimeline

        return ArchivedTimeline(self.storage, self.table_config()).readable_writes()

    def commit_count(
        self,
        operations: Sequence[str] = (),
        *,
        enough: int | None = None,
        remembered: "MutableMapping[str, WriteOperation] | None" = None,
    ) -> "CommitCount":
        """Count the completed writes that were requested after the newest clustering, completed or pending.

        The result has the attributes ``count``, ``since``, ``instants`` and ``is_complete``.

        Args:
            operations: write operations to count, such as ``upsert``. If empty, count all writes that change rows.
            enough: number of commits after which the hook reads no further archived commits. If it stops, ``count`` is
                a lower bound, and ``is_complete`` is False.
            remembered: a dictionary that a poller keeps, so that each poll reads the metadata of new commits only.

        Raises TableNotFoundError, or InvalidRequestError for a name that is not a write operation of Hudi.
        """
        from hudi_table_services.tables.commit_counter import CommitCounter

        wanted = write_operations(operations)
        return CommitCounter.load(self.storage, self.table_config(), remembered).count(wanted, enough=enough)

    def clusterings(self) -> "ClusteringHistory":
        """Read the clusterings on the active timeline. If there is no table, return an empty history.

        The result has the attribute ``pending`` and the method ``find(instant)``.
        """
        from hudi_table_services.tables.clustering_history import ClusteringHistory

        if self.find_table_config() is None:
            return ClusteringHistory()
        store = self.timeline_store()
        return ClusteringHistory.load(store, store.load())

    def look_up_clusterings(self) -> "ClusteringLookup | None":
        """Return an object that finds clusterings by requested time, and explains why a cancelled plan is missing.

        The result is None if there is no table.
        """
        from hudi_table_services.tables.clustering_lookup import ClusteringLookup

        return ClusteringLookup.load(self.timeline_store()) if self.find_table_config() is not None else None

    def compactions(self) -> "CompactionHistory | None":
        """Read the compactions on the active timeline; return None if there is no table yet."""
        from hudi_table_services.tables.compaction.compaction_history import CompactionHistory

        return CompactionHistory.load(self.timeline_store()) if self.find_table_config() is not None else None

    def held_plans(
        self,
        service: PlannedService,
        names: Sequence[str] = (),
        *,
        partitions: Sequence[str] = (),
        request_id: str = "",
        expires_after_minutes: int = 60,
    ) -> "tuple[Instant, ...]":
        """Find those pending plans of a service that an attempt is executing, oldest first. Without a table, return ().

        Args:
            service: ``clustering`` or ``compaction``.
            names: requested times of the plans to check. If empty, check all plans.
            partitions: check only plans with file groups in these partition paths. If empty, check all plans.
            request_id: ignore attempts of this request.
            expires_after_minutes: age at which an execution without a heartbeat, such as one by Hudi, counts as dead.
        """
        return held_plans(
            self,
            service,
            names,
            partitions=partitions,
            request_id=request_id,
            expires_after_minutes=expires_after_minutes,
        )

    def instant_time_of(self, moment: str) -> str:
        """Convert an ISO date and time to an instant time in this table's time zone; return instant times unchanged."""
        from hudi_table_services.storage.clock import instant_text

        parsed = parse_moment(moment)
        return parsed if isinstance(parsed, str) else instant_text(parsed, self.table_config())

    def find_request(self, request_id: str) -> "tuple[Instant, CommitMetadata] | None":
        """Find the completed write of a request on the active or archived timeline. Return None if no write is found.

        Without pyarrow, the method does not search the archived timeline of table versions 8 and 9.
        """
        from airflow_hudi_provider.tables.request_search import completed_of

        return completed_of(self, request_id)

    def pending_of_request(self, request_id: str) -> "tuple[Instant, ...]":
        """Find the pending writes of this request."""
        from airflow_hudi_provider.tables.request_search import pending_of

        return pending_of(self, request_id)

    def begins_after(self, instant_time: str) -> bool:
        """Return whether the active timeline begins after the given instant time; False if the timeline is empty."""
        if self.find_table_config() is None:
            return False
        times = [instant.requested_time for instant in self.timeline().instants]
        return bool(times) and instant_time < min(times)

    def health(
        self, *, warn_above: Mapping[str, float] | None = None, hudi_options: Mapping[str, str] | None = None
    ) -> "HealthReport":
        """Return the table's health: measures, findings, pending instants, and what each pending instant blocks.

        Args:
            warn_above: maps each measure to its limit; see docs/health.md.
            hudi_options: ``hoodie.clean.*`` keys that define which files cleaning keeps.

        Raises:
            TableNotFoundError: there is no table.
            UnhealthyTableError: the timeline is damaged.
        """
        from airflow_hudi_provider.tables.health_reports import health_of

        return health_of(self, warn_above or {}, hudi_options or {})

    def incremental_window(self, after: str = "") -> "IncrementalWindow":
        """Return the next window: those commits after the position `after` that can already be read safely.

        A commit that is still running will be in a later window.

        Args:
            after: ``until`` of the previous window; `instant_time_of` converts a date and time. If empty, the window
                starts with the first commit of the table.

        Raises:
            TableNotFoundError: there is no table.
            InvalidRequestError: `after` is not an instant time.
        """
        from airflow_hudi_provider.incremental import incremental_window

        return incremental_window(self.storage, self.table_config(), after)

    def read_incremental(
        self,
        window: "IncrementalWindow",
        columns: Sequence[str] | None = None,
        *,
        hudi_options: Mapping[str, str] | None = None,
    ) -> "Table":
        """Read the newest version, as of the end of a window, of each row that the commits of the window wrote.

        The result does not contain deleted rows. For a window without commits, the result has no columns.

        Args:
            columns: columns to read. None means all columns, after Hudi's meta columns.
            hudi_options: options of incremental reads, such as
                ``hoodie.datasource.read.incr.fallback.fulltablescan.enable``; see docs/reading.md.

        Raises:
            HudiTaskRefusedError: a package that reads the rows is not installed.
            InvalidRequestError: the table has no such column, or files of the window were deleted.
            ExecutionFailedError: a clean deleted a file during the read.
        """
        from airflow_hudi_provider.incremental import read_incremental

        return read_incremental(self.storage, window, columns, hudi_options or {})

    def read_rows(
        self,
        partitions: Sequence[str] = (),
        *,
        query_type: str = "snapshot",
        columns: Sequence[str] | None = None,
    ) -> "Table":
        """Read the current rows into memory. Raises UnsupportedTableError for a merge rule that jobs do not know.

        Args:
            partitions: list of partition paths to read. If empty, read all partitions.
            query_type: ``snapshot``, or ``read_optimized`` to ignore the log files of a merge-on-read table.
            columns: columns to read. None means commit time, sequence number, record key, and the table's columns.
        """
        from airflow_hudi_provider.row_reading import read_rows

        return read_rows(self.storage, partitions, query_type, columns)

    def recent_writes(self, latest: int = 100) -> "TableHistory":
        """Describe the latest writes, active or archived, and the file sizes after each of these writes.

        The attribute ``end`` of the result is the reason why the history contains no older writes. The method raises no
        error if the archive cannot be read.

        Args:
            latest: maximum number of writes to return.

        Raises:
            TableNotFoundError: there is no table.
        """
        from hudi_table_services.tables.recent_writes import recent_writes

        return recent_writes(self.storage, self.timeline_store(), self.snapshot(), latest=latest)

    def preview_clustering(self, hudi_options: Mapping[str, str] | None = None) -> "JobResult":
        """Preview the plan of a clustering and write nothing. If there is no plan, ``reason`` explains why.

        Args:
            hudi_options: ``hoodie.clustering.*`` keys, as for a clustering task.
        """
        from airflow_hudi_provider.tables.plan_previews import preview_clustering

        return preview_clustering(self, hudi_options or {})

    def preview_compaction(self, hudi_options: Mapping[str, str] | None = None) -> "JobResult":
        """Preview a compaction of all log files, even if none is due yet, and write nothing.

        Args:
            hudi_options: ``hoodie.compact.*`` and ``hoodie.compaction.*`` keys, as for a compaction task.
        """
        from airflow_hudi_provider.tables.plan_previews import preview_compaction

        return preview_compaction(self, hudi_options or {})

    def check_config(
        self,
        hudi_options: Mapping[str, Any] | None = None,
        *,
        facts: Mapping[str, Any] | None = None,
        accepted_rules: Sequence[str] = (),
    ) -> "ConfigReport":
        """Find settings that would harm this table. If there is no table yet, check only the settings.

        Args:
            hudi_options: ``hoodie.*`` keys of writes and of all table services.
            facts: facts about the environment; see docs/config-check.md.
            accepted_rules: ids of rules whose findings the user accepts.

        Raises:
            InvalidRequestError: one of the names is not a known fact or rule.
        """
        from airflow_hudi_provider.tasks.arguments import options_of, text_of
        from hudi_table_services.contract.config_check import NEVER, CheckConfigRequest, ConfigReport
        from hudi_table_services.services.registry import script

        request = CheckConfigRequest(
            base_path=self.location.base_path,
            options=options_of(hudi_options, {}),
            facts={name: text_of(value) for name, value in (facts or {}).items()},
            accepted_rules=tuple(accepted_rules),
            fail_on=NEVER,
        )
        report = script("check_config.py").run(None, request, storage=self.storage).report_as(ConfigReport)
        assert report is not None  # noqa: S101 - the job makes a report
        return report

    def table_picture(self) -> str:
        """Draw the table as text for a task log: bars for the live files of each partition, and the latest instants."""
        from airflow_hudi_provider.results.table_picture import draw_table

        return draw_table(self.snapshot())

    def test_connection(self) -> tuple[bool, str]:
        try:
            config = self.find_table_config()
        except Exception as error:
            return False, str(error)
        if config is None:
            return True, f"{self.location.base_path} can be read; there is no table yet."
        return True, f"Table {config.table_name}, version {int(config.table_version)}."

    def timeline_store(self, config: "TableConfig | None" = None) -> "TimelineStore":
        """Return the store that reads the instants of the table. Raises TableNotFoundError.

        Args:
            config: the properties of the table, if the caller has read them.
        """
        from hudi_table_services.storage.clock import SystemClock
        from hudi_table_services.storage.timeline_store import TimelineStore

        return TimelineStore(self.storage, config or self.table_config(), SystemClock())

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Describe the connection form for Airflow 3.1, which does not read the form from the provider information."""
        return {
            "hidden_fields": ["port", "login", "password", "schema"],
            "relabeling": {"host": "Base path"},
            "placeholders": {"host": "s3://lake/flights, or the folder of several tables"},
        }
