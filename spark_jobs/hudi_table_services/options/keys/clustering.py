"""Hudi keys that clustering obeys (HoodieClusteringConfig, HoodieLayoutConfig; Hudi 1.2)."""

from hudi_table_services.options.option import KnownOption, Service, fixed, honoured, ignored

_KEY = "hoodie.clustering."
_STRATEGY = f"{_KEY}plan.strategy."


def _clustering(key: str, default: str, meaning: str, *aliases: str) -> KnownOption:
    return honoured(key, default, meaning, *aliases, services=(Service.CLUSTERING,))


def _both(key: str, default: str, meaning: str) -> KnownOption:
    return honoured(key, default, meaning, services=(Service.CLUSTERING, Service.WRITES))


CLUSTERING_OPTIONS: dict[str, tuple[KnownOption, ...]] = {
    "Clustering: which files": (
        _clustering(
            f"{_STRATEGY}class",
            "SparkSizeBasedClusteringPlanStrategy",
            "that, SparkSingleFileSortPlanStrategy or CommitBasedClusteringPlanStrategy; also with their package",
        ),
        _clustering(
            f"{_STRATEGY}small.file.limit",
            "314572800",
            "smaller files are clustered, bytes [logs count by `hoodie.logfile.to.parquet.compression.ratio`]",
        ),
        _clustering(f"{_STRATEGY}max.bytes.per.group", "2147483648", "most bytes rewritten together"),
        _clustering(
            f"{_STRATEGY}max.num.groups",
            "30",
            "groups of a plan [the most useful ones, in turn by partition; Hudi: the first ones in the listing]",
        ),
        _clustering(
            f"{_STRATEGY}single.group.clustering.enabled",
            "true",
            "a file may be a group alone [only if that brings its rows in order]",
        ),
        _clustering(
            f"{_KEY}plan.partition.filter.mode", "NONE", "NONE, RECENT_DAYS, SELECTED_PARTITIONS, DAY_ROLLING"
        ),
        _clustering(
            f"{_STRATEGY}daybased.lookback.partitions", "2", "RECENT_DAYS: newest partitions looked at"
        ),
        _clustering(
            f"{_STRATEGY}daybased.skipfromlatest.partitions",
            "0",
            "RECENT_DAYS: newest partitions passed over",
        ),
        _clustering(
            f"{_STRATEGY}cluster.begin.partition", "", "SELECTED_PARTITIONS: first partition, inclusive"
        ),
        _clustering(
            f"{_STRATEGY}cluster.end.partition", "", "SELECTED_PARTITIONS: last partition, inclusive"
        ),
        _clustering(f"{_STRATEGY}partition.selected", "", "these partitions only, `--partitions`"),
        _clustering(
            f"{_STRATEGY}partition.regex.pattern", "", "pattern that the whole partition path must fit"
        ),
        _clustering(
            f"{_STRATEGY}earliest.commit.to.cluster",
            "",
            "commit-based: files of later commits, this one excluded",
        ),
        _clustering(f"{_STRATEGY}file.slices.sort.by", "SIZE", "parity: SIZE, INSTANT_TIME or both"),
        _clustering(
            "hoodie.logfile.to.parquet.compression.ratio",
            "0.35",
            "bytes of base file that a byte of log becomes",
        ),
        _clustering(
            "hoodie.airflow.clustering.parity", "false", "ours: Hudi's own groups instead of the better ones"
        ),
    ),
    "Clustering: what they become": (
        _clustering(f"{_STRATEGY}target.file.max.bytes", "1073741824", "bytes a file should have"),
        _clustering(
            "hoodie.airflow.clustering.size.tolerance",
            "0.1",
            "ours: share by which a file may pass the target before it is split in two; parity has none",
        ),
        _clustering(f"{_STRATEGY}sort.columns", "", "rows are sorted by these columns, `--sort-columns`"),
        _clustering("hoodie.layout.optimize.strategy", "LINEAR", "LINEAR, ZORDER or HILBERT, `--layout`"),
        fixed(
            f"{_KEY}execution.strategy.class",
            "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy",
            "how plans are carried out",
        ),
        fixed(f"{_KEY}preserve.commit.metadata", "true", "rows keep the time and number of their commit"),
        _clustering(
            "hoodie.airflow.clustering.task.memory.bytes",
            "536870912",
            "ours: Arrow bytes that a Spark task sorts at once; larger groups go through files",
        ),
    ),
    "Clustering: when, and beside whom": (
        _clustering(f"{_KEY}inline", "false", "scheduling waits for inline.max.commits"),
        _clustering(f"{_KEY}schedule.inline", "false", "scheduling waits for async.max.commits"),
        _clustering(
            f"{_KEY}async.enabled",
            "false",
            "scheduling waits for async.max.commits, `--every-n-commits`",
            "hoodie.datasource.clustering.async.enable",
        ),
        _clustering(
            f"{_KEY}inline.max.commits", "4", "commits since the last clustering, completed or pending"
        ),
        _clustering(
            f"{_KEY}async.max.commits", "4", "the same [Hudi counts compactions and clusterings too]"
        ),
        _clustering(
            "hoodie.airflow.clustering.max.pending.plans",
            "2",
            "ours: no new plan while as many wait; 0 = no cap",
        ),
        _clustering(
            "hoodie.airflow.clustering.groups.per.plan",
            "0",
            "ours: groups of one instant; what has failed then loses only its own; 0 = all in one",
        ),
        _both(
            f"{_KEY}updates.strategy",
            "GiveWayUpdateStrategy",
            "what a write does to a pending plan for its file groups: ours, SparkRejectUpdateStrategy (Hudi's default) "
            "or SparkAllowUpdateStrategy",
        ),
        _both(
            f"{_KEY}rollback.pending.replacecommit.on.conflict",
            "false",
            "with SparkAllowUpdateStrategy: the write rolls the plan back; without, the write is rejected",
        ),
        _clustering(f"{_KEY}enable.expirations", "false", "scheduling cancels plans that nobody finished"),
        _both(
            f"{_KEY}expiration.threshold.mins",
            "60",
            "age at which a plan under execution without a heartbeat counts as abandoned",
        ),
        _both(
            "hoodie.airflow.clustering.wait.seconds",
            "600",
            "ours: how long a write, or another execution, waits for a plan that is being executed",
        ),
    ),
    "Clustering: no effect": (
        *ignored(
            "Spark runs as many tasks as the cluster has room for",
            f"{_KEY}max.parallelism",
            f"{_KEY}group.read.parallelism",
            f"{_KEY}plan.generation.use.local.engine.context",
        ),
        *ignored(
            "every partition is looked at, which costs one listing",
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
            f"{_KEY}fail.on.pending.ingestion.during.conflict.resolution",
        ),
    ),
}
"""Keys by heading, in the order of the documentation."""
