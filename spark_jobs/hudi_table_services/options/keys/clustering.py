"""Keys that clustering reads (HoodieClusteringConfig, HoodieLayoutConfig; Hudi 1.2)."""

from hudi_table_services.model.clustering import (
    LayoutStrategy,
    PartitionFilterMode,
    PlanStrategyKind,
    UpdatesStrategy,
)
from hudi_table_services.options.kinds import Flag, Member, Names, Number, Text, WholeNumber
from hudi_table_services.options.option import AnyOption, Service, fixed, ignored, option

PLAN_STRATEGY = option(
    "hoodie.clustering.plan.strategy.class",
    "SparkSizeBasedClusteringPlanStrategy",
    "that, SparkSingleFileSortPlanStrategy or CommitBasedClusteringPlanStrategy; also with their package",
    Member(PlanStrategyKind, by_class=True),
    services=(Service.CLUSTERING,),
)
CLUSTERING_SMALL_FILE_LIMIT = option(
    "hoodie.clustering.plan.strategy.small.file.limit",
    300 << 20,
    "smaller files are clustered, bytes [logs count by `hoodie.logfile.to.parquet.compression.ratio`]",
    WholeNumber(least=1),
    services=(Service.CLUSTERING,),
)
MAX_BYTES_PER_GROUP = option(
    "hoodie.clustering.plan.strategy.max.bytes.per.group",
    2048 << 20,
    "most bytes rewritten together",
    WholeNumber(least=1),
    services=(Service.CLUSTERING,),
)
MAX_NUM_GROUPS = option(
    "hoodie.clustering.plan.strategy.max.num.groups",
    30,
    "groups of a plan [the most useful ones, in turn by partition; Hudi: the first ones in the listing]",
    WholeNumber(least=1),
    services=(Service.CLUSTERING,),
)
SINGLE_GROUP_ENABLED = option(
    "hoodie.clustering.plan.strategy.single.group.clustering.enabled",
    True,
    "a file may be a group alone [only if that brings its rows in order]",
    Flag(),
    services=(Service.CLUSTERING,),
)
PARTITION_FILTER_MODE = option(
    "hoodie.clustering.plan.partition.filter.mode",
    "NONE",
    "NONE, RECENT_DAYS, SELECTED_PARTITIONS, DAY_ROLLING",
    Member(PartitionFilterMode),
    services=(Service.CLUSTERING,),
)
LOOKBACK_PARTITIONS = option(
    "hoodie.clustering.plan.strategy.daybased.lookback.partitions",
    2,
    "RECENT_DAYS: number of newest partitions to cluster",
    WholeNumber(),
    services=(Service.CLUSTERING,),
)
SKIP_FROM_LATEST = option(
    "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions",
    0,
    "RECENT_DAYS: number of newest partitions to skip",
    WholeNumber(least=0),
    services=(Service.CLUSTERING,),
)
BEGIN_PARTITION = option(
    "hoodie.clustering.plan.strategy.cluster.begin.partition",
    "",
    "SELECTED_PARTITIONS: first partition, inclusive",
    Text(),
    services=(Service.CLUSTERING,),
)
END_PARTITION = option(
    "hoodie.clustering.plan.strategy.cluster.end.partition",
    "",
    "SELECTED_PARTITIONS: last partition, inclusive",
    Text(),
    services=(Service.CLUSTERING,),
)
SELECTED_PARTITIONS = option(
    "hoodie.clustering.plan.strategy.partition.selected",
    "",
    "these partitions only, `--partitions`",
    Names(),
    services=(Service.CLUSTERING,),
)
PARTITION_PATTERN = option(
    "hoodie.clustering.plan.strategy.partition.regex.pattern",
    "",
    "pattern that the whole partition path must fit",
    Text(),
    services=(Service.CLUSTERING,),
)
EARLIEST_COMMIT = option(
    "hoodie.clustering.plan.strategy.earliest.commit.to.cluster",
    "",
    "commit-based: files of later commits, this one excluded",
    Text(),
    services=(Service.CLUSTERING,),
)
SLICES_SORT_BY = option(
    "hoodie.clustering.plan.strategy.file.slices.sort.by",
    "SIZE",
    "parity: SIZE, INSTANT_TIME or both",
    Names(allowed=("SIZE", "INSTANT_TIME")),
    services=(Service.CLUSTERING,),
)
LOG_WEIGHT = option(
    "hoodie.logfile.to.parquet.compression.ratio",
    "0.35",
    "bytes of base file that a byte of log becomes",
    Number(least=0),
    services=(Service.CLUSTERING,),
)
CLUSTERING_PARITY = option(
    "hoodie.airflow.clustering.parity",
    False,
    "ours: Hudi's own groups instead of the better ones",
    Flag(),
    services=(Service.CLUSTERING,),
)
TARGET_FILE_MAX_BYTES = option(
    "hoodie.clustering.plan.strategy.target.file.max.bytes",
    1024 << 20,
    "bytes a file should have",
    WholeNumber(least=1),
    services=(Service.CLUSTERING,),
)
SIZE_TOLERANCE = option(
    "hoodie.airflow.clustering.size.tolerance",
    "0.1",
    "ours: share by which a file may pass the target before it is split in two; parity has none",
    Number(least=0, below=1),
    services=(Service.CLUSTERING,),
)
SORT_COLUMNS = option(
    "hoodie.clustering.plan.strategy.sort.columns",
    "",
    "rows are sorted by these columns, `--sort-columns`",
    Names(),
    services=(Service.CLUSTERING,),
)
LAYOUT_STRATEGY = option(
    "hoodie.layout.optimize.strategy",
    "LINEAR",
    "LINEAR, ZORDER or HILBERT, `--layout`",
    Member(LayoutStrategy),
    services=(Service.CLUSTERING,),
)
TASK_MEMORY_BYTES = option(
    "hoodie.airflow.clustering.task.memory.bytes",
    512 << 20,
    "ours: Arrow bytes that a Spark task sorts at once; larger groups go through files",
    WholeNumber(least=1 << 20),
    services=(Service.CLUSTERING,),
)
INLINE = option(
    "hoodie.clustering.inline",
    False,
    "scheduling waits for inline.max.commits",
    Flag(),
    services=(Service.CLUSTERING,),
)
SCHEDULE_INLINE = option(
    "hoodie.clustering.schedule.inline",
    False,
    "scheduling waits for async.max.commits",
    Flag(),
    services=(Service.CLUSTERING,),
)
ASYNC = option(
    "hoodie.clustering.async.enabled",
    False,
    "scheduling waits for async.max.commits, `--every-n-commits`",
    Flag(),
    "hoodie.datasource.clustering.async.enable",
    services=(Service.CLUSTERING,),
)
INLINE_MAX_COMMITS = option(
    "hoodie.clustering.inline.max.commits",
    4,
    "commits since the last clustering, completed or pending",
    WholeNumber(least=1),
    services=(Service.CLUSTERING,),
)
ASYNC_MAX_COMMITS = option(
    "hoodie.clustering.async.max.commits",
    4,
    "the same [Hudi counts compactions and clusterings too]",
    WholeNumber(least=1),
    services=(Service.CLUSTERING,),
)
MAX_PENDING_PLANS = option(
    "hoodie.airflow.clustering.max.pending.plans",
    2,
    "ours: no new plan while as many wait; 0 = no cap",
    WholeNumber(least=0),
    services=(Service.CLUSTERING,),
)
GROUPS_PER_PLAN = option(
    "hoodie.airflow.clustering.groups.per.plan",
    0,
    "ours: groups of one instant; what has failed then loses only its own; 0 = all in one",
    WholeNumber(least=0),
    services=(Service.CLUSTERING,),
)
UPDATES_STRATEGY = option(
    "hoodie.clustering.updates.strategy",
    "GiveWayUpdateStrategy",
    "what a write does to a pending plan for its file groups: ours, SparkRejectUpdateStrategy "
    "(Hudi's default) or SparkAllowUpdateStrategy",
    Member(UpdatesStrategy, by_class=True),
    services=(Service.CLUSTERING, Service.WRITES),
)
ROLLBACK_ON_CONFLICT = option(
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict",
    False,
    "with SparkAllowUpdateStrategy: the write rolls the plan back; without, the write is rejected",
    Flag(),
    services=(Service.CLUSTERING, Service.WRITES),
)
ENABLE_EXPIRATIONS = option(
    "hoodie.clustering.enable.expirations",
    False,
    "scheduling cancels plans that no execution finished",
    Flag(),
    services=(Service.CLUSTERING,),
)
EXPIRATION_MINUTES = option(
    "hoodie.clustering.expiration.threshold.mins",
    60,
    "age at which a plan under execution without a heartbeat counts as abandoned",
    WholeNumber(least=0),
    services=(Service.CLUSTERING, Service.WRITES),
)
WAIT_SECONDS = option(
    "hoodie.airflow.clustering.wait.seconds",
    600,
    "ours: how long a write, or another execution, waits for a plan that is being executed",
    WholeNumber(least=0),
    services=(Service.CLUSTERING, Service.WRITES),
)

