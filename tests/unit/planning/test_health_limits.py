"""Default limits of the health report that apply only to some tables."""

import pytest

from hudi_table_services.contract.health import SMALL_PARTITION_BYTES, HealthRequest, PartitionHealth
from hudi_table_services.planning.health import findings, partition_measures, relevant_limits

LIMITS = HealthRequest(base_path="/lake/trips").warning_limits


def partitions(small: int, large: int) -> tuple[PartitionHealth, ...]:
    sizes = [SMALL_PARTITION_BYTES - 1] * small + [SMALL_PARTITION_BYTES] * large
    return tuple(
        PartitionHealth(partition_path=f"p={number}", file_count=1, small_file_count=0, size_bytes=size)
        for number, size in enumerate(sizes)
    )


@pytest.mark.parametrize(
    ("small", "large", "warns"), [(101, 0, True), (101, 100, True), (101, 101, False), (100, 0, False)]
)
def test_many_small_partitions_cause_a_warning_if_most_partitions_are_small(
    small: int, large: int, warns: bool
) -> None:
    measures = partition_measures(partitions(small, large))
    found = findings(measures, relevant_limits(LIMITS, measures, small + large), {})
    assert measures == {"small_partitions": small}
    assert [each.measure for each in found] == (["small_partitions"] if warns else [])


@pytest.mark.parametrize(("files", "warns"), [(20, False), (21, True)])
def test_a_share_of_small_files_causes_a_warning_only_if_there_are_many(files: int, warns: bool) -> None:
    measures = {"small_files": float(files), "small_file_ratio": 0.9}
    found = findings(measures, relevant_limits(LIMITS, measures, 1), {})
    assert [each.measure for each in found] == (["small_file_ratio"] if warns else [])
