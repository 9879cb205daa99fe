"""Rules about sizes of files, clustering, cleaning and archival."""

from collections.abc import Iterator

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.contract.text import counted
from hudi_table_services.options.keys.archival import MAX_COMMITS, MIN_COMMITS
from hudi_table_services.options.keys.base_files import BLOCK_SIZE
from hudi_table_services.options.keys.cleaning import (
    CLEAN_POLICY,
    COMMITS_RETAINED,
    FILE_VERSIONS_RETAINED,
    FLOOR_HOURS,
    HOURS_RETAINED,
    INCREMENTAL,
    PARTITION_REGEX,
)
from hudi_table_services.options.keys.clustering import (
    ASYNC,
    CLUSTERING_SMALL_FILE_LIMIT,
    INLINE,
    MAX_BYTES_PER_GROUP,
    SCHEDULE_INLINE,
    TARGET_FILE_MAX_BYTES,
)
from hudi_table_services.options.keys.writing import MAX_FILE_SIZE, OPERATION, SMALL_FILE_LIMIT
from hudi_table_services.planning.config_check.settings import Problem, Settings, config_rule

_MAX_SIZE, _SMALL_LIMIT = MAX_FILE_SIZE.key, SMALL_FILE_LIMIT.key
_BLOCK = BLOCK_SIZE.key
_TARGET, _CLUSTERING_LIMIT = TARGET_FILE_MAX_BYTES.key, CLUSTERING_SMALL_FILE_LIMIT.key
_GROUP = MAX_BYTES_PER_GROUP.key
_CLUSTERING_SWITCHES = (
    INLINE.key,
    SCHEDULE_INLINE.key,
    ASYNC.key,
)
_ROW_WRITER = "hoodie.datasource.write.row.writer.enable"
_MIN, _MAX = MIN_COMMITS.key, MAX_COMMITS.key
_POLICY, _COMMITS = CLEAN_POLICY.key, COMMITS_RETAINED.key
_HOURS, _VERSIONS = HOURS_RETAINED.key, FILE_VERSIONS_RETAINED.key
_FLOOR = FLOOR_HOURS.key
_INCREMENTAL = INCREMENTAL.key
_REGEX = PARTITION_REGEX.key
_OPERATION = OPERATION.key
_MAX_SIZE_RATIO = 2.0
_MIB = 1 << 20


@config_rule(
    "archival-before-cleaning",
    Severity.ERROR,
    "archival may archive commits before cleaning has processed them; later cleans do not find archived commits, so "
    "outdated files stay. The finding is a warning if only Hudi's jobs read the options, because Hudi raises "
    f"{_MIN} by itself",
    source="HoodieWriteConfig.validate; apache/hudi#1531, apache/hudi#2564, apache/hudi#7600",
)
def _archival_before_cleaning(settings: Settings) -> Iterator[Problem]:
    least, retained = settings.number(_MIN), settings.number(_COMMITS)
    if _clean_policy(settings) != "KEEP_LATEST_COMMITS" or least is None or retained is None:
        return
    if least <= retained:
        yield Problem(
            keys=(_MIN, _COMMITS),
            reason=f"Archival may leave only {counted(least, 'commit', 'g')} on the active timeline, but cleaning "
            f"retains the files of {counted(retained, 'commit', 'g')}.",
            cure=f"Set {_MIN} above {retained:g} and {_MAX} above {_MIN}, or retain fewer commits.",
            severity=Severity.ERROR if settings.facts.is_native else Severity.WARNING,
        )


@config_rule(
    "archival-before-hours",
    Severity.WARNING,
    "cleaning retains the commits of a number of hours, and archival may archive some of these commits",
    source="HoodieArchivalConfig; apache/hudi#7600",
)
def _archival_before_hours(settings: Settings) -> Iterator[Problem]:
    daily, hours, least = settings.facts.commits_per_day, settings.number(_HOURS), settings.number(_MIN)
    if _clean_policy(settings) != "KEEP_LATEST_BY_HOURS":
        return
    if daily is None or hours is None or least is None:
        return
    covered = daily * hours / 24
    if least <= covered:
        yield Problem(
            keys=(_MIN, _HOURS),
            facts=("commits_per_day",),
            reason=f"Cleaning retains {counted(hours, 'hour', 'g')}, in which the table gets about "
            f"{counted(round(covered), 'commit')}, but archival may leave only {counted(least, 'commit', 'g')} on the "
            "active timeline.",
            cure=f"Set {_MIN} above {covered:.0f} and {_MAX} above {_MIN}.",
        )


