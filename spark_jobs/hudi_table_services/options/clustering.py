"""From Hudi's keys to the typed options of clustering jobs."""

from hudi_table_services.contract.clustering import ClusteringRequest, ScheduleClusteringRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import (
    ClusteringOptions,
    CommitGate,
    Layout,
    LayoutStrategy,
    PartitionFilterMode,
    PlanStrategyKind,
)
from hudi_table_services.options.clustering_job_options import DEFAULT_TASK_MEMORY_BYTES, ClusteringJobOptions
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.options.option import Service
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import (
    base_file_options,
    metadata_enable,
    obeyed_options,
    says_the_same,
    staging_path,
)

_KEY = "hoodie.clustering."
_STRATEGY = f"{_KEY}plan.strategy."
SORT_COLUMNS = f"{_STRATEGY}sort.columns"
LAYOUT = "hoodie.layout.optimize.strategy"
TARGET = f"{_STRATEGY}target.file.max.bytes"
_SELECTED = f"{_STRATEGY}partition.selected"
_INLINE, _SCHEDULE_INLINE, _ASYNC = f"{_KEY}inline", f"{_KEY}schedule.inline", f"{_KEY}async.enabled"
_INLINE_COMMITS, _ASYNC_COMMITS = f"{_KEY}inline.max.commits", f"{_KEY}async.max.commits"
_GIB, _MIB = 1 << 30, 1 << 20


def resolve_clustering_options(request: JobRequest) -> ClusteringJobOptions:
    """Check all keys of a clustering request and give them types.

    Raises:
        InvalidRequestError: names the key, its value and what is allowed; or both keys of a contradiction.
    """
    obeyed, warnings = obeyed_options(_with_typed_arguments(request), Service.CLUSTERING)
    reader = OptionReader(obeyed)
    plan = _plan_options(reader)
    return ClusteringJobOptions(
        plan=plan,
        gates=_gates(reader),
        names_target=TARGET in reader,
        base_files=base_file_options(reader),
        task_memory_bytes=reader.whole_number(
            "hoodie.airflow.clustering.task.memory.bytes", DEFAULT_TASK_MEMORY_BYTES, least=1 << 20
        ),
        expires_after_minutes=reader.whole_number(f"{_KEY}expiration.threshold.mins", 60, least=0),
        cancels_expired=reader.flag(f"{_KEY}enable.expirations", False),
        wait_seconds=reader.whole_number("hoodie.airflow.clustering.wait.seconds", 600, least=0),
        lock=LockOptions.of(obeyed),
        metadata_enable=metadata_enable(reader),
        staging_path=staging_path(reader),
        hoodie_options=obeyed,
        warnings=(*warnings, *_idle(reader, plan)),
    )


_READ_BY_MODE = {
    f"{_STRATEGY}daybased.lookback.partitions": (PartitionFilterMode.RECENT_DAYS, "2"),
    f"{_STRATEGY}daybased.skipfromlatest.partitions": (PartitionFilterMode.RECENT_DAYS, "0"),
    f"{_STRATEGY}cluster.begin.partition": (PartitionFilterMode.SELECTED_PARTITIONS, ""),
    f"{_STRATEGY}cluster.end.partition": (PartitionFilterMode.SELECTED_PARTITIONS, ""),
}
"""Keys that one mode reads, with their defaults."""


def _idle(reader: OptionReader, plan: ClusteringOptions) -> list[str]:
    """Keys that mean nothing beside the others, each with the reason."""
    mode = plan.partition_filter_mode
    told = [
        f"{key} has no effect: {_KEY}plan.partition.filter.mode is {mode.value}, and only {needed.value} reads it."
        for key, (needed, default) in _READ_BY_MODE.items()
        if mode is not needed and reader.text(key) not in ("", default)
    ]
    if plan.layout.strategy is not LayoutStrategy.LINEAR and not plan.layout.columns:
        told.append(f"{LAYOUT} has no effect: there are no sort columns.")
    return told


def _with_typed_arguments(request: JobRequest) -> dict[str, str]:
    """The options with the request's own fields as keys; a field and a key that disagree are a contradiction."""
    options = dict(request.options)
    typed = {"hoodie.table.name": request.table_name}
    if isinstance(request, ScheduleClusteringRequest | ClusteringRequest):
        typed[SORT_COLUMNS] = ",".join(request.sort_columns)
        typed[LAYOUT] = request.layout
        typed[_SELECTED] = ",".join(request.partitions)
        if request.every_n_commits:
            typed[_ASYNC] = "true"
            typed[_ASYNC_COMMITS] = str(request.every_n_commits)
    for key, value in typed.items():
        if value and not _agrees(options.setdefault(key, value), value):
            raise InvalidRequestError(
                f"The request says {value!r}, and its option {key} says {options[key]!r}."
            )
    return options


