"""Keys that cleaning reads (HoodieCleanConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.model.cleaning import CleanPolicy
from hudi_table_services.options.kinds import Flag, Member, Names, Number, OrNone, Pattern, WholeNumber
from hudi_table_services.options.option import AnyOption, Service, ignored, option

CLEAN_POLICY = option(
    "hoodie.clean.policy",
    "KEEP_LATEST_COMMITS",
    "that, KEEP_LATEST_BY_HOURS or KEEP_LATEST_FILE_VERSIONS, `--policy`; left out: the one "
    "whose retention is given alone",
    Member(CleanPolicy),
    "hoodie.cleaner.policy",
    services=(Service.CLEANING, Service.ARCHIVAL),
)
COMMITS_RETAINED = option(
    "hoodie.clean.commits.retained",
    10,
    "commits whose state stays readable, `--commits-retained`; archival keeps more",
    WholeNumber(least=1),
    "hoodie.cleaner.commits.retained",
    services=(Service.CLEANING, Service.ARCHIVAL),
)
HOURS_RETAINED = option(
    "hoodie.clean.hours.retained",
    24,
    "hours whose commits stay readable, `--hours-retained` [pending instants hold this policy back too]",
    WholeNumber(least=1),
    "hoodie.cleaner.hours.retained",
    services=(Service.CLEANING,),
)
FILE_VERSIONS_RETAINED = option(
    "hoodie.clean.fileversions.retained",
    3,
    "versions of each file group, `--file-versions-retained`",
    WholeNumber(least=1),
    "hoodie.cleaner.fileversions.retained",
    services=(Service.CLEANING,),
)
FLOOR_HOURS = option(
    "hoodie.airflow.clean.floor.hours",
    "1",
    "ours: what readers stopped to see within so many hours stays under every policy, "
    "replaced file groups too",
    Number(least=0),
    services=(Service.CLEANING,),
)
TRIGGER_MAX_COMMITS = option(
    "hoodie.clean.trigger.max.commits",
    1,
    "commits since the last clean before another one is planned",
    WholeNumber(least=1),
    "hoodie.clean.max.commits",
    services=(Service.CLEANING,),
)
MAX_COMMITS_TO_CLEAN = option(
    "hoodie.clean.max.commits.to.clean",
    "",
    "most commits that one run cleans, `--max-commits-per-run`",
    OrNone(WholeNumber(least=1)),
    services=(Service.CLEANING,),
)
INCREMENTAL = option(
    "hoodie.clean.incremental.enabled",
    True,
    "only partitions that changed since the last clean are looked at [and those where a deletion failed]",
    Flag(),
    "hoodie.cleaner.incremental.mode",
    services=(Service.CLEANING,),
)
PARTITION_REGEX = option(
    "hoodie.clean.partition.filter.regex",
    "",
    "partitions to clean [incremental or not; all that match are looked at]",
    Pattern(),
    "hoodie.cleaner.partition.filter.regex",
    services=(Service.CLEANING,),
)
PARTITIONS_TO_CLEAN = option(
    "hoodie.clean.partition.filter.selected",
    "",
    "the same, by name",
    Names(),
    "hoodie.cleaner.partition.filter.selected",
    services=(Service.CLEANING,),
)
CLEAN_PARALLELISM = option(
    "hoodie.clean.parallelism",
    200,
    "threads that delete [32 at most]",
    WholeNumber(least=1),
    "hoodie.cleaner.parallelism",
    services=(Service.CLEANING,),
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
            "cleaning is a job of its own",
            "hoodie.clean.automatic",
            "hoodie.clean.async",
            "hoodie.clean.async.enabled",
        ),
        *ignored("commits are counted", "hoodie.clean.trigger.strategy"),
        *ignored(
            "a pending clean is always finished first",
            "hoodie.clean.multiple.enabled",
            "hoodie.clean.allow.multiple",
        ),
        *ignored(
            "bootstrapped tables are refused",
            "hoodie.clean.delete.bootstrap.base.file",
            "hoodie.cleaner.delete.bootstrap.base.file",
        ),
        *ignored(
            "every clean that finds nothing is recorded, so that the next one need not look again",
            "hoodie.write.empty.clean.interval.hours",
        ),
        *ignored("planning is done in one place", "hoodie.clean.optimize.using.local.engine.context"),
    ),
}
"""Keys by heading, in the order of the documentation."""
