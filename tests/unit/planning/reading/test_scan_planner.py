"""The planner leaves out no slice with wanted rows, gives each slice one reason, and does not depend on the order."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from hudi_table_services.model.reading.scan import ScanPlan, SkippingFacts
from hudi_table_services.model.schema import LONG, STRING, Field, StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.planning.reading.explanation import explain_scan
from hudi_table_services.planning.reading.partition_pruning import PartitionLayout
from hudi_table_services.planning.reading.scan_planner import ScanConditions, plan_scan
from support.reading.spark_semantics import conditions, holds, range_of

SCHEMA = StructType((Field("p", STRING), Field("a", LONG), Field("b", LONG)))
LAYOUT = PartitionLayout.of(
    TableConfig({"hoodie.table.partition.fields": "p", "hoodie.table.keygenerator.type": "SIMPLE"}), SCHEMA
)
TIME = "20260101000000000"


@dataclass(frozen=True)
class File:
    """The rows of one file: values of the columns ``a`` and ``b``."""

    rows: tuple[tuple[Any, Any], ...]
    has_statistics: bool


@dataclass(frozen=True)
class Slice:
    """A slice whose merged rows take their columns from any of its rows."""

    partition: str
    number: int
    files: tuple[File, ...]
    has_base: bool = True

    @property
    def value(self) -> FileSlice:
        file_id = f"f{self.number}"
        logs = self.files[1:] if self.has_base else self.files
        return FileSlice(
            file_group_id=FileGroupId(self.partition, file_id),
            base_instant_time=TIME,
            base_file=BaseFile(file_id=file_id, write_token="0-0-0", instant_time=TIME, size_bytes=10)
            if self.has_base
            else None,
            log_files=tuple(
                LogFile(file_id=file_id, instant_time=TIME, version=n, write_token="0-0-0", size_bytes=1)
                for n in range(1, len(logs) + 1)
            ),
        )

    def may_have(self, predicates: list[ColumnPredicate]) -> bool:
        rows = [row for file in self.files for row in file.rows]
        candidates = [{"p": self.partition, "a": a, "b": b} for a, _ in rows for _, b in rows]
        return any(all(holds(each, row[each.column]) for each in predicates) for row in candidates)


values = st.none() | st.integers(-3, 3)
files = st.builds(File, st.lists(st.tuples(values, values), max_size=3).map(tuple), st.booleans())
slices = st.lists(
    st.builds(
        Slice,
        st.sampled_from(["x", "y"]),
        st.integers(0, 5),
        st.lists(files, min_size=1, max_size=3).map(tuple),
        st.booleans(),
    ),
    max_size=6,
    unique_by=lambda each: (each.partition, each.number),
)
text = st.sampled_from(["x", "y", "z"]).map(
    lambda value: ColumnPredicate(Predicate("p", Comparison.EQUAL, (value,)), "string", (value,))
)
predicates = st.lists(text | conditions("long", "a") | conditions("long", "b"), max_size=3)


def facts_of(found: list[Slice], with_partitions: bool) -> SkippingFacts:
    file_ranges = {
        path: {
            "a": range_of([row[0] for row in file.rows], column="a"),
            "b": range_of([row[1] for row in file.rows], column="b"),
        }
        for each in found
        for path, file in zip(each.value.paths, each.files, strict=True)
        if file.has_statistics
    }
    by_partition: dict[str, list[Any]] = {}
    for each in found:
        by_partition.setdefault(each.partition, []).extend(row[0] for file in each.files for row in file.rows)
    ranges = {path: {"a": range_of(rows, column="a")} for path, rows in by_partition.items()}
    return SkippingFacts(file_ranges=file_ranges, partition_ranges=ranges if with_partitions else {})


def planned(found: list[Slice], wanted: list[ColumnPredicate], with_partitions: bool = True) -> ScanPlan:
    facts = facts_of(found, with_partitions)
    given_conditions = ScanConditions(predicates=tuple(wanted), layout=LAYOUT, facts=facts)
    return plan_scan([each.value for each in found], given_conditions)


@given(found=slices, wanted=predicates, with_partitions=st.booleans())
def test_no_slice_with_wanted_rows_is_left_out(
    found: list[Slice], wanted: list[ColumnPredicate], with_partitions: bool
) -> None:
    kept = set(planned(found, wanted, with_partitions).slices)
    assert not [each for each in found if each.value not in kept and each.may_have(wanted)]


@given(found=slices, wanted=predicates)
def test_each_slice_is_read_or_skipped_for_one_reason(
    found: list[Slice], wanted: list[ColumnPredicate]
) -> None:
    plan = planned(found, wanted)
    assert len(plan.slices) + sum(each.slice_count for each in plan.skipped) == len(found)
    total = sum(each.value.size_bytes for each in found)
    assert plan.size_bytes + sum(each.size_bytes for each in plan.skipped) == total
    assert all(each.reason for each in plan.skipped)


@given(data=st.data(), found=slices, wanted=predicates)
def test_the_plan_does_not_depend_on_the_order_of_slices(
    data: st.DataObject, found: list[Slice], wanted: list[ColumnPredicate]
) -> None:
    assert planned(data.draw(st.permutations(found)), wanted) == planned(found, wanted)


def test_reads_without_log_files_skip_slices_without_a_base_file() -> None:
    found = [Slice("x", 1, (File((), True),)), Slice("x", 2, (File((), True),), has_base=False)]
    plan = plan_scan([each.value for each in found], ScanConditions(needs_base_file=True))
    assert plan.slices == (found[0].value,)
    assert [(each.reason, each.slice_count) for each in plan.skipped] == [("it has only log files", 1)]


def test_slices_without_wanted_record_keys_are_skipped() -> None:
    found = [Slice("x", number, (File(((1, 1),), False),)).value for number in (1, 2)]
    located = frozenset({found[1].file_group_id})
    wanted = ColumnPredicate(Predicate("a", Comparison.EQUAL, (1,)), "long", (1,))
    plan = plan_scan(found, ScanConditions(predicates=(wanted,), facts=SkippingFacts(located=located)))
    assert plan.slices == (found[1],)


def test_the_explanation_of_a_plan_lists_read_and_skipped_slices() -> None:
    found = [Slice(p, 1, (File(((1, 1),), True), File(((1, 1),), True))) for p in ("x", "y")]
    wanted = [
        ColumnPredicate(Predicate("p", Comparison.EQUAL, ("x",)), "string", ("x",)),
        ColumnPredicate(Predicate("a", Comparison.GREATER, (5,)), "long", (5,)),
    ]
    assert explain_scan(planned(found, wanted, with_partitions=False), "the state as of 7") == (
        "Reads the state as of 7: 0 file slices of 0 B.\n"
        "Skips 1 file slice of 11 B: the partition path excludes p = 'x'.\n"
        "Skips 1 file slice of 11 B: column_stats exclude a > 5."
    )
    assert explain_scan(planned(found, wanted[:1]), "it").startswith(
        "Reads it: 1 file slice of 11 B, merged with 1 log file."
    )
