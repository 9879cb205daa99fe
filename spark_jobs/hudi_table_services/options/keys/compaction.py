"""Keys of the compaction jobs (HoodieCompactionConfig; Hudi 1.2)."""

from hudi_table_services.model.compaction.compaction_settings import CompactionStrategyKind, CompactionTrigger
from hudi_table_services.options.kinds import Flag, Member, Names, Number, Pattern, WholeNumber
from hudi_table_services.options.option import AnyOption, OptionGroup, fixed, ignored, option

_COMPACTION = (OptionGroup.COMPACTION,)
_COMPACTION_AND_ARCHIVAL = (OptionGroup.COMPACTION, OptionGroup.ARCHIVAL)

COMPACTION_TRIGGER = option(
    "hoodie.compact.inline.trigger.strategy",
    "NUM_COMMITS",
    "what makes a compaction due: NUM_COMMITS, NUM_COMMITS_AFTER_LAST_REQUEST (the count restarts at each compaction, "
    "completed or pending), TIME_ELAPSED, NUM_AND_TIME or NUM_OR_TIME",
    Member(CompactionTrigger),
    services=_COMPACTION,
)
MAX_DELTA_COMMITS = option(
    "hoodie.compact.inline.max.delta.commits",
    5,
    "minimum number of delta commits since the last compaction [log compactions and pending delta commits do not "
    "count], `--every-n-commits`; archival keeps that many delta commits on the timeline",
    WholeNumber(least=1),
    services=_COMPACTION_AND_ARCHIVAL,
)
MAX_DELTA_SECONDS = option(
    "hoodie.compact.inline.max.delta.seconds",
    3600,
    "minimum number of seconds since the last compaction or, without a compaction, since the first delta commit",
    WholeNumber(least=0),
    services=_COMPACTION,
)
COMPACTION_STRATEGY = option(
    "hoodie.compaction.strategy",
    "LogFileSizeBasedCompactionStrategy",
    "which slices a plan contains, and in which order: the default, LogFileNumBasedCompactionStrategy, "
    "BoundedIOCompactionStrategy, UnBoundedCompactionStrategy or DayBasedCompactionStrategy, with or without the "
    "package name",
    Member(CompactionStrategyKind, by_class=True),
    services=_COMPACTION,
)
TARGET_IO = option(
    "hoodie.compaction.target.io",
    512_000,
    "mebibytes that a plan reads and writes; the slice that reaches the limit is the last one of the plan; without "
    "effect on UnBoundedCompactionStrategy",
    WholeNumber(least=1),
    services=_COMPACTION,
)
LOG_FILE_SIZE_THRESHOLD = option(
    "hoodie.compaction.logfile.size.threshold",
    0,
    "LogFileSizeBasedCompactionStrategy: minimum total size of the log files of a slice, in bytes",
    WholeNumber(least=0),
    services=_COMPACTION,
)
LOG_FILE_NUM_THRESHOLD = option(
    "hoodie.compaction.logfile.num.threshold",
    0,
    "LogFileNumBasedCompactionStrategy: minimum number of log files of a slice",
    WholeNumber(least=0),
    services=_COMPACTION,
)
TARGET_PARTITIONS = option(
    "hoodie.compaction.daybased.target.partitions",
    10,
    "DayBasedCompactionStrategy: number of newest partitions to compact",
    WholeNumber(least=1),
    services=_COMPACTION,
)
PARTITION_PATTERN = option(
    "hoodie.compaction.partition.path.regex",
    "",
    "regular expression that must match a part of the partition path [with every strategy; in Hudi only with "
    "PartitionRegexBasedCompactionStrategy]",
    Pattern(),
    services=_COMPACTION,
)
SELECTED_PARTITIONS = option(
    "hoodie.airflow.compaction.partitions",
    "",
    "ours: paths of the partitions to compact",
    Names(),
    services=_COMPACTION,
)
RANK_BY_BENEFIT = option(
    "hoodie.airflow.compaction.rank.by.benefit",
    False,
    "ours: if `true`, a plan first adds the slices with the most log bytes per byte of their base file, and ignores "
    "the order of the strategy",
    Flag(),
    services=_COMPACTION,
)
MIN_LOG_RATIO = option(
    "hoodie.airflow.compaction.min.log.ratio",
    "0",
    "ours: minimum number of log bytes per byte of the base file; a plan leaves out slices below this ratio; 0 = no "
    "minimum",
    Number(least=0),
    services=_COMPACTION,
)
MAX_LOG_AGE_SECONDS = option(
    "hoodie.airflow.compaction.max.log.age.seconds",
    86_400,
    "ours: `hoodie.airflow.compaction.min.log.ratio` has no effect on a slice whose oldest log file is at least this "
    "number of seconds old",
    WholeNumber(least=1),
    services=_COMPACTION,
)
MAX_TASK_SECONDS = option(
    "hoodie.airflow.compaction.max.task.seconds",
    0,
    "ours: expected duration of all tasks of a plan together, in seconds; the slice that reaches the limit is the last "
    "one of the plan; 0 = no limit",
    WholeNumber(least=0),
    services=_COMPACTION,
)
BYTES_PER_SECOND = option(
    "hoodie.airflow.compaction.bytes.per.second",
    16 << 20,
    "ours: bytes that one task is expected to read and write per second, if no earlier compaction shows its speed",
    WholeNumber(least=1),
    services=_COMPACTION,
)

