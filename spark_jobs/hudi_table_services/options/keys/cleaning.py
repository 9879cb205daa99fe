"""Hudi keys that cleaning obeys (HoodieCleanConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.options.option import KnownOption, Service, honoured, ignored

_KEY = "hoodie.clean."
_OLD_KEY = "hoodie.cleaner."


def _cleaning(key: str, default: str, meaning: str, *aliases: str) -> KnownOption:
    return honoured(key, default, meaning, *aliases, services=(Service.CLEANING,))


def _cleaning_and_archival(key: str, default: str, meaning: str, *aliases: str) -> KnownOption:
    return honoured(key, default, meaning, *aliases, services=(Service.CLEANING, Service.ARCHIVAL))


CLEAN_OPTIONS: dict[str, tuple[KnownOption, ...]] = {
    "Cleaning": (
        _cleaning_and_archival(
            f"{_KEY}policy",
            "KEEP_LATEST_COMMITS",
            "that, KEEP_LATEST_BY_HOURS or KEEP_LATEST_FILE_VERSIONS, `--policy`; left out: the one whose retention is "
            "given alone",
            f"{_OLD_KEY}policy",
        ),
        _cleaning_and_archival(
            f"{_KEY}commits.retained",
            "10",
            "commits whose state stays readable, `--commits-retained`; archival keeps more",
            f"{_OLD_KEY}commits.retained",
        ),
        _cleaning(
            f"{_KEY}hours.retained",
            "24",
            "hours whose commits stay readable, `--hours-retained` [pending instants hold this policy back too]",
            f"{_OLD_KEY}hours.retained",
        ),
        _cleaning(
            f"{_KEY}fileversions.retained",
            "3",
            "versions of each file group, `--file-versions-retained`",
            f"{_OLD_KEY}fileversions.retained",
        ),
        _cleaning(
            "hoodie.airflow.clean.floor.hours",
            "1",
            "ours: what readers stopped to see within so many hours stays under every policy, replaced file groups too",
        ),
        _cleaning(
            f"{_KEY}trigger.max.commits",
            "1",
            "commits since the last clean before another one is planned",
            f"{_KEY}max.commits",
        ),
        _cleaning(
            f"{_KEY}max.commits.to.clean", "", "most commits that one run cleans, `--max-commits-per-run`"
        ),
        _cleaning(
            f"{_KEY}incremental.enabled",
            "true",
            "only partitions that changed since the last clean are looked at [and those where a deletion failed]",
            f"{_OLD_KEY}incremental.mode",
        ),
        _cleaning(
            f"{_KEY}partition.filter.regex",
            "",
            "partitions to clean [incremental or not; all that match are looked at]",
            f"{_OLD_KEY}partition.filter.regex",
        ),
        _cleaning(
            f"{_KEY}partition.filter.selected",
            "",
            "the same, by name",
            f"{_OLD_KEY}partition.filter.selected",
        ),
        _cleaning(
            f"{_KEY}parallelism",
            "200",
            "threads that delete [32 at most]",
            f"{_OLD_KEY}parallelism",
        ),
    ),
    "Cleaning: no effect": (
        *ignored("cleaning is a job of its own", f"{_KEY}automatic", f"{_KEY}async", f"{_KEY}async.enabled"),
        *ignored("commits are counted", f"{_KEY}trigger.strategy"),
        *ignored(
            "a pending clean is always finished first",
            f"{_KEY}multiple.enabled",
            f"{_KEY}allow.multiple",
        ),
        *ignored(
            "bootstrapped tables are refused",
            f"{_KEY}delete.bootstrap.base.file",
            f"{_OLD_KEY}delete.bootstrap.base.file",
        ),
        *ignored(
            "every clean that finds nothing is recorded, so that the next one need not look again",
            "hoodie.write.empty.clean.interval.hours",
        ),
        *ignored("planning is done in one place", f"{_KEY}optimize.using.local.engine.context"),
    ),
}
"""Keys by heading, in the order of the documentation."""
