"""Select the partitions that clustering considers (ClusteringPlanPartitionFilter and ClusteringPlanStrategy; Hudi 1.2).

This module differs from Hudi in three points. First, it considers only partitions with at least one live file group.
Second, the result reports selected partitions that do not exist, and a pattern or mode that matches no partition.
Third, an option may skip more partitions than the table has; this is not an error.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import ClusteringOptions, PartitionFilterMode
from hudi_table_services.options.keys.clustering import (
    BEGIN_PARTITION,
    END_PARTITION,
    LOOKBACK_PARTITIONS,
    PARTITION_FILTER_MODE,
    PARTITION_PATTERN,
    SELECTED_PARTITIONS,
    SKIP_FROM_LATEST,
)

_HOURS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSelection:
    """Result of selecting partitions.

    Attributes:
        partitions: selected partitions in Hudi's order. RECENT_DAYS sorts the newest partitions first. Partitions that
            an option lists have the order of the list. In all other cases, the order is ascending.
        total: number of partitions of the table.
        unknown: partitions that an option lists, but that do not exist in the table or have no file.
        reason: the filters and the number of matching partitions, e.g.
            ``partitions that match …pattern=2024.*: 12 of 40``; empty without filters.
    """

    partitions: tuple[str, ...]
    total: int
    unknown: tuple[str, ...] = ()
    reason: str = ""


def select_partitions(partitions: Sequence[str], options: ClusteringOptions, hour: int) -> PartitionSelection:
    """Select partitions by list or pattern, then by the filter mode.

    Args:
        partitions: partitions of the table, in any order.
        hour: hour of the day in the table's time zone, for DAY_ROLLING.

    Raises:
        InvalidRequestError: the pattern is not a regular expression.
    """
    existing = sorted(partitions)
    named, filters = _by_name(existing, options)
    selected = _by_mode(named, options, hour)
    if options.partition_filter_mode is not PartitionFilterMode.NONE:
        filters.append(_mode_in_words(options, hour))
    unknown = tuple(sorted(set(options.selected_partitions) - set(existing)))
    reason = ""
    if filters:
        reason = f"partitions that match {' and '.join(filters)}: {len(selected)} of {len(existing)}"
    if unknown:
        reason += f"; the table has no partition {', '.join(map(repr, unknown))}"
    return PartitionSelection(partitions=tuple(selected), total=len(existing), unknown=unknown, reason=reason)


def _by_name(existing: list[str], options: ClusteringOptions) -> tuple[list[str], list[str]]:
    """Return the partitions that a list of paths or a pattern selects, and a description of this filter."""
    if options.selected_partitions:
        known = set(existing)
        selected = [p for p in dict.fromkeys(options.selected_partitions) if p in known]
        return selected, [f"{SELECTED_PARTITIONS}={','.join(options.selected_partitions)}"]
    if not options.partition_pattern:
        return existing, []
    try:
        pattern = re.compile(options.partition_pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidRequestError(
            f"{PARTITION_PATTERN} is {options.partition_pattern!r}, which is not a regular expression: {error}."
        ) from error
    matching = [p for p in existing if pattern.fullmatch(p)]
    return matching, [f"{PARTITION_PATTERN}={options.partition_pattern}"]


def _by_mode(partitions: list[str], options: ClusteringOptions, hour: int) -> list[str]:
    mode = options.partition_filter_mode
    if mode is PartitionFilterMode.RECENT_DAYS:
        # Compare the paths as strings, as Hudi does, even if they contain dates.
        recent = sorted(partitions, reverse=True)[max(options.skip_from_latest, 0) :]
        return recent[: options.lookback_partitions] if options.lookback_partitions > 0 else recent
    if mode is PartitionFilterMode.SELECTED_PARTITIONS:
        begin, end = options.begin_partition, options.end_partition
        return [p for p in partitions if (not begin or begin <= p) and (not end or p <= end)]
    if mode is PartitionFilterMode.DAY_ROLLING:
        return [p for i, p in enumerate(sorted(partitions)) if i % _HOURS == hour]
    return partitions


def _mode_in_words(options: ClusteringOptions, hour: int) -> str:
    mode = options.partition_filter_mode
    details = {
        PartitionFilterMode.RECENT_DAYS: (
            f"{LOOKBACK_PARTITIONS}={options.lookback_partitions}, {SKIP_FROM_LATEST}={options.skip_from_latest}"
        ),
        PartitionFilterMode.SELECTED_PARTITIONS: (
            f"{BEGIN_PARTITION}={options.begin_partition}, {END_PARTITION}={options.end_partition}"
        ),
        PartitionFilterMode.DAY_ROLLING: f"hour {hour}",
    }
    return f"{PARTITION_FILTER_MODE}={mode.value} ({details[mode]})"
