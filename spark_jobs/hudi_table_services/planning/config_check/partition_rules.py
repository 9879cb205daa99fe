"""Rules that compare the settings with the table's partitions, pending plans and timeline."""

import re
from collections.abc import Iterator, Sequence

from hudi_table_services.contract.config_check import Severity
from hudi_table_services.options.keys.archival import MAX_COMMITS
from hudi_table_services.options.keys.cleaning import PARTITION_REGEX, PARTITIONS_TO_CLEAN
from hudi_table_services.options.keys.clustering import (
    PARTITION_PATTERN,
    SELECTED_PARTITIONS,
    UPDATES_STRATEGY,
)
from hudi_table_services.options.keys.writing import OPERATION, PARTITIONS_TO_DELETE
from hudi_table_services.planning.config_check.settings import Problem, Settings, TableFacts, config_rule

_OPERATION, _TO_DELETE = OPERATION.key, PARTITIONS_TO_DELETE.key
_UPDATES, _KEEP_MAX = UPDATES_STRATEGY.key, MAX_COMMITS.key


@config_rule(
    "selector-matches-nothing",
    Severity.WARNING,
    "an option selects partitions by name or pattern, but no stored partition path matches",
    source="apache/hudi#10165",
)
def _selector_matches_nothing(settings: Settings) -> Iterator[Problem]:
    existing = settings.table.partitions if settings.table is not None else None
    if not existing:
        return
    example = f"Partitions are stored as {', '.join(map(repr, existing[:2]))}: use paths of this form."
    for key, names in _selected(settings):
        if unknown := [each for each in names if not _fitting(each, existing, key == _TO_DELETE)]:
            yield Problem(
                keys=(key,), reason=f"The table has no partition {', '.join(unknown)}.", cure=example
            )
    for key in _PATTERNS:
        if settings.has(key) and not _matching(settings.text(key), existing):
            yield Problem(keys=(key,), reason="The pattern matches no complete partition path.", cure=example)


_NAMES = (SELECTED_PARTITIONS.key, PARTITIONS_TO_CLEAN.key, _TO_DELETE)
_PATTERNS = (PARTITION_PATTERN.key, PARTITION_REGEX.key)
SELECTORS = (*_NAMES, *_PATTERNS)
"""Options that select partitions. The job lists the table's partitions only if one of these options is given."""


def _selected(settings: Settings) -> Iterator[tuple[str, list[str]]]:
    for key in _NAMES:
        yield key, [name.strip() for name in settings.text(key).split(",") if name.strip()]


def _fitting(name: str, paths: Sequence[str], has_stars: bool) -> list[str]:
    if not has_stars:
        return [path for path in paths if path == name]
    pattern = ".*".join(map(re.escape, name.split("*")))
    return [path for path in paths if re.fullmatch(pattern, path)]


def _matching(pattern: str, paths: Sequence[str]) -> bool:
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return True  # another rule reports the invalid pattern
    return any(map(compiled.fullmatch, paths))


@config_rule(
    "overwrite-under-plan",
    Severity.ERROR,
    "the write overwrites or deletes partitions that a pending clustering or compaction rewrites, so the changes of "
    "either the write or the plan are lost. The finding is advice if only jobs of this project write to the table, "
    "because these jobs release the plan's file groups",
    source="apache/hudi#18830",
)
def _overwrite_under_plan(settings: Settings) -> Iterator[Problem]:
    conflicting = _conflicting_plans(settings, settings.table) if settings.table is not None else []
    if not conflicting:
        return
    releases_plan = not settings.facts.is_hudi and not settings.has(_UPDATES)
    yield Problem(
        keys=(_OPERATION, *((_UPDATES,) if settings.has(_UPDATES) else ())),
        reason=f"Pending: {', '.join(conflicting)}.",
        cure="Execute or cancel the pending plans first.",
        severity=Severity.ADVICE if releases_plan else Severity.ERROR,
    )


def _conflicting_plans(settings: Settings, table: TableFacts) -> list[str]:
    """Return the pending plans that may conflict with the write.

    An insert_overwrite may conflict with every pending plan, because only its rows determine which partitions it
    replaces.
    """
    if settings.operation in ("insert_overwrite", "insert_overwrite_table"):
        return sorted(table.pending_plans)
    if settings.operation != "delete_partition":
        return []
    names = [name.strip() for name in settings.text(_TO_DELETE).split(",") if name.strip()]
    return sorted(
        time
        for time, paths in table.pending_plans.items()
        if any(_fitting(name, sorted(paths), has_stars=True) for name in names)
    )


@config_rule(
    "timeline-too-long",
    Severity.WARNING,
    "the active timeline has many more commits than archival should leave: readers and planning are slow, so archive "
    "the timeline before you cluster the table",
    source="apache/hudi#17903",
)
def _timeline_too_long(settings: Settings) -> Iterator[Problem]:
    most = settings.number(_KEEP_MAX)
    active = settings.table.active_commits if settings.table is not None else None
    if most is not None and active is not None and active > 2 * most:
        yield Problem(
            keys=(_KEEP_MAX,),
            reason=f"The active timeline has {active} commits, but archival should leave at most {most:g}.",
            cure="Run ArchiveOperator or archive.py; table_health.py reports what limits archival.",
        )


PARTITION_RULES = (_selector_matches_nothing, _overwrite_under_plan, _timeline_too_long)
