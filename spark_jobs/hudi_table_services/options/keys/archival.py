"""Keys that archival reads (HoodieArchivalConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.options.kinds import Flag, WholeNumber
from hudi_table_services.options.option import AnyOption, OptionGroup, ignored, option

MIN_COMMITS = option(
    "hoodie.keep.min.commits",
    20,
    "minimum number of commits on the active timeline after an archival, `--min-commits`; it must be greater than "
    "`hoodie.clean.commits.retained` [a job rejects a value that is not greater; Hudi increases the value and logs a "
    "warning]",
    WholeNumber(least=1),
    services=(OptionGroup.ARCHIVAL,),
)
MAX_COMMITS = option(
    "hoodie.keep.max.commits",
    30,
    "number of commits on the active timeline above which archival starts, `--max-commits`; it must be greater than "
    "`hoodie.keep.min.commits`",
    WholeNumber(least=1),
    services=(OptionGroup.ARCHIVAL,),
)
BEYOND_SAVEPOINT = option(
    "hoodie.archive.beyond.savepoint",
    False,
    "if `true`, archival does not stop at the first savepoint; commits that have a savepoint stay on the active "
    "timeline",
    Flag(),
    services=(OptionGroup.ARCHIVAL,),
)
ARCHIVAL_BATCH = option(
    "hoodie.commits.archival.batch",
    10,
    "table version 6: number of instants per block of the archive; versions 8 and 9: number of instants per file of "
    "the archived timeline",
    WholeNumber(least=1),
    services=(OptionGroup.ARCHIVAL,),
)
HISTORY_BATCH = option(
    "hoodie.timeline.compaction.batch.size",
    10,
    "table versions 8 and 9: number of files on one level of the archived timeline that archival merges into one "
    "file on the next level",
    WholeNumber(least=2),
    services=(OptionGroup.ARCHIVAL,),
)
MANIFESTS_RETAINED = option(
    "hoodie.timeline.manifest.retained.versions",
    3,
    "table versions 8 and 9: number of manifests of the archived timeline that archival keeps for running readers",
    WholeNumber(least=1),
    services=(OptionGroup.ARCHIVAL,),
)

ARCHIVE_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Archival": (
        MIN_COMMITS,
        MAX_COMMITS,
        BEYOND_SAVEPOINT,
        ARCHIVAL_BATCH,
        HISTORY_BATCH,
        MANIFESTS_RETAINED,
    ),
    "Archival: no effect": (
        *ignored(
            "archival is a separate job",
            "hoodie.archive.automatic",
            "hoodie.archive.async",
            "hoodie.archive.async.enabled",
        ),
        *ignored("archival never merges the archive files of table version 6", "hoodie.archive.merge.*"),
        *ignored(
            "archival deletes many files with one request if the storage allows it",
            "hoodie.archive.delete.parallelism",
        ),
        *ignored("if archival fails, its job fails", "hoodie.fail.on.timeline.archiving"),
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
