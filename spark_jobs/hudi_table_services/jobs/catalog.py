"""Sync a catalog, so that its tables have the current columns and partitions of a Hudi table."""

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.catalog.catalog_sync import (
    EXAMPLES,
    CatalogReport,
    SyncCatalogRequest,
    SyncedTable,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.catalog.catalog_settings import CatalogSettings
from hudi_table_services.model.catalog.catalog_table import (
    LAST_COMMIT,
    LAST_COMPLETION,
    CatalogPartition,
    CatalogPlan,
    CatalogState,
)
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.catalog.catalog_options import CatalogJobOptions, resolve_catalog_options
from hudi_table_services.planning.catalog.changes import plan_catalog_sync
from hudi_table_services.planning.catalog.locations import table_location
from hudi_table_services.planning.catalog.wanted_table import (
    SyncedCommit,
    catalog_database,
    catalog_location,
    partition_rule,
    table_variants,
    wanted_partitions,
    wanted_table,
)
from hudi_table_services.storage.catalogs.catalog import Catalog, open_catalog
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import check_name

_LOG = logging.getLogger(__name__)


def sync_catalog(
    request: SyncCatalogRequest, *, storage: Storage | None = None, catalog: Catalog | None = None
) -> JobResult:
    """Sync the catalog that the request names. If the catalog is up to date, the job changes nothing.

    The job plans the changes of all tables before it makes the first change. It also syncs tables that this release
    reads but cannot write, such as tables of version 5.

    Args:
        catalog: client of the catalog; the caller closes the client. None means that the job connects to the catalog.

    Raises:
        InvalidRequestError: an option is invalid, a partition path does not fit the partition columns, or the catalog
            has a table of the same name that the job must not change.
        CatalogError: the catalog does not answer, or refuses a change.
        HudiTableServiceError: the Hudi table cannot be read.
    """
    options = resolve_catalog_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    config = read_table_config(storage)
    check_name(config, request.table_name)
    settings = options.catalog
    if not settings.location:
        settings = replace(settings, location=table_location(storage.base_path))
    if catalog is not None:
        return _sync(request, replace(options, catalog=settings), storage, config, catalog)
    with closing(open_catalog(settings, request.storage_options)) as opened:
        return _sync(request, replace(options, catalog=settings), storage, config, opened)


def _sync(
    request: SyncCatalogRequest,
    options: CatalogJobOptions,
    storage: Storage,
    config: TableConfig,
    catalog: Catalog,
) -> JobResult:
    watch, settings = Stopwatch(), options.catalog
    result = replace(
        JobResult.of(request, Outcome.NOTHING_TO_DO), table_name=config.table_name, warnings=options.warnings
    )
    # The catalog is read before the table: if another sync runs at the same time, this sync sees a table that is at
    # least as new as the catalog, and cannot undo the changes of the other sync.
    with watch.phase("read catalog"):
        database = catalog_database(config, settings)
        states = [
            catalog.read(database, variant.name.lower()) for variant in table_variants(config, settings)
        ]
    with watch.phase("read table"):
        snapshot = load_snapshot(storage, config=config, metadata_enable=options.metadata_enable)
    if not snapshot.timeline.completed_writes or snapshot.schema_json is None:
        return replace(result, reason="the table has no completed write", timings_s=watch.seconds)
    plans = _plans(snapshot, from_avro_json(snapshot.schema_json), states, settings)
    warnings = (*options.warnings, *_foreign_warnings(plans))
    report = _report(plans, snapshot, settings)
    result = replace(result, report=report, warnings=warnings)
    if all(plan.is_empty for plan in plans):
        return replace(result, reason="the catalog is up to date", timings_s=watch.seconds)
    if request.preview:
        return replace(result, outcome=Outcome.PLANNED, timings_s=watch.seconds)
    with watch.phase("change catalog"):
        for plan in plans:
            _carry_out(catalog, plan)
    return replace(result, outcome=Outcome.COMPLETED, timings_s=watch.seconds)


def _plans(
    snapshot: TableSnapshot, schema: StructType, states: Sequence[CatalogState], settings: CatalogSettings
) -> list[CatalogPlan]:
    config, writes = snapshot.config, snapshot.timeline.completed_writes
    commit = SyncedCommit(
        requested_time=writes[-1].requested_time,
        completion_time=max((i.completion_time for i in writes if i.completion_time), default=None),
    )
    rule = partition_rule(config, settings)
    partitions = wanted_partitions(snapshot.partitions, rule, catalog_location(settings))
    formatted = frozenset(name.lower() for name in config.formatted_time_fields)
    return [
        plan_catalog_sync(
            wanted_table(variant, config, schema, commit, settings),
            partitions,
            state,
            settings,
            free_partition_types=formatted,
        )
        for variant, state in zip(table_variants(config, settings), states, strict=True)
    ]


def _carry_out(catalog: Catalog, plan: CatalogPlan) -> None:
    """Make the changes of a plan. If a change fails, the next plan contains this change and all later changes.

    The properties with the time of the synced commit are set last. If they were set earlier and a later change failed,
    Hudi's own sync would skip the commits before this time, although the catalog lacks their partitions.
    """
    table = plan.table
    _LOG.info("Changing %s", table.full_name)
    if plan.creates_database:
        catalog.create_database(table.database)
    if plan.creates_table:
        times = (LAST_COMMIT, LAST_COMPLETION) if plan.added_partitions else ()
        properties = {key: value for key, value in table.properties.items() if key not in times}
        catalog.create_table(replace(table, properties=properties))
    if plan.added_partitions:
        catalog.add_partitions(table, plan.added_partitions)
    if plan.moved_partitions:
        catalog.move_partitions(table, plan.moved_partitions)
    if plan.dropped_partitions:
        catalog.drop_partitions(table, plan.dropped_partitions)
    if plan.updates_table or (plan.creates_table and plan.added_partitions):
        catalog.update_table(table, cascades=plan.cascades)


def _foreign_warnings(plans: Sequence[CatalogPlan]) -> tuple[str, ...]:
    return tuple(
        f"Partition {', '.join(each.values)} of {plan.table.full_name} stays in the catalog, because its location "
        f"{each.location} is outside of the table."
        for plan in plans
        for each in plan.foreign_partitions
    )


def _report(
    plans: Sequence[CatalogPlan], snapshot: TableSnapshot, settings: CatalogSettings
) -> CatalogReport:
    return CatalogReport(
        catalog=settings.kind.value,
        database_created=any(plan.creates_database for plan in plans),
        synced_commit=snapshot.timeline.completed_writes[-1].requested_time,
        partition_count=sum(1 for path in snapshot.partitions if path),
        tables=tuple(map(_synced_table, plans)),
    )


def _synced_table(plan: CatalogPlan) -> SyncedTable:
    changes: tuple[tuple[str, tuple[CatalogPartition, ...]], ...] = (
        ("added", plan.added_partitions),
        ("moved", plan.moved_partitions),
        ("dropped", plan.dropped_partitions),
    )
    examples = [f"{verb} {each.location}" for verb, partitions in changes for each in partitions[:EXAMPLES]]
    return SyncedTable(
        table=plan.table.full_name,
        created=plan.creates_table,
        columns_added=plan.added_columns,
        columns_changed=plan.changed_columns,
        columns_removed=plan.removed_columns,
        properties_changed=plan.changed_properties,
        partitions_added=len(plan.added_partitions),
        partitions_moved=len(plan.moved_partitions),
        partitions_dropped=len(plan.dropped_partitions),
        partition_examples=tuple(examples[:EXAMPLES]),
    )
