"""Hudi keys that archival obeys (HoodieArchivalConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.options.option import KnownOption, Service, honoured, ignored

_KEY = "hoodie.archive."


def _archival(key: str, default: str, meaning: str) -> KnownOption:
    return honoured(key, default, meaning, services=(Service.ARCHIVAL,))


ARCHIVE_OPTIONS: dict[str, tuple[KnownOption, ...]] = {
    "Archival": (
        _archival(
            "hoodie.keep.min.commits",
            "20",
            "commits that stay on the active timeline, `--min-commits` [refused if not above those that cleaning "
            "retains; Hudi raises it with a warning]",
        ),
        _archival(
            "hoodie.keep.max.commits",
            "30",
            "nothing is archived up to so many, `--max-commits`; more than the minimum",
        ),
        _archival(
            f"{_KEY}beyond.savepoint",
            "false",
            "go on after the first savepoint; commits that savepoints keep stay",
        ),
        _archival(
            "hoodie.commits.archival.batch",
            "10",
            "records of a block of version 6's archive, instants of a file of the history of versions 8 and 9",
        ),
        _archival(
            "hoodie.timeline.compaction.batch.size",
            "10",
            "files of one level of the history that are merged into one of the next; versions 8 and 9",
        ),
        _archival(
            "hoodie.timeline.manifest.retained.versions",
            "3",
            "manifests of the history that stay for those who read it; versions 8 and 9",
        ),
    ),
    "Archival: no effect": (
        *ignored("archival is a job of its own", f"{_KEY}automatic", f"{_KEY}async", f"{_KEY}async.enabled"),
        *ignored("the archive is never merged in version 6", f"{_KEY}merge.*"),
        *ignored("files are deleted in as few requests as the storage can", f"{_KEY}delete.parallelism"),
        *ignored("an archival that fails is a job that fails", "hoodie.fail.on.timeline.archiving"),
    ),
}
"""Keys by heading, in the order of the documentation."""
