"""Keys that cleaning reads (HoodieCleanConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.model.cleaning import CleanPolicy
from hudi_table_services.options.kinds import Flag, Member, Names, Number, OrNone, Pattern, WholeNumber
from hudi_table_services.options.option import AnyOption, OptionGroup, ignored, option

CLEAN_POLICY = option(
    "hoodie.clean.policy",
    "KEEP_LATEST_COMMITS",
    "retention policy: KEEP_LATEST_COMMITS, KEEP_LATEST_BY_HOURS or KEEP_LATEST_FILE_VERSIONS, `--policy`; if this "
    "key is absent and exactly one of the three retention options is given, the policy of that option applies",
    Member(CleanPolicy),
    "hoodie.cleaner.policy",
    services=(OptionGroup.CLEANING, OptionGroup.ARCHIVAL),
)
COMMITS_RETAINED = option(
    "hoodie.clean.commits.retained",
    10,
    "number of commits whose state stays readable, `--commits-retained`; archival must keep more commits",
    WholeNumber(least=1),
    "hoodie.cleaner.commits.retained",
    services=(OptionGroup.CLEANING, OptionGroup.ARCHIVAL),
)
HOURS_RETAINED = option(
    "hoodie.clean.hours.retained",
    24,
    "number of past hours whose commits stay readable, `--hours-retained` [pending instants also limit this policy]",
    WholeNumber(least=1),
    "hoodie.cleaner.hours.retained",
    services=(OptionGroup.CLEANING,),
)
FILE_VERSIONS_RETAINED = option(
    "hoodie.clean.fileversions.retained",
    3,
    "number of versions that cleaning keeps of each file group, `--file-versions-retained`",
    WholeNumber(least=1),
    "hoodie.cleaner.fileversions.retained",
    services=(OptionGroup.CLEANING,),
)
FLOOR_HOURS = option(
    "hoodie.airflow.clean.floor.hours",
    "1",
    "ours: under every policy, cleaning keeps files that became outdated within this number of hours, including "
    "replaced file groups",
    Number(least=0),
    services=(OptionGroup.CLEANING,),
)
TRIGGER_MAX_COMMITS = option(
    "hoodie.clean.trigger.max.commits",
    1,
    "minimum number of commits since the last clean; with fewer commits, no clean is scheduled [except if the last "
    "clean had to keep outdated files]",
    WholeNumber(least=1),
    "hoodie.clean.max.commits",
    services=(OptionGroup.CLEANING,),
)
MAX_COMMITS_TO_CLEAN = option(
    "hoodie.clean.max.commits.to.clean",
    "",
    "maximum number of commits that one run cleans, `--max-commits-per-run`",
    OrNone(WholeNumber(least=1)),
    services=(OptionGroup.CLEANING,),
)
INCREMENTAL = option(
    "hoodie.clean.incremental.enabled",
    True,
    "if `true`, a clean checks only partitions that changed since the last clean [and partitions where a deletion "
    "failed]",
    Flag(),
    "hoodie.cleaner.incremental.mode",
    services=(OptionGroup.CLEANING,),
)
PARTITION_REGEX = option(
    "hoodie.clean.partition.filter.regex",
    "",
    "regular expression; a partition is cleaned only if its whole path matches [the job checks all matching "
    "partitions, even if cleaning is incremental]",
    Pattern(),
    "hoodie.cleaner.partition.filter.regex",
    services=(OptionGroup.CLEANING,),
)
PARTITIONS_TO_CLEAN = option(
    "hoodie.clean.partition.filter.selected",
    "",
    "paths of the partitions to clean",
    Names(),
    "hoodie.cleaner.partition.filter.selected",
    services=(OptionGroup.CLEANING,),
)
CLEAN_PARALLELISM = option(
    "hoodie.clean.parallelism",
    200,
    "number of threads that delete files [at most 32]",
    WholeNumber(least=1),
    "hoodie.cleaner.parallelism",
    services=(OptionGroup.CLEANING,),
)

CLEAN_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Cleaning": (
        CLEAN_POLICY,
        COMMITS_RETAINED,
        HOURS_RETAINED,
        FILE_VERSIONS_RETAINED,
        FLOOR_HOURS,
        TRIGGER_MAX_COMMITS,
        MAX_COMMITS_TO_CLEAN,
        INCREMENTAL,
        PARTITION_REGEX,
        PARTITIONS_TO_CLEAN,
        CLEAN_PARALLELISM,
    ),
    "Cleaning: no effect": (
        *ignored(
            "cleaning is a separate job",
            "hoodie.clean.automatic",
            "hoodie.clean.async",
            "hoodie.clean.async.enabled",
        ),
        *ignored(
            "only the number of commits since the last clean triggers a clean",
            "hoodie.clean.trigger.strategy",
        ),
        *ignored(
            "a clean job always finishes pending cleans first",
            "hoodie.clean.multiple.enabled",
            "hoodie.clean.allow.multiple",
        ),
        *ignored(
            "jobs reject bootstrapped tables",
            "hoodie.clean.delete.bootstrap.base.file",
            "hoodie.cleaner.delete.bootstrap.base.file",
        ),
        *ignored(
            "a clean that deletes nothing is recorded if it advances the earliest retained commit, so that the next "
            "clean does not check the same commits again",
            "hoodie.write.empty.clean.interval.hours",
        ),
        *ignored(
            "a single process always makes the plan", "hoodie.clean.optimize.using.local.engine.context"
        ),
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