def _agrees(given: str, value: str) -> bool:
    return says_the_same(given, value) or given.strip().lower() == value.lower()


def _plan_options(reader: OptionReader) -> ClusteringOptions:
    parity = reader.flag("hoodie.airflow.clustering.parity", False)
    return ClusteringOptions(
        plan_strategy=reader.by_class(f"{_STRATEGY}class", PlanStrategyKind, PlanStrategyKind.SIZE_BASED),
        layout=_layout(reader),
        small_file_limit_bytes=_bytes(reader, "small.file.limit", 300 * _MIB),
        target_file_max_bytes=_bytes(reader, "target.file.max.bytes", _GIB),
        max_bytes_per_group=_bytes(reader, "max.bytes.per.group", 2 * _GIB),
        max_num_groups=reader.whole_number(f"{_STRATEGY}max.num.groups", 30, least=1),
        single_group_enabled=reader.flag(f"{_STRATEGY}single.group.clustering.enabled", True),
        partition_filter_mode=reader.enum(
            f"{_KEY}plan.partition.filter.mode", PartitionFilterMode, PartitionFilterMode.NONE
        ),
        lookback_partitions=reader.whole_number(f"{_STRATEGY}daybased.lookback.partitions", 2),
        skip_from_latest=reader.whole_number(f"{_STRATEGY}daybased.skipfromlatest.partitions", 0, least=0),
        begin_partition=reader.text(f"{_STRATEGY}cluster.begin.partition"),
        end_partition=reader.text(f"{_STRATEGY}cluster.end.partition"),
        selected_partitions=reader.names(_SELECTED),
        partition_pattern=reader.text(f"{_STRATEGY}partition.regex.pattern"),
        earliest_commit=reader.text(f"{_STRATEGY}earliest.commit.to.cluster"),
        slices_sort_by=_slices_sort_by(reader),
        parity=parity,
        log_weight=reader.number("hoodie.logfile.to.parquet.compression.ratio", 0.35, above=-1e-300),
        size_tolerance=0.0
        if parity
        else reader.number("hoodie.airflow.clustering.size.tolerance", 0.1, above=-1e-300, below=1),
        groups_per_plan=reader.whole_number("hoodie.airflow.clustering.groups.per.plan", 0, least=0),
        max_pending_plans=reader.whole_number("hoodie.airflow.clustering.max.pending.plans", 2, least=0),
    )


def _bytes(reader: OptionReader, name: str, default: int) -> int:
    return reader.whole_number(_STRATEGY + name, default, least=1)


def _layout(reader: OptionReader) -> Layout:
    columns = reader.names(SORT_COLUMNS)
    if len(set(columns)) < len(columns):
        raise InvalidRequestError(f"{SORT_COLUMNS}={reader.text(SORT_COLUMNS)} names a column twice.")
    strategy = reader.enum(LAYOUT, LayoutStrategy, LayoutStrategy.LINEAR)
    return Layout(columns=columns, strategy=strategy)


def _slices_sort_by(reader: OptionReader) -> tuple[str, ...]:
    key = f"{_STRATEGY}file.slices.sort.by"
    names = tuple(name.upper() for name in reader.names(key)) or ("SIZE",)
    if not set(names) <= {"SIZE", "INSTANT_TIME"}:
        raise InvalidRequestError(
            f"{key}={reader.text(key)} is not supported.", hint="Use SIZE, INSTANT_TIME or both."
        )
    return names


def _gates(reader: OptionReader) -> tuple[CommitGate, ...]:
    """Each switch has its own number of commits, and all that are on must be satisfied, as in Hudi's scheduler."""
    inline, schedule_inline = reader.flag(_INLINE, False), reader.flag(_SCHEDULE_INLINE, False)
    if inline and schedule_inline:
        raise InvalidRequestError(
            f"{_INLINE}=true and {_SCHEDULE_INLINE}=true contradict each other.",
            hint="Leave one of them out.",
        )
    gates = []
    if inline:
        gates.append(_gate(reader, _INLINE_COMMITS))
    if schedule_inline or reader.flag(_ASYNC, False):
        gates.append(_gate(reader, _ASYNC_COMMITS))
    return tuple(gates)


def _gate(reader: OptionReader, key: str) -> CommitGate:
    return CommitGate(wanted=reader.whole_number(key, 4, least=1), key=key)