CLUSTERING_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Clustering: which files": (
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
        CLUSTERING_PARITY,
    ),
    "Clustering: what they become": (
        TARGET_FILE_MAX_BYTES,
        SIZE_TOLERANCE,
        SORT_COLUMNS,
        LAYOUT_STRATEGY,
        fixed(
            "hoodie.clustering.execution.strategy.class",
            "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy",
            "how plans are carried out",
        ),
        fixed(
            "hoodie.clustering.preserve.commit.metadata",
            "true",
            "rows keep the time and number of their commit",
        ),
        TASK_MEMORY_BYTES,
    ),
    "Clustering: when, and beside whom": (
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
            "Spark runs as many tasks as the cluster has room for",
            "hoodie.clustering.max.parallelism",
            "hoodie.clustering.group.read.parallelism",
            "hoodie.clustering.plan.generation.use.local.engine.context",
        ),
        *ignored(
            "the planner checks every partition, which costs one listing",
            "hoodie.table.services.incremental.enabled",
        ),
        *ignored(
            "curves go by the rank of each value, which neither prefix nor skew disturbs",
            "hoodie.layout.optimize.curve.build.method",
            "hoodie.layout.optimize.build.curve.sample.size",
        ),
        *ignored(
            "rows are always decoded, so that every file gets its own name, filter and statistics",
            "hoodie.file.stitching.binary.copy.schema.evolution.enable",
        ),
        *ignored(
            "running writes are always checked for when a clustering commits",
            "hoodie.clustering.fail.on.pending.ingestion.during.conflict.resolution",
        ),
    ),
}
"""Keys by heading, in the order of the documentation."""
