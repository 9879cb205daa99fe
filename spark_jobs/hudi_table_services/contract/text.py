"""Numbers as text, titles of findings, and advice about misspelled words, for logs, terminals and pages."""

import difflib
from collections.abc import Iterable

BAR_CELLS = 24
NOT_PARTITIONED = "(not partitioned)"
_BLOCKS = " ▏▎▍▌▋▊▉█"


def bar(value: float, full: float, cells: int = BAR_CELLS) -> str:
    """Return a bar of fixed width, exact to an eighth of a cell."""
    eighths = round(8 * cells * min(1.0, value / full)) if full else 0
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_BLOCKS[rest] if rest else "")).ljust(cells, "·")


def counted(number: float, noun: str, spec: str = "") -> str:
    """Return a number and its noun: ``1 file``, ``2 files``. `spec` formats the number: ``1,536 rows`` with ``,``."""
    return f"{number:{spec}} {noun}{'' if number == 1 else 's'}"


def partitioned_by(columns: Iterable[str], time_format: str) -> str:
    """Return partition columns as text, with the pattern of formatted times in partition paths: ``ts (yyyy-MM)``.

    Args:
        time_format: the pattern; empty if no partition column has formatted times.
    """
    return ", ".join(columns) + (f" ({time_format})" if time_format else "")


def human_bytes(size: float) -> str:
    """Return a size as text: ``1,536 B``, ``1.5 KiB``, ``12.0 MiB``."""
    if size < 1024:
        return f"{size:,.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:,.1f} {unit}"
    return f"{size / 1024:,.1f} TiB"


def human_time(seconds: float) -> str:
    """Return a duration as text: ``45 s``, ``12 min``, ``3.5 h``, ``4.0 days``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"


def did_you_mean(given: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return a sentence with the most similar known word. The sentence says if only the case differs.

    Args:
        otherwise: result if no known word is similar.
    """
    names = tuple(known)
    same = next((name for name in names if name.lower() == given.lower()), "")
    if same and same != given:
        return f"Did you mean {same}? Only upper and lower case differ."
    by_lower_case = {name.lower(): name for name in names}
    close = difflib.get_close_matches(given.lower(), by_lower_case, n=1)
    return f"Did you mean {by_lower_case[close[0]]}?" if close else otherwise


def similar_column(given: str, known: Iterable[str]) -> str:
    """Return the advice for an unknown column: the most similar column, if there is one, and all columns."""
    names = tuple(known)
    return f"{did_you_mean(given, names)} Its columns are: {', '.join(names)}.".strip()


MEASURE_TITLES = {
    "active_commits": "Commits on the active timeline",
    "commits_since_clean": "Commits since the last clean",
    "commits_since_clustering": "Commits since the last clustering",
    "commits_to_archive": "Commits to archive",
    "commits_to_clean": "Commits to clean",
    "damaged": "Damaged timeline",
    "dead_instants": "Dead instants",
    "file_groups_in_compactions": "File groups in pending compactions",
    "foreign_files": "Foreign files",
    "hours_ahead": "Newest instant ahead of the clock",
    "hours_since_commit": "Time since the last commit",
    "leftover_bytes": "Size of leftover files",
    "leftover_files": "Leftover files",
    "log_bytes": "Size of unmerged log files",
    "log_files": "Unmerged log files",
    "log_ratio": "Unmerged log bytes per byte of base file",
    "metadata_bytes": "Size of the metadata table",
    "metadata_commits_ahead": "Commits of the metadata table that the table does not have",
    "metadata_commits_behind": "Instants that the metadata table lacks",
    "metadata_commits_since_compaction": "Commits since the last compaction of the metadata table",
    "metadata_log_bytes": "Size of log files of the metadata table",
    "metadata_log_files": "Log files of the metadata table",
    "metadata_missing_files": "Missing files that the metadata table lists",
    "metadata_pending_instants": "Pending instants of the metadata table",
    "metadata_unlisted_files": "Files that the metadata table does not list",
    "metadata_unusable": "Unusable metadata table",
    "metadata_wrong_statistics": "Statistics that hide rows from readers",
    "missing_files": "Missing files",
    "oldest_compaction_hours": "Age of the oldest pending compaction",
    "oldest_log_hours": "Age of the oldest unmerged log file",
    "oldest_pending_hours": "Age of the oldest pending instant",
    "outdated_bytes": "Size of outdated files",
    "outdated_files": "Outdated files",
    "pending_compactions": "Pending compactions",
    "pending_instants": "Pending instants",
    "small_file_ratio": "Share of small files",
    "small_files": "Small files",
    "small_partitions": "Partitions below 1 MiB",
}
"""Maps the name of each measure of the health report to its title in words, for messages, terminals and pages."""