@config_rule(
    "archival-bounds",
    Severity.ERROR,
    "the minimum number of commits that archival keeps is not smaller than the maximum",
    source="HoodieWriteConfig.validate",
)
def _archival_bounds(settings: Settings) -> Iterator[Problem]:
    least, most = settings.number(_MIN), settings.number(_MAX)
    if least is not None and most is not None and least >= most:
        yield Problem(
            keys=(_MIN, _MAX),
            reason=f"The minimum is {counted(least, 'commit', 'g')} and the maximum is {most:g}; the minimum must be "
            "smaller.",
            cure="Raise the maximum, or lower the minimum.",
        )


@config_rule(
    "clean-before-queries",
    Severity.ERROR,
    "cleaning may delete files that the longest query still reads",
    source="apache/hudi#5020, apache/hudi#8584, apache/hudi#12634",
)
def _clean_before_queries(settings: Settings) -> Iterator[Problem]:
    query = settings.facts.longest_query_hours
    kept = _hours_kept(settings)
    if query is None or kept is None or kept[0] >= query:
        return
    hours, key = kept
    floor = (_FLOOR,) if settings.facts.is_native else ()
    raised = f", or {_FLOOR} if only jobs of this project clean the table" if floor else ""
    yield Problem(
        keys=(key, *floor),
        facts=("longest_query_hours", *(("commits_per_day",) if key == _COMMITS else ())),
        reason=f"Files stay readable for about {counted(hours, 'hour', 'g')}, but queries run for up to "
        f"{counted(query, 'hour', 'g')}.",
        cure=f"Raise {key}{raised}.",
    )


def _clean_policy(settings: Settings) -> str:
    """Return the policy in the options, or else the policy of the only retention option set, or else the default."""
    if settings.has(_POLICY):
        return settings.text(_POLICY).upper()
    by_key = {
        _COMMITS: "KEEP_LATEST_COMMITS",
        _HOURS: "KEEP_LATEST_BY_HOURS",
        _VERSIONS: "KEEP_LATEST_FILE_VERSIONS",
    }
    given = [policy for key, policy in by_key.items() if settings.has(key)]
    return given[0] if len(given) == 1 else "KEEP_LATEST_COMMITS"


def _hours_kept(settings: Settings) -> tuple[float, str] | None:
    """Return the hours for which cleaning keeps the files of a query, and the key that sets them; None if unknown."""
    policy = _clean_policy(settings)
    # Hudi's own cleaner has no minimum number of hours.
    floor = 0.0 if settings.facts.is_hudi else settings.number(_FLOOR) or 0.0
    if policy == "KEEP_LATEST_BY_HOURS":
        hours = settings.number(_HOURS)
        return None if hours is None else (max(hours, floor), _HOURS)
    daily, commits = settings.facts.commits_per_day, settings.number(_COMMITS)
    if policy != "KEEP_LATEST_COMMITS" or not daily or commits is None:
        return None
    return max(commits * 24 / daily, floor), _COMMITS


@config_rule(
    "clean-regex-incremental",
    Severity.WARNING,
    "incremental cleaning is on, so Hudi's cleaner ignores the pattern that selects partitions",
    source="CleanPlanner; apache/hudi#17550",
    engines="hudi",
)
def _clean_regex_incremental(settings: Settings) -> Iterator[Problem]:
    if settings.has(_REGEX) and settings.is_on(_INCREMENTAL):
        yield Problem(
            keys=(_REGEX, _INCREMENTAL),
            reason="Incremental cleaning selects partitions from the timeline and ignores the pattern.",
            cure=f"Set {_INCREMENTAL}=false for this run, or leave the pattern out.",
        )


@config_rule(
    "small-limit-above-max",
    Severity.WARNING,
    "the small-file limit is not below the maximum file size, so full files count as small, and inserts rewrite them",
    source="HoodieStorageConfig, HoodieCompactionConfig",
)
def _small_limit_above_max(settings: Settings) -> Iterator[Problem]:
    largest, limit = settings.number(_MAX_SIZE), settings.number(_SMALL_LIMIT)
    # If only the maximum file size is set, jobs of this project lower the small-file limit to match; Hudi does not.
    follows = not settings.has(_SMALL_LIMIT) and not settings.facts.is_hudi
    if largest is not None and limit is not None and not follows and limit >= largest:
        yield Problem(
            keys=(_SMALL_LIMIT, _MAX_SIZE),
            reason=f"Inserts go to files below {limit / _MIB:g} MiB, and no file becomes larger than "
            f"{largest / _MIB:g} MiB.",
            cure=f"Set {_SMALL_LIMIT} to about five sixths of {_MAX_SIZE}: {largest * 5 // 6:.0f}.",
        )


