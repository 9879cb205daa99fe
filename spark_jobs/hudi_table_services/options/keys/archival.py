"""Keys that archival reads (HoodieArchivalConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.options.kinds import Flag, WholeNumber
from hudi_table_services.options.option import AnyOption, Service, ignored, option

MIN_COMMITS = option(
    "hoodie.keep.min.commits",
    20,
    "commits that stay on the active timeline, `--min-commits` [refused if not above those "
    "that cleaning retains; Hudi raises it with a warning]",
    WholeNumber(least=1),
    services=(Service.ARCHIVAL,),
)
MAX_COMMITS = option(
    "hoodie.keep.max.commits",
    30,
    "nothing is archived up to so many, `--max-commits`; more than the minimum",
    WholeNumber(least=1),
    services=(Service.ARCHIVAL,),
)
BEYOND_SAVEPOINT = option(
    "hoodie.archive.beyond.savepoint",
    False,
    "go on after the first savepoint; commits that savepoints keep stay",
    Flag(),
    services=(Service.ARCHIVAL,),
)
ARCHIVAL_BATCH = option(
    "hoodie.commits.archival.batch",
    10,
    "records of a block of version 6's archive, instants of a file of the history of versions 8 and 9",
    WholeNumber(least=1),
    services=(Service.ARCHIVAL,),
)
HISTORY_BATCH = option(
    "hoodie.timeline.compaction.batch.size",
    10,
    "files of one level of the history that are merged into one of the next; versions 8 and 9",
    WholeNumber(least=2),
    services=(Service.ARCHIVAL,),
)
MANIFESTS_RETAINED = option(
    "hoodie.timeline.manifest.retained.versions",
    3,
    "manifests of the history that stay for those who read it; versions 8 and 9",
    WholeNumber(least=1),
    services=(Service.ARCHIVAL,),
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
            "archival is a job of its own",
            "hoodie.archive.automatic",
            "hoodie.archive.async",
            "hoodie.archive.async.enabled",
        ),
        *ignored("the archive is never merged in version 6", "hoodie.archive.merge.*"),
        *ignored(
            "files are deleted in as few requests as the storage can", "hoodie.archive.delete.parallelism"
        ),
        *ignored("an archival that fails is a job that fails", "hoodie.fail.on.timeline.archiving"),
    ),
}
"""Keys by heading, in the order of the documentation."""