RULE_TITLES = {
    "unknown-option": "Unknown option",
    "two-names": "Two names of one option with different values",
    "bad-value": "Value of the wrong type",
    "unsupported-option": "Option that this project does not support",
    "service-not-inline": "Table service inside the writer",
    "no-service": "Cleaning or archival switched off",
    "archival-before-cleaning": "Archival before cleaning",
    "archival-before-hours": "Archival before the hours that cleaning retains",
    "archival-bounds": "Bounds of archival in the wrong order",
    "clean-before-queries": "Cleaning before the longest query ends",
    "clean-regex-incremental": "Partition pattern of an incremental clean",
    "small-limit-above-max": "Small-file limit above the maximum file size",
    "block-below-file-size": "Row group smaller than the maximum file size",
    "bulk-insert-small-files": "Small files after bulk inserts",
    "clustering-target-small": "Clustering into small files",
    "clustering-target-above-group": "Target file size above the size of a clustering group",
    "sizes-disagree": "Different target sizes of writer and clustering",
    "row-writer-implicit": "Row writer not chosen",
    "writers-without-lock": "Several writers without a lock",
    "services-without-lock": "Table services without a lock",
    "occ-without-provider": "Concurrency control without a lock provider",
    "lock-within-process": "Lock within one process",
    "file-lock-on-object-store": "File-system lock on an object store",
    "storage-lock-on-files": "Storage-based lock on a file system",
    "storage-lock-too-new": "Lock that this release of Hudi lacks",
    "eager-beside-writers": "Eager cleaning of failed writes beside other writers",
    "file-lock-never-expires": "File-system lock that never expires",
    "runs-overlap": "Overlapping runs of the DAG",
    "catchup-overlaps": "Overlapping runs of a catch-up",
    "retry-repeats-insert": "Retry that repeats an insert",
    "differs-from-table": "Option that contradicts the table",
    "table-not-written": "Table that this project does not write",
    "keys-not-written": "Keys that this project does not write",
    "bootstrapped-table": "Bootstrapped table",
    "compaction-in-every-writer": "Compaction inside every batch write",
    "hudi-too-old": "Release of Hudi too old for the table",
    "hudi-upgrades-table": "Upgrade of the table by the next write",
    "hudi-without-spark": "Release of Hudi without this release of Spark",
    "hudi-hides-failures": "Hidden failures of Hudi's clustering",
    "complex-key-text": "Different text of record keys after a change of the release",
    "metadata-table-stale": "Index that this project cannot update",
    "index-definitions-damaged": "Damaged index definitions",
    "metadata-table-deleted": "Metadata table would be deleted",
    "metadata-settings-differ": "Metadata table switched off",
    "metadata-index-without-table": "Index without a metadata table",
    "partition-stats-without-columns": "Partition statistics without column statistics",
    "metadata-compaction-after-archival": "Compaction of the metadata table rarer than archival",
    "record-index-kind": "Different kind of record index",
    "record-index-unused": "Unused record index",
    "record-index-keys-not-global": "Record index with keys that are not unique",
    "bucket-count-implicit": "Number of buckets by default",
    "buckets-clustered": "Clustering of a table with a bucket index",
    "buckets-differ-from-table": "Bucket index that does not fit the table",
    "selector-matches-nothing": "Selection without partitions",
    "overwrite-under-plan": "Overwrite of planned partitions",
    "timeline-too-long": "Long active timeline",
    "refused-by-job": "Options that a job refuses",
    "ignored-option": "Option without effect",
}
"""Maps the id of each rule of the check of settings to its title in words."""