@config_rule(
    "block-below-file-size",
    Severity.WARNING,
    "the maximum file size is above the size of a Parquet row group: Hudi's files then stay smaller than the maximum, "
    "or contain several row groups",
    source="apache/hudi#5047, apache/hudi#5129",
    engines="hudi",
)
def _block_below_file_size(settings: Settings) -> Iterator[Problem]:
    largest, block = settings.number(_MAX_SIZE), settings.number(_BLOCK)
    if largest is not None and block is not None and settings.has(_MAX_SIZE) and block < largest:
        yield Problem(
            keys=(_BLOCK, _MAX_SIZE),
            reason=f"The maximum file size is {largest / _MIB:g} MiB, but row groups have {block / _MIB:g} MiB.",
            cure=f"Set {_BLOCK} to the value of {_MAX_SIZE}.",
        )


@config_rule(
    "bulk-insert-small-files",
    Severity.WARNING,
    "bulk_insert pads no small files, and no option switches on clustering",
    source="apache/hudi#5822",
)
def _bulk_insert_small_files(settings: Settings) -> Iterator[Problem]:
    if settings.operation != "bulk_insert" or any(map(settings.is_on, _CLUSTERING_SWITCHES)):
        return
    yield Problem(
        keys=(_OPERATION, *((_SMALL_LIMIT,) if settings.has(_SMALL_LIMIT) else ())),
        reason="Each bulk_insert creates new files, and no later bulk_insert pads them.",
        cure="Cluster the table after some commits, or use insert, which pads small files.",
        severity=Severity.WARNING if settings.facts.is_hudi else Severity.ADVICE,
    )


@config_rule(
    "clustering-target-small",
    Severity.ERROR,
    "the files that clustering writes would count as small in the next clustering",
    source="HoodieClusteringConfig; apache/hudi#7232",
)
def _clustering_target_small(settings: Settings) -> Iterator[Problem]:
    target, limit = settings.number(_TARGET), settings.number(_CLUSTERING_LIMIT)
    if target is None or limit is None or target > limit:
        return
    # Jobs of this project accept a target size that is equal to the small-file limit.
    if target < limit or settings.facts.is_hudi:
        yield Problem(
            keys=(_TARGET, _CLUSTERING_LIMIT),
            reason=f"New files have {target / _MIB:g} MiB, but files below {limit / _MIB:g} MiB are clustered again.",
            cure="Raise the target, or lower the small-file limit.",
            severity=Severity.WARNING if target == limit else Severity.ERROR,
        )


@config_rule(
    "clustering-target-above-group",
    Severity.WARNING,
    "the maximum size of a clustering group is below the target size of a file",
    source="HoodieClusteringConfig; apache/hudi#13281",
)
def _clustering_target_above_group(settings: Settings) -> Iterator[Problem]:
    target, group = settings.number(_TARGET), settings.number(_GROUP)
    if target is not None and group is not None and target > group:
        yield Problem(
            keys=(_TARGET, _GROUP),
            reason=f"A group has at most {group / _MIB:g} MiB, so its files never reach {target / _MIB:g} MiB.",
            cure=f"Raise {_GROUP} to a multiple of the target, or lower the target.",
        )


@config_rule(
    "sizes-disagree",
    Severity.ADVICE,
    "the writer and clustering have very different target sizes of files",
    source="apache/hudi#13281",
)
def _sizes_disagree(settings: Settings) -> Iterator[Problem]:
    largest, target = settings.number(_MAX_SIZE), settings.number(_TARGET)
    if not largest or not target or not (settings.has(_MAX_SIZE) and settings.has(_TARGET)):
        return
    if max(largest / target, target / largest) > _MAX_SIZE_RATIO:
        yield Problem(
            keys=(_MAX_SIZE, _TARGET),
            reason=f"Writes create files of {largest / _MIB:g} MiB, but clustering creates files of "
            f"{target / _MIB:g} MiB.",
            cure="Set both sizes to the same value, unless you want larger files and the executors have enough memory.",
        )


@config_rule(
    "row-writer-implicit",
    Severity.ADVICE,
    "no option sets whether Hudi's clustering uses the row writer; the default depends on the release and on how "
    "clustering is started",
    source="apache/hudi#19592",
    engines="hudi",
)
def _row_writer_implicit(settings: Settings) -> Iterator[Problem]:
    clusters = [key for key in settings.options if key.startswith("hoodie.clustering.")]
    if clusters and not settings.has(_ROW_WRITER):
        yield Problem(
            keys=tuple(sorted(clusters)[:1]),
            reason=f"{_ROW_WRITER} is not set, and its default differs between Hudi's procedure, job and writer.",
            cure=f"Set {_ROW_WRITER} to true or false.",
        )


UPKEEP_RULES = (
    _archival_before_cleaning,
    _archival_before_hours,
    _archival_bounds,
    _clean_before_queries,
    _clean_regex_incremental,
    _small_limit_above_max,
    _block_below_file_size,
    _bulk_insert_small_files,
    _clustering_target_small,
    _clustering_target_above_group,
    _sizes_disagree,
    _row_writer_implicit,
)
