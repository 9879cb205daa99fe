"""Which partitions clustering looks at (ClusteringPlanPartitionFilter and ClusteringPlanStrategy; Hudi 1.2).

Differences from Hudi: a partition is one with at least one live file group; a partition named that is not there,
and a pattern or mode that leaves none, are said in words; skipping more partitions than there are is no error.
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
    """The partitions that passed.

    Attributes:
        partitions: in Hudi's order: as selected, newest first for RECENT_DAYS, else ascending.
        total: partitions of the table.
        unknown: selected partitions that the table does not have, or that hold no file.
        reason: what was asked and how many match, e.g. ``12 of 40 partitions match …pattern=2024.*``; empty if
            nothing was asked.
    """

    partitions: tuple[str, ...]
    total: int
    unknown: tuple[str, ...] = ()
    reason: str = ""


def select_partitions(partitions: Sequence[str], options: ClusteringOptions, hour: int) -> PartitionSelection:
    """Selected partitions or those the pattern fits, then the filter mode.

    Args:
        partitions: those of the table, in any order.
        hour: hour of the day in the table's zone, for DAY_ROLLING.

    Raises:
        InvalidRequestError: the pattern is not a regular expression.
    """
    there = sorted(partitions)
    named, asked = _by_name(there, options)
    left = _by_mode(named, options, hour)
    if options.partition_filter_mode is not PartitionFilterMode.NONE:
        asked.append(_mode_in_words(options, hour))
    unknown = tuple(sorted(set(options.selected_partitions) - set(there)))
    reason = f"{len(left)} of {len(there)} partitions match {' and '.join(asked)}" if asked else ""
    if unknown:
        reason += f"; the table has no partition {', '.join(map(repr, unknown))}"
    return PartitionSelection(partitions=tuple(left), total=len(there), unknown=unknown, reason=reason)


def _by_name(there: list[str], options: ClusteringOptions) -> tuple[list[str], list[str]]:
    """Partitions selected by path or pattern, and what was asked, in words."""
    if options.selected_partitions:
        known = set(there)
        selected = [p for p in dict.fromkeys(options.selected_partitions) if p in known]
        return selected, [f"{SELECTED_PARTITIONS}={','.join(options.selected_partitions)}"]
    if not options.partition_pattern:
        return there, []
    try:
        pattern = re.compile(options.partition_pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidRequestError(
            f"{PARTITION_PATTERN} is {options.partition_pattern!r}, which is no regular expression: {error}."
        ) from error
    fitting = [p for p in there if pattern.fullmatch(p)]
    return fitting, [f"{PARTITION_PATTERN}={options.partition_pattern}"]


def _by_mode(partitions: list[str], options: ClusteringOptions, hour: int) -> list[str]:
    mode = options.partition_filter_mode
    if mode is PartitionFilterMode.RECENT_DAYS:
        # Order of text, as in Hudi: paths are no dates to it.
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
