"""Differences between readers of merge-on-read tables that are known, each with its reason.

Tests compare every reader with a model of the rows. They leave a reader out only if an entry of `KNOWN_DIFFERENCES`
applies to the table.
"""

from collections.abc import Callable
from dataclasses import dataclass

HUDI_RS = "hudi-rs"


@dataclass(frozen=True, kw_only=True)
class TableState:
    """The properties of a table on which it depends whether a reader differs.

    Attributes:
        has_pending_compaction: whether a compaction is scheduled and not completed.
        has_late_records: whether log files contain a record with a smaller ordering value than an earlier record of
            the same key.
    """

    table_version: int
    has_pending_compaction: bool = False
    has_late_records: bool = False


@dataclass(frozen=True, kw_only=True)
class KnownDifference:
    """A reader whose rows differ from those of Hudi.

    Attributes:
        applies: whether the reader may differ in this state of a table.
    """

    reader: str
    reason: str
    applies: Callable[[TableState], bool]


KNOWN_DIFFERENCES = (
    KnownDifference(
        reader=HUDI_RS,
        reason="In table version 6, log files that are written while a compaction is pending have the name of a slice "
        "that has no base file yet. hudi-rs 0.5.0 does not read such a slice until the compaction completes.",
        applies=lambda state: state.table_version == 6 and state.has_pending_compaction,
    ),
    KnownDifference(
        reader=HUDI_RS,
        reason="hudi-rs 0.5.0 merges tables of version 6 by the rules of version 9. Hudi 0.15 compares the ordering "
        "values of log rows with each payload class, deletes by late deletes, and keeps a late row after a delete.",
        applies=lambda state: state.table_version == 6 and state.has_late_records,
    ),
)


def reads_as_hudi(reader: str, state: TableState) -> bool:
    """Whether the reader must return the rows of Hudi."""
    return not any(each.reader == reader and each.applies(state) for each in KNOWN_DIFFERENCES)
