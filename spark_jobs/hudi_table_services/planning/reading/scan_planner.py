"""Choose the file slices that a read opens, and give the reasons why the read leaves out the other slices."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import FileColumnRange
from hudi_table_services.model.reading.predicate import ColumnPredicate
from hudi_table_services.model.reading.range_checks import excludes
from hudi_table_services.model.reading.scan import ScanPlan, SkippedSlices, SkippingFacts
from hudi_table_services.planning.reading.partition_pruning import PartitionLayout

_Why = Callable[[FileSlice], str]
"""Returns the reason why a slice is left out; empty if the slice may have wanted rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanConditions:
    """Conditions and facts that decide which slices a read opens.

    Attributes:
        predicates: conditions that all rows of the result fulfil.
        layout: how partition paths contain the values of columns; None if partition paths prove nothing.
        facts: facts from the indexes of the metadata table.
        needs_base_file: whether log files are ignored, so that slices without a base file have no rows.
    """

    predicates: tuple[ColumnPredicate, ...] = ()
    layout: PartitionLayout | None = None
    facts: SkippingFacts = field(default_factory=SkippingFacts)
    needs_base_file: bool = False


def plan_scan(slices: Iterable[FileSlice], conditions: ScanConditions) -> ScanPlan:
    """Choose the slices that may have rows that fulfil all conditions.

    If several reasons exclude a slice, the plan contains only the first of them. The result does not depend on the
    order of `slices`.
    """
    kept = sorted(slices)
    skipped = []
    for why in _checks(conditions):
        kept, left_out = _divided(kept, why)
        skipped += left_out
    return ScanPlan(slices=tuple(kept), skipped=tuple(skipped), notes=conditions.facts.notes)


def prune_partitions(
    paths: Iterable[str], predicates: Sequence[ColumnPredicate], layout: PartitionLayout | None
) -> frozenset[str]:
    """Return the partition paths that may have rows that fulfil all conditions."""
    if layout is None or not predicates:
        return frozenset(paths)
    return frozenset(p for p in paths if not _first_excluded(predicates, layout.ranges_of(p)))


def _checks(conditions: ScanConditions) -> Iterable[_Why]:
    predicates, facts, layout = conditions.predicates, conditions.facts, conditions.layout
    if conditions.needs_base_file:
        yield lambda each: "" if each.base_file is not None else "it has only log files"
    if not predicates:
        return
    if layout is not None:
        by_path: dict[str, Mapping[str, FileColumnRange]] = {}

        def proved(path: str) -> Mapping[str, FileColumnRange]:
            if path not in by_path:
                by_path[path] = layout.ranges_of(path)
            return by_path[path]

        yield lambda each: _because(
            "the partition path excludes", _first_excluded(predicates, proved(_path(each)))
        )
    if facts.partition_ranges:
        yield lambda each: _because(
            "partition_stats exclude",
            _first_excluded(predicates, facts.partition_ranges.get(_path(each), {})),
        )
    if facts.located is not None:
        located = facts.located
        yield lambda each: "" if each.file_group_id in located else "the record index has no wanted key there"
    if facts.file_ranges:
        yield lambda each: _because("column_stats exclude", _excluded_in_all_files(predicates, each, facts))


def _path(file_slice: FileSlice) -> str:
    return file_slice.file_group_id.partition_path


def _because(words: str, predicate: ColumnPredicate | None) -> str:
    return "" if predicate is None else f"{words} {predicate.predicate}"


def _first_excluded(
    predicates: Iterable[ColumnPredicate], ranges: Mapping[str, FileColumnRange]
) -> ColumnPredicate | None:
    """Return the first condition that no row can fulfil; None if rows may fulfil all conditions."""
    for predicate in predicates:
        found = ranges.get(predicate.column)
        if found is not None and excludes(predicate, found):
            return predicate
    return None


def _excluded_in_all_files(
    predicates: Iterable[ColumnPredicate], file_slice: FileSlice, facts: SkippingFacts
) -> ColumnPredicate | None:
    """Return a condition that no row of any file of the slice can fulfil.

    A merged row may take its columns from several files, so the same condition must exclude all files of the slice.
    """
    files = [facts.file_ranges.get(path) for path in file_slice.paths]
    if None in files:
        return None
    known = [ranges for ranges in files if ranges is not None]
    for predicate in predicates:
        ranges = [each.get(predicate.column) for each in known]
        if all(found is not None and excludes(predicate, found) for found in ranges):
            return predicate
    return None


def _divided(slices: Iterable[FileSlice], why: _Why) -> tuple[list[FileSlice], list[SkippedSlices]]:
    kept: list[FileSlice] = []
    left_out: dict[str, list[FileSlice]] = {}
    for each in slices:
        reason = why(each)
        if reason:
            left_out.setdefault(reason, []).append(each)
        else:
            kept.append(each)
    return kept, [
        SkippedSlices(reason=reason, slice_count=len(found), size_bytes=sum(s.size_bytes for s in found))
        for reason, found in sorted(left_out.items())
    ]
