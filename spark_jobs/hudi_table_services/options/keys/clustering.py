"""Keys that clustering reads (HoodieClusteringConfig, HoodieLayoutConfig; Hudi 1.2)."""

from hudi_table_services.model.clustering import (
    LayoutStrategy,
    PartitionFilterMode,
    PlanStrategyKind,
    UpdatesStrategy,
)
from hudi_table_services.options.kinds import Flag, Member, Names, Number, Text, WholeNumber
from hudi_table_services.options.option import AnyOption, OptionGroup, fixed, ignored, option

PLAN_STRATEGY = option(
    "hoodie.clustering.plan.strategy.class",
    "SparkSizeBasedClusteringPlanStrategy",
    "how a plan selects files: the default, SparkSingleFileSortPlanStrategy or CommitBasedClusteringPlanStrategy, "
    "with or without the package name",
    Member(PlanStrategyKind, by_class=True),
    services=(OptionGroup.CLUSTERING,),
)
CLUSTERING_SMALL_FILE_LIMIT = option(
    "hoodie.clustering.plan.strategy.small.file.limit",
    300 << 20,
    "size in bytes below which a file slice is clustered [the size includes log files, multiplied by "
    "`hoodie.logfile.to.parquet.compression.ratio`]",
    WholeNumber(least=1, is_size=True),
    services=(OptionGroup.CLUSTERING,),
)
MAX_BYTES_PER_GROUP = option(
    "hoodie.clustering.plan.strategy.max.bytes.per.group",
    2048 << 20,
    "maximum total size of the files in one group of a plan, in bytes",
    WholeNumber(least=1),
    services=(OptionGroup.CLUSTERING,),
)
MAX_NUM_GROUPS = option(
    "hoodie.clustering.plan.strategy.max.num.groups",
    30,
    "maximum number of groups in a plan [each partition in turn adds its most useful group; Hudi takes the groups in "
    "the order of the listing]",
    WholeNumber(least=1),
    services=(OptionGroup.CLUSTERING,),
)
SINGLE_GROUP_ENABLED = option(
    "hoodie.clustering.plan.strategy.single.group.clustering.enabled",
    True,
    "if `true`, a group may consist of a single file [only if clustering sorts the rows of this file]",
    Flag(),
    services=(OptionGroup.CLUSTERING,),
)
PARTITION_FILTER_MODE = option(
    "hoodie.clustering.plan.partition.filter.mode",
    "NONE",
    "which partitions a plan may contain: NONE (no filter), RECENT_DAYS, SELECTED_PARTITIONS or DAY_ROLLING (a "
    "different 24th of the partitions in each hour of the day)",
    Member(PartitionFilterMode),
    services=(OptionGroup.CLUSTERING,),
)
LOOKBACK_PARTITIONS = option(
    "hoodie.clustering.plan.strategy.daybased.lookback.partitions",
    2,
    "RECENT_DAYS: number of newest partitions to cluster",
    WholeNumber(),
    services=(OptionGroup.CLUSTERING,),
)
SKIP_FROM_LATEST = option(
    "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions",
    0,
    "RECENT_DAYS: number of newest partitions to skip",
    WholeNumber(least=0),
    services=(OptionGroup.CLUSTERING,),
)
BEGIN_PARTITION = option(
    "hoodie.clustering.plan.strategy.cluster.begin.partition",
    "",
    "SELECTED_PARTITIONS: first partition, inclusive",
    Text(),
    services=(OptionGroup.CLUSTERING,),
)
END_PARTITION = option(
    "hoodie.clustering.plan.strategy.cluster.end.partition",
    "",
    "SELECTED_PARTITIONS: last partition, inclusive",
    Text(),
    services=(OptionGroup.CLUSTERING,),
)
SELECTED_PARTITIONS = option(
    "hoodie.clustering.plan.strategy.partition.selected",
    "",
    "paths of the partitions to cluster, `--partitions`",
    Names(),
    services=(OptionGroup.CLUSTERING,),
)
PARTITION_PATTERN = option(
    "hoodie.clustering.plan.strategy.partition.regex.pattern",
    "",
    "regular expression that the whole partition path must match",
    Text(),
    services=(OptionGroup.CLUSTERING,),
)
EARLIEST_COMMIT = option(
    "hoodie.clustering.plan.strategy.earliest.commit.to.cluster",
    "",
    "CommitBasedClusteringPlanStrategy: instant time of a commit; only files that later commits wrote are clustered",
    Text(),
    services=(OptionGroup.CLUSTERING,),
)
SLICES_SORT_BY = option(
    "hoodie.clustering.plan.strategy.file.slices.sort.by",
    "SIZE",
    "with parity: order in which files are added to groups: SIZE, INSTANT_TIME or both",
    Names(allowed=("SIZE", "INSTANT_TIME")),
    services=(OptionGroup.CLUSTERING,),
)
LOG_WEIGHT = option(
    "hoodie.logfile.to.parquet.compression.ratio",
    "0.35",
    "size that the rows of a log file are expected to have in a base file, as a share of the log file's size",
    Number(least=0),
    services=(OptionGroup.CLUSTERING,),
)
SPLIT_ABOVE = option(
    "hoodie.airflow.clustering.split.above.bytes",
    0,
    "ours: minimum size of a file slice that becomes a group of its own and is divided into files of the target size, "
    "for example after a compaction, which cannot divide files; 0 = large files are not rewritten. With parity, this "
    "option has no effect",
    WholeNumber(least=0, is_size=True),
    services=(OptionGroup.CLUSTERING,),
)
CLUSTERING_PARITY = option(
    "hoodie.airflow.clustering.parity",
    False,
    "ours, parity: plans contain the same groups as Hudi's plans, instead of this project's own, better groups",
    Flag(),
    services=(OptionGroup.CLUSTERING,),
)
TARGET_FILE_MAX_BYTES = option(
    "hoodie.clustering.plan.strategy.target.file.max.bytes",
    1024 << 20,
    "target size of the files that a clustering writes, in bytes",
    WholeNumber(least=1, is_size=True),
    services=(OptionGroup.CLUSTERING,),
)
SIZE_TOLERANCE = option(
    "hoodie.airflow.clustering.size.tolerance",
    "0.1",
    "ours: share of the target size by which a file may exceed the target before the rows are split into two files; "
    "with parity, files may not exceed the target",
    Number(least=0, below=1),
    services=(OptionGroup.CLUSTERING,),
)
SORT_COLUMNS = option(
    "hoodie.clustering.plan.strategy.sort.columns",
    "",
    "columns by which clustering sorts the rows, `--sort-columns`",
    Names(),
    services=(OptionGroup.CLUSTERING,),
)
LAYOUT_STRATEGY = option(
    "hoodie.layout.optimize.strategy",
    "LINEAR",
    "order of the rows: LINEAR, ZORDER or HILBERT, `--layout`",
    Member(LayoutStrategy),
    services=(OptionGroup.CLUSTERING,),
)
TASK_MEMORY_BYTES = option(
    "hoodie.airflow.clustering.task.memory.bytes",
    512 << 20,
    "ours: maximum size of Arrow data that a Spark task sorts in memory, in bytes; larger groups are sorted with "
    "the help of temporary files",
    WholeNumber(least=1 << 20, is_size=True),
    services=(OptionGroup.CLUSTERING,),
)
INLINE = option(
    "hoodie.clustering.inline",
    False,
    "if `true`, a plan is scheduled only after at least `hoodie.clustering.inline.max.commits` commits",
    Flag(),
    services=(OptionGroup.CLUSTERING,),
)
SCHEDULE_INLINE = option(
    "hoodie.clustering.schedule.inline",
    False,
    "if `true`, a plan is scheduled only after at least `hoodie.clustering.async.max.commits` commits",
    Flag(),
    services=(OptionGroup.CLUSTERING,),
)
ASYNC = option(
    "hoodie.clustering.async.enabled",
    False,
    "if `true`, a plan is scheduled only after at least `hoodie.clustering.async.max.commits` commits, "
    "`--every-n-commits`",
    Flag(),
    "hoodie.datasource.clustering.async.enable",
    services=(OptionGroup.CLUSTERING,),
)
INLINE_MAX_COMMITS = option(
    "hoodie.clustering.inline.max.commits",
    4,
    "minimum number of commits since the last completed or pending clustering",
    WholeNumber(least=1),
    services=(OptionGroup.CLUSTERING,),
)
ASYNC_MAX_COMMITS = option(
    "hoodie.clustering.async.max.commits",
    4,
    "minimum number of commits since the last completed or pending clustering [Hudi also counts compactions and "
    "clusterings]",
    WholeNumber(least=1),
    services=(OptionGroup.CLUSTERING,),
)
MAX_PENDING_PLANS = option(
    "hoodie.airflow.clustering.max.pending.plans",
    2,
    "ours: maximum number of pending plans; at this number, the job schedules no new plan; 0 = no limit",
    WholeNumber(least=0),
    services=(OptionGroup.CLUSTERING,),
)
GROUPS_PER_PLAN = option(
    "hoodie.airflow.clustering.groups.per.plan",
    0,
    "ours: maximum number of groups per instant, so that a failure affects only the groups of one instant; 0 = all "
    "groups in one instant",
    WholeNumber(least=0),
    services=(OptionGroup.CLUSTERING,),
)
UPDATES_STRATEGY = option(
    "hoodie.clustering.updates.strategy",
    "GiveWayUpdateStrategy",
    "what a write does if it changes file groups of a pending plan: GiveWayUpdateStrategy (ours: the write releases "
    "these file groups from the plan), SparkRejectUpdateStrategy (Hudi's default) or SparkAllowUpdateStrategy",
    Member(UpdatesStrategy, by_class=True),
    services=(OptionGroup.CLUSTERING, OptionGroup.WRITES),
)
ROLLBACK_ON_CONFLICT = option(
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict",
    False,
    "with SparkAllowUpdateStrategy: if `true`, the write rolls the plan back; if `false`, the write is rejected",
    Flag(),
    services=(OptionGroup.CLUSTERING, OptionGroup.WRITES),
)
ENABLE_EXPIRATIONS = option(
    "hoodie.clustering.enable.expirations",
    False,
    "if `true`, a job that schedules a plan first cancels pending plans that are older than "
    "`hoodie.clustering.expiration.threshold.mins` and that no job is executing",
    Flag(),
    services=(OptionGroup.CLUSTERING,),
)
EXPIRATION_MINUTES = option(
    "hoodie.clustering.expiration.threshold.mins",
    60,
    "age in minutes at which an execution without a heartbeat, such as an execution by Hudi, counts as dead, and at "
    "which `hoodie.clustering.enable.expirations` cancels a plan",
    WholeNumber(least=0),
    services=(OptionGroup.CLUSTERING, OptionGroup.WRITES),
)
WAIT_SECONDS = option(
    "hoodie.airflow.clustering.wait.seconds",
    600,
    "ours: maximum time in seconds for which a write, or a second execution of the same plan, waits for a running "
    "execution",
    WholeNumber(least=0),
    services=(OptionGroup.CLUSTERING, OptionGroup.WRITES),
)

