"""Say why a clean deletes no file, although the table may have outdated files."""

from hudi_table_services.contract.text import counted
from hudi_table_services.model.cleaning import (
    CheckedPartitions,
    CleanOptions,
    CleanPolicy,
    KeptFiles,
    PartitionChoice,
    Retention,
)
from hudi_table_services.options.keys.cleaning import FLOOR_HOURS

_SOONER = f"(to delete files sooner, lower {FLOOR_HOURS.key})"


def why_nothing_is_deleted(
    kept: KeptFiles, options: CleanOptions, retention: Retention, *, commits: int, checked: CheckedPartitions
) -> str:
    """Return the reason, with the number of outdated files that the clean keeps, as part of a sentence.

    Args:
        kept: outdated files of the checked partitions.
        commits: number of completed writes on the active timeline.
    """
    if checked.choice is PartitionChoice.NONE:
        if _has_too_few_commits(options, retention):
            has = f"has only {commits}" if commits else "has none"
            return f"cleaning keeps {_last(options.commits_retained, 'commit')}, and the table {has}"
        return f"outdated files, if there are any, stay, because {_rule(options, retention)}"
    where = _where(checked)
    if not kept.count:
        if checked.choice is PartitionChoice.CHANGED:
            # Partitions that did not change since the last clean may have outdated files, which that clean kept.
            return f"no further file may be deleted since the last clean: {_rule(options, retention)}"
        return f"no file{where} is outdated ({retention.reason})"
    causes = (
        (kept.by_policy, _rule(options, retention)),
        (
            kept.for_queries,
            f"running queries may read files that became outdated less than {options.floor_hours:g} h ago {_SOONER}",
        ),
        (kept.pinned, "savepoints or pending plans need these files"),
    )
    parts = [(count, cause) for count, cause in causes if count]
    files = f"the {counted(kept.count, 'outdated file')}{where} {'stays' if kept.count == 1 else 'stay'}"
    if len(parts) == 1:
        return f"{files}, because {parts[0][1]}"
    return f"{files}: {'; '.join(f'{count} because {cause}' for count, cause in parts)}"


def _where(checked: CheckedPartitions) -> str:
    if checked.choice is PartitionChoice.ALL:
        return ""
    if checked.choice is PartitionChoice.SELECTED:
        return f" in the {counted(checked.count, 'selected partition')}"
    return f" in the {counted(checked.count, 'partition')} that changed since the last clean"


def _rule(options: CleanOptions, retention: Retention) -> str:
    """Describe the rule by which the policy keeps outdated files."""
    if options.policy is CleanPolicy.KEEP_LATEST_FILE_VERSIONS:
        return f"cleaning keeps {_last(options.file_versions_retained, 'version')} of each file group"
    floor = f"; file versions that have been outdated for less than {options.floor_hours:g} h are kept"
    if retention.earliest is not None and retention.reason.endswith(floor):
        # The floor alone determines the earliest commit, so every kept file has a successor from within these hours.
        return f"they became outdated less than {options.floor_hours:g} h ago {_SOONER}"
    if retention.earliest is not None:
        return (
            f"in each file group, cleaning keeps the versions since commit {retention.earliest.requested_time} and "
            f"the newest version before that commit, and it keeps all versions of file groups that were replaced since "
            f"then ({retention.reason})"
        )
    if retention.blocker is not None:
        blocker = retention.blocker
        return f"the pending {blocker.action.value} {blocker.requested_time} blocks cleaning"
    if options.policy is CleanPolicy.KEEP_LATEST_BY_HOURS:
        hours = _last(options.hours_retained, "hour")
        return f"the table has no commit of {hours}, and retention by hours then keeps all files"
    return f"cleaning keeps {_last(options.commits_retained, 'commit')}"


def _has_too_few_commits(options: CleanOptions, retention: Retention) -> bool:
    is_by_commits = options.policy is CleanPolicy.KEEP_LATEST_COMMITS
    return is_by_commits and retention.earliest is None and retention.blocker is None


def _last(number: int, noun: str) -> str:
    return f"the last {noun}" if number == 1 else f"the last {number} {noun}s"
