"""Check settings, and compare them with the table if the table exists. Nothing is written."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.config_check import CheckConfigRequest, ConfigReport, Severity
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import (
    MalformedMetadataError,
    ObjectNotFoundError,
    UnsafeConfigError,
    UnsupportedTableError,
)
from hudi_table_services.hudi_format.bucket_ids import bucket_number
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.options.keys.writing import INDEX_TYPE, METADATA_ENABLE
from hudi_table_services.options.registry import ALIASES
from hudi_table_services.planning.config_check.check import check_config, check_rule_names
from hudi_table_services.planning.config_check.partition_rules import SELECTORS
from hudi_table_services.planning.config_check.settings import TableFacts
from hudi_table_services.planning.metadata_table.partitioned_record_index import is_partitioned_index
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.pending_plans import planned_file_groups
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_files import list_table
from hudi_table_services.storage.table_store import find_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.metadata_table import used_definitions
from hudi_table_services.tables.secondary_indexes import refused_secondary_index
from hudi_table_services.tables.table import check_name

_LOG = logging.getLogger(__name__)


def check_table_config(request: CheckConfigRequest, *, storage: Storage | None = None) -> JobResult:
    """Check the settings of the request and report the findings; see `ConfigReport`.

    If there is no table at the base path, only the options are checked.

    Raises:
        UnsafeConfigError: a finding is at least as severe as ``fail_on``. The error contains the report.
        HudiTableServiceError: the table cannot be read.
    """
    check_rule_names(request)
    watch = Stopwatch()
    table = None
    if request.base_path:
        with watch.phase("read table"):
            table = _table_facts(storage or open_storage(request.base_path, request.storage_options), request)
    report = check_config(request.options, request.runtime, table, accepted_rules=request.accepted_rules)
    for line in report.lines():
        _LOG.info("%s", line)
    if any(request.fails_with(each.severity) for each in report.findings):
        raise _unsafe(report, request)
    return replace(
        JobResult.of(request, Outcome.COMPLETED),
        table_name=report.table or request.table_name,
        report=report,
        timings_s=watch.seconds,
        warnings=(*_no_table(request, table), *_warnings(report)),
    )


def _warnings(report: ConfigReport) -> tuple[str, ...]:
    findings = [each for each in report.findings if each.severity != Severity.ADVICE.value]
    return tuple(f"{each.rule} ({', '.join(each.options)}): {each.reason} {each.cure}" for each in findings)


def _no_table(request: CheckConfigRequest, table: TableFacts | None) -> tuple[str, ...]:
    if table is not None or not request.base_path:
        return ()
    return (f"There is no table at {request.base_path} yet: only the options were checked.",)


def _unsafe(report: ConfigReport, request: CheckConfigRequest) -> UnsafeConfigError:
    bad = [each for each in report.findings if request.fails_with(each.severity)]
    causes = "; ".join(f"{each.rule} ({', '.join(each.options)}): {each.reason}" for each in bad)
    cures = " ".join(dict.fromkeys(each.cure for each in bad))
    return UnsafeConfigError(f"{report.verdict}. {causes}", hint=cures, evidence=report)


def _table_facts(storage: Storage, request: CheckConfigRequest) -> TableFacts | None:
    config = find_table_config(storage)
    if config is None:
        return None
    check_name(config, request.table_name)
    return _facts(storage, config, request)


def _chooses_partitions(request: CheckConfigRequest) -> bool:
    return any(ALIASES.get(key, key) in SELECTORS for key in request.options)


def _facts(storage: Storage, config: TableConfig, request: CheckConfigRequest) -> TableFacts:
    try:
        store = TimelineStore(storage, config, SystemClock())
    except UnsupportedTableError:
        # Return only the properties. The check finds the unknown table version in the properties and reports it.
        return TableFacts(properties=config.properties)
    timeline = store.load()
    planned = {i.requested_time: _planned_partitions(store, i) for i in timeline.pending}
    definitions: Mapping[str, IndexDefinition] = {}
    damage = cure = ""
    try:
        definitions = used_definitions(storage, config.metadata_partitions, config.table_version)
    except MalformedMetadataError as error:
        damage, cure = error.message, error.hint
    numbers = _bucket_numbers(store, timeline) if INDEX_TYPE.key in request.options else set()
    return TableFacts(
        properties=config.properties,
        active_commits=len(timeline.completed_writes),
        pending_plans={time: paths for time, paths in planned.items() if paths},
        partitions=_partitions(storage, config, timeline, request) if _chooses_partitions(request) else None,
        has_partitioned_record_index=(
            RECORD_INDEX in config.metadata_partitions and is_partitioned_index(definitions)
        ),
        definitions_damage=damage,
        definitions_cure=cure,
        refused_secondary_index="" if damage else refused_secondary_index(storage, config),
        bucket_numbers=frozenset(number for number in numbers if number is not None),
        has_other_file_ids=None in numbers,
    )


def _bucket_numbers(store: TimelineStore, timeline: Timeline) -> set[int | None]:
    """Return the bucket numbers in the file ids of the newest write, and None if a file id has no number."""
    if not timeline.completed_writes:
        return set()
    metadata = store.commit_metadata(timeline.completed_writes[-1])
    return {bucket_number(stat.file_id) for stat in metadata.write_stats}


def _partitions(
    storage: Storage, config: TableConfig, timeline: Timeline, request: CheckConfigRequest
) -> tuple[str, ...]:
    # The check itself reports values that are neither true nor false.
    enable = request.options.get(METADATA_ENABLE.key, "").strip().lower() != "false"
    listing = list_table(storage, config, timeline, SystemClock(), metadata_enable=enable)
    return tuple(sorted(listing.files))


def _planned_partitions(store: TimelineStore, instant: Instant) -> frozenset[str]:
    """Return the partitions of a pending plan; an empty set if the instant has no plan, or if the plan is missing."""
    try:
        return frozenset(group.partition_path for group in planned_file_groups(store, instant))
    except ObjectNotFoundError:
        return frozenset()