CLUSTERING_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Clustering: selected files": (
        PLAN_STRATEGY,
        CLUSTERING_SMALL_FILE_LIMIT,
        MAX_BYTES_PER_GROUP,
        MAX_NUM_GROUPS,
        SINGLE_GROUP_ENABLED,
        PARTITION_FILTER_MODE,
        LOOKBACK_PARTITIONS,
        SKIP_FROM_LATEST,
        BEGIN_PARTITION,
        END_PARTITION,
        SELECTED_PARTITIONS,
        PARTITION_PATTERN,
        EARLIEST_COMMIT,
        SLICES_SORT_BY,
        LOG_WEIGHT,
        SPLIT_ABOVE,
        CLUSTERING_PARITY,
    ),
    "Clustering: written files": (
        TARGET_FILE_MAX_BYTES,
        SIZE_TOLERANCE,
        SORT_COLUMNS,
        LAYOUT_STRATEGY,
        fixed(
            "hoodie.clustering.execution.strategy.class",
            "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy",
            "class that executes plans",
        ),
        fixed(
            "hoodie.clustering.preserve.commit.metadata",
            "true",
            "rows keep the commit time and sequence number of their original commit",
        ),
        TASK_MEMORY_BYTES,
    ),
    "Clustering: schedule and concurrent jobs": (
        INLINE,
        SCHEDULE_INLINE,
        ASYNC,
        INLINE_MAX_COMMITS,
        ASYNC_MAX_COMMITS,
        MAX_PENDING_PLANS,
        GROUPS_PER_PLAN,
        UPDATES_STRATEGY,
        ROLLBACK_ON_CONFLICT,
        ENABLE_EXPIRATIONS,
        EXPIRATION_MINUTES,
        WAIT_SECONDS,
    ),
    "Clustering: no effect": (
        *ignored(
            "the cluster determines how many tasks Spark runs at the same time",
            "hoodie.clustering.max.parallelism",
            "hoodie.clustering.group.read.parallelism",
            "hoodie.clustering.plan.generation.use.local.engine.context",
        ),
        *ignored(
            "every plan considers all partitions, at the cost of one listing",
            "hoodie.table.services.incremental.enabled",
        ),
        *ignored(
            "curves use the rank of each value, so common prefixes and skew have no effect",
            "hoodie.layout.optimize.curve.build.method",
            "hoodie.layout.optimize.build.curve.sample.size",
        ),
        *ignored(
            "clustering always decodes rows, because rows contain the name of their file, and each new file needs a "
            "new bloom filter and new statistics",
            "hoodie.file.stitching.binary.copy.schema.evolution.enable",
        ),
        *ignored(
            "a clustering always checks for running writes when it commits",
            "hoodie.clustering.fail.on.pending.ingestion.during.conflict.resolution",
        ),
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
