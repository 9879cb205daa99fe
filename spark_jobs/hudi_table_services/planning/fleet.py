"""Rank many tables by the benefit that a table service would have for each table."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class FleetService(str, Enum):
    """Table service for which tables are ranked."""

    CLUSTERING = "clustering"
    COMPACTION = "compaction"
    CLEANING = "cleaning"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNeed:
    """Measures of one table that decide how much the table needs a service.

    Attributes:
        key: identifies the table. Tables with equal benefit are sorted by their keys.
        small_files: number of small live files, without files that are the only small file of their partition.
        small_file_ratio: share of small files among the live files, 0 to 1.
        log_files, log_bytes: number and bytes of log files that no compaction has merged.
        outdated_files, outdated_bytes: number and bytes of files that the latest state does not need.
        is_cleanable: whether the retention policy lets a clean delete some of the outdated files.
        is_trusted: False if the timeline is damaged; no service may run on such a table.
    """

    key: str
    small_files: int = 0
    small_file_ratio: float = 0.0
    log_files: int = 0
    log_bytes: int = 0
    outdated_files: int = 0
    outdated_bytes: int = 0
    is_cleanable: bool = False
    is_trusted: bool = True


def benefit(need: TableNeed, service: FleetService) -> int:
    """Return an upper bound of the benefit.

    The unit is the number of files that a clustering saves, the bytes of log files that a compaction merges, or the
    bytes that a clean frees.
    """
    if not need.is_trusted:
        return 0
    if service is FleetService.CLUSTERING:
        return need.small_files
    if service is FleetService.COMPACTION:
        return need.log_bytes
    return need.outdated_bytes if need.is_cleanable else 0


def rank(
    needs: Iterable[TableNeed], service: FleetService, *, quota: int, at_least: int = 1
) -> tuple[TableNeed, ...]:
    """Return at most `quota` tables for which the service is worthwhile, the largest benefit first.

    Args:
        at_least: minimum benefit, in files or bytes; tables with a smaller benefit are left out.
    """
    worthwhile = [each for each in needs if benefit(each, service) >= max(1, at_least)]
    worthwhile.sort(key=lambda each: (-benefit(each, service), -_weight(each, service), each.key))
    return tuple(worthwhile[: max(0, quota)])


def _weight(need: TableNeed, service: FleetService) -> float:
    """Return the number that ranks tables with equal benefit: share of small files, or number of files."""
    if service is FleetService.CLUSTERING:
        return need.small_file_ratio
    return need.log_files if service is FleetService.COMPACTION else need.outdated_files
