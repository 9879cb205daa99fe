"""The compaction strategies of the engine choose the slices that real Hudi's classes choose, in the same order.

The judge calls Hudi's classes directly: they filter the partitions, capture the metrics of each slice, and filter and
order the slices. The slices are random, and many of them have equal sizes.
"""

import random

import pytest

from hudi_table_services.model.compaction.compaction_proposal import CompactionInput
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.options.compaction.compaction_options import compaction_options
from hudi_table_services.planning.compaction.planner import plan_compaction
from judges.oracle import RELEASES
from support.depth import by_depth
from support.merge_on_read import MIB, PLAN_TIME, a_slice, a_table

STRATEGIES = (
    "LogFileSizeBasedCompactionStrategy",
    "LogFileNumBasedCompactionStrategy",
    "BoundedIOCompactionStrategy",
    "UnBoundedCompactionStrategy",
)
DAY_BASED = "DayBasedCompactionStrategy"
DAYS = ("2026/01/09", "2026/01/10", "2025/12/31", "2026/02/01", "2024/02/29")
HIVE_DAYS = tuple(
    "/".join(map("=".join, zip(("year", "month", "day"), path.split("/"), strict=True))) for path in DAYS
)
_PACKAGE = "org.apache.hudi.table.action.compact.strategy"
TARGETS = (1, 100, 500, 512_000)


def some_slices(chosen: random.Random, partitions: tuple[str, ...]) -> list[FileSlice]:
    """Slices with log files, sorted by partition path and file id; some have no base file."""
    slices = []
    for path in sorted(partitions):
        for number in range(chosen.randint(1, 4)):
            base = chosen.choice([None, 1000, MIB - 1, 10 * MIB, 100 * MIB, 300 * MIB])
            logs = [chosen.choice([10, MIB, 3 * MIB, 7 * MIB + 1]) for _ in range(chosen.randint(1, 4))]
            slices.append(a_slice(path, f"{path.replace('/', '-')}-{number}", base, *logs))
    return slices


def some_options(chosen: random.Random) -> dict[str, str]:
    return {
        "hoodie.compaction.target.io": str(chosen.choice(TARGETS)),
        "hoodie.compaction.logfile.size.threshold": str(chosen.choice([0, MIB, MIB + 1])),
        "hoodie.compaction.logfile.num.threshold": str(chosen.choice([0, 2, 3])),
        "hoodie.compaction.daybased.target.partitions": str(chosen.choice([1, 2, 3])),
    }


def planned_by_us(slices: list[FileSlice], options: dict[str, str]) -> list[str]:
    proposal = plan_compaction(
        a_table(slices), compaction_options(options), CompactionInput(instant_time=PLAN_TIME)
    )
    return [each.file_slice.file_group_id.file_id for each in proposal.operations]


def described(slices: list[FileSlice]) -> list[tuple[str, str, int | None, list[int]]]:
    return [
        (
            each.file_group_id.partition_path,
            each.file_group_id.file_id,
            None if each.base_file is None else each.base_file.size_bytes,
            [log.size_bytes for log in each.log_files],
        )
        for each in slices
    ]


# In release 0.15.0, the day-based strategy has no bound, and compares paths as strings.
@pytest.mark.parametrize(
    ("release", "strategy"),
    [*((release, strategy) for release in RELEASES for strategy in STRATEGIES), ("1.2.0", DAY_BASED)],
)
def test_the_engine_plans_the_slices_that_hudi_plans(hudi, release: str, strategy: str) -> None:
    chosen = random.Random(f"{release} {strategy}")
    for _ in range(by_depth(10, 100)):
        paths = chosen.choice([DAYS, HIVE_DAYS]) if strategy == DAY_BASED else ("p1", "p2", "p3")
        slices, keys = some_slices(chosen, paths), some_options(chosen)
        ours = planned_by_us(slices, {**keys, "hoodie.compaction.strategy": f"{_PACKAGE}.{strategy}"})
        assert ours == hudi(release).planned(strategy, keys, described(slices)), (described(slices), keys)