TASK_MEMORY_BYTES = option(
    "hoodie.airflow.compaction.task.memory.bytes",
    512 << 20,
    "ours: maximum size of log records that a Spark task keeps in memory, in bytes of Arrow data; larger file slices "
    "are merged with the help of temporary files",
    WholeNumber(least=1 << 20, is_size=True),
    services=_COMPACTION,
)
EXPIRATION_MINUTES = option(
    "hoodie.airflow.compaction.expiration.minutes",
    60,
    "ours: age in minutes at which an execution without a heartbeat, such as an execution by Hudi, counts as dead",
    WholeNumber(least=0),
    services=_COMPACTION,
)
WAIT_SECONDS = option(
    "hoodie.airflow.compaction.wait.seconds",
    600,
    "ours: maximum time in seconds for which a second execution of the same plan waits for a running execution",
    WholeNumber(least=0),
    services=_COMPACTION,
)

DELETE_SETTINGS = ("hoodie.payload.delete.field", "hoodie.payload.delete.marker")
"""Keys that tables of version 8 and older do not store. Only compactions, clusterings and reads use them."""

COMPACTION_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Compaction: when a compaction is due": (
        COMPACTION_TRIGGER,
        MAX_DELTA_COMMITS,
        MAX_DELTA_SECONDS,
    ),
    "Compaction: selected slices": (
        COMPACTION_STRATEGY,
        TARGET_IO,
        LOG_FILE_SIZE_THRESHOLD,
        LOG_FILE_NUM_THRESHOLD,
        TARGET_PARTITIONS,
        PARTITION_PATTERN,
        SELECTED_PARTITIONS,
        RANK_BY_BENEFIT,
        MIN_LOG_RATIO,
        MAX_LOG_AGE_SECONDS,
        MAX_TASK_SECONDS,
        BYTES_PER_SECOND,
        fixed(
            "hoodie.compaction.plan.generator",
            "org.apache.hudi.table.action.compact.plan.generators.HoodieCompactionPlanGenerator",
            "class that makes plans",
        ),
    ),
    "Compaction: execution": (
        TASK_MEMORY_BYTES,
        EXPIRATION_MINUTES,
        WAIT_SECONDS,
    ),
    "Compaction: no effect": (
        *ignored(
            "compaction is a separate job of this project",
            "hoodie.compact.inline",
            "hoodie.compact.schedule.inline",
        ),
        *ignored(
            "a compaction reads the headers of all log blocks first, and then the records that it needs",
            "hoodie.compaction.lazy.block.read",
            "hoodie.compaction.reverse.log.read",
        ),
        *ignored(
            "this project reads the log files that a log compaction wrote, but makes no log compaction",
            "hoodie.log.compaction.inline",
            "hoodie.log.compaction.enable",
            "hoodie.log.compaction.blocks.threshold",
        ),
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
