"""The sentence that says why a clean deletes no file, with the number of outdated files that the clean keeps."""

import pytest

from hudi_table_services.model.cleaning import (
    CheckedPartitions,
    CleanOptions,
    CleanPolicy,
    KeptFiles,
    PartitionChoice,
    Retention,
)
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.planning.cleaning.kept_files import why_nothing_is_deleted
from support.default_options import clean_options

BY_COMMITS = clean_options()
BY_HOURS = clean_options(policy=CleanPolicy.KEEP_LATEST_BY_HOURS)
BY_VERSIONS = clean_options(policy=CleanPolicy.KEEP_LATEST_FILE_VERSIONS)
ALL = CheckedPartitions(choice=PartitionChoice.ALL, count=4)
UNCHECKED = CheckedPartitions(choice=PartitionChoice.NONE, count=0)
CHANGED = CheckedPartitions(choice=PartitionChoice.CHANGED, count=2)
SELECTED = CheckedPartitions(choice=PartitionChoice.SELECTED, count=1)
EARLIEST = Instant(requested_time="20260105120000000", action=Action.COMMIT, state=InstantState.COMPLETED)
PENDING = Instant(requested_time="20260101120000000", action=Action.COMMIT, state=InstantState.INFLIGHT)
NONE = Retention(earliest=None, reason="R")
FROM_FIFTH = Retention(earliest=EARLIEST, reason="R")
BLOCKED = Retention(earliest=None, blocker=PENDING, reason="R")
IF_ANY = "outdated files, if there are any, stay, because "
SOONER = "(to delete files sooner, lower hoodie.airflow.clean.floor.hours)"
VERSIONS_SINCE_FIFTH = (
    "in each file group, cleaning keeps the versions since commit 20260105120000000 and the newest version before "
    "that commit, and it keeps all versions of file groups that were replaced since then (R)"
)


@pytest.mark.parametrize(
    ("kept", "options", "retention", "checked", "reason"),
    [
        (
            KeptFiles(),
            BY_COMMITS,
            NONE,
            UNCHECKED,
            "cleaning keeps the last 10 commits, and the table has only 2",
        ),
        (
            KeptFiles(),
            clean_options(commits_retained=1),
            NONE,
            UNCHECKED,
            "cleaning keeps the last commit, and the table has only 2",
        ),
        (
            KeptFiles(),
            BY_HOURS,
            NONE,
            UNCHECKED,
            f"{IF_ANY}the table has no commit of the last 24 hours, and "
            "retention by hours then keeps all files",
        ),
        (
            KeptFiles(by_policy=3),
            BY_VERSIONS,
            NONE,
            ALL,
            "the 3 outdated files stay, because cleaning keeps the last 3 versions of each file group",
        ),
        (
            KeptFiles(by_policy=1),
            BY_VERSIONS,
            NONE,
            SELECTED,
            "the 1 outdated file in the 1 selected partition stays, because cleaning keeps the last 3 versions of "
            "each file group",
        ),
        (
            KeptFiles(),
            BY_COMMITS,
            BLOCKED,
            UNCHECKED,
            f"{IF_ANY}the pending commit 20260101120000000 blocks cleaning",
        ),
        (
            KeptFiles(by_policy=3),
            BY_HOURS,
            FROM_FIFTH,
            CHANGED,
            "the 3 outdated files in the 2 partitions that changed since the last clean stay, because "
            + VERSIONS_SINCE_FIFTH,
        ),
        (
            KeptFiles(by_policy=3, for_queries=2, pinned=1),
            BY_VERSIONS,
            NONE,
            ALL,
            "the 6 outdated files stay: 3 because cleaning keeps the last 3 versions of each file group; 2 because "
            "running queries may read files that became outdated less than 1 h ago "
            + SOONER
            + "; 1 because savepoints or pending "
            "plans need these files",
        ),
        (
            KeptFiles(by_policy=9),
            BY_COMMITS,
            Retention(
                earliest=EARLIEST,
                reason="R; file versions that have been outdated for less than 1 h are kept",
            ),
            ALL,
            f"the 9 outdated files stay, because they became outdated less than 1 h ago {SOONER}",
        ),
        (KeptFiles(), BY_COMMITS, FROM_FIFTH, ALL, "no file is outdated (R)"),
        (
            KeptFiles(),
            BY_COMMITS,
            FROM_FIFTH,
            SELECTED,
            "no file in the 1 selected partition is outdated (R)",
        ),
        (
            KeptFiles(),
            BY_COMMITS,
            FROM_FIFTH,
            CHANGED,
            "no further file may be deleted since the last clean: " + VERSIONS_SINCE_FIFTH,
        ),
    ],
)
def test_the_reason_names_the_number_of_kept_files_and_the_rule_that_keeps_them(
    kept: KeptFiles, options: CleanOptions, retention: Retention, checked: CheckedPartitions, reason: str
) -> None:
    assert why_nothing_is_deleted(kept, options, retention, commits=2, checked=checked) == reason
