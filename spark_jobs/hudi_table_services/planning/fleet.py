"""Which of many tables a service helps the most."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class FleetService(str, Enum):
    """What is to be done to tables."""

    CLUSTERING = "clustering"
    CLEANING = "cleaning"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNeed:
    """What a look at a table found.

    Attributes:
        key: tells tables apart, and decides between equal ones.
        small_files: small live files that share their partition with another one.
        small_file_ratio: their share of the live files, 0 to 1.
        outdated_files, outdated_bytes: files that the latest state does not need.
        is_cleanable: the retention lets some of them go.
        is_trusted: False: its timeline cannot be trusted, so that nothing may be done to it.
    """

    key: str
    small_files: int = 0
    small_file_ratio: float = 0.0
    outdated_files: int = 0
    outdated_bytes: int = 0
    is_cleanable: bool = False
    is_trusted: bool = True


def benefit(need: TableNeed, service: FleetService) -> int:
    """Files that a clustering could merge away, or bytes that a clean could free, at the most; 0: none."""
    if not need.is_trusted:
        return 0
    if service is FleetService.CLUSTERING:
        return need.small_files
    return need.outdated_bytes if need.is_cleanable else 0


def rank(
    needs: Iterable[TableNeed], service: FleetService, *, quota: int, at_least: int = 1
) -> tuple[TableNeed, ...]:
    """Tables worth the service, those that gain the most first, at most `quota`.

    Args:
        at_least: files or bytes below which a table is left alone.
    """
    worthwhile = [each for each in needs if benefit(each, service) >= max(1, at_least)]
    worthwhile.sort(key=lambda each: (-benefit(each, service), -_weight(each, service), each.key))
    return tuple(worthwhile[: max(0, quota)])


def _weight(need: TableNeed, service: FleetService) -> float:
    """Between tables that gain the same: how much of the table it is about, or how many files."""
    return need.small_file_ratio if service is FleetService.CLUSTERING else need.outdated_files
