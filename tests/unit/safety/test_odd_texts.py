"""Meaningless strings and numbers in otherwise valid files of the timeline."""

import math

import pytest

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.jobs.clustering.executed import stored_plan_report
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import (
    CleanMetadata,
    ClusteringGroup,
    ClusteringPlan,
    PlanStrategy,
)
from hudi_table_services.options.keys.clustering import TARGET_FILE_MAX_BYTES
from hudi_table_services.planning.cleaning.stored_plan import RECHECK_KEY, partitions_to_recheck
from hudi_table_services.planning.clustering.stored_plan import read_plan_settings
from hudi_table_services.tables.clustering_history import Clustering
from support.default_options import clustering_options


@pytest.mark.parametrize("target", ["9" * 5000, "\u00b2", "-1", "0", "1e9", ""])
def test_a_plan_with_an_impossible_size_is_refused(target: str) -> None:
    strategy = PlanStrategy(parameters={TARGET_FILE_MAX_BYTES.key: target})
    with pytest.raises(CorruptTableError, match="not a size in bytes"):
        read_plan_settings(ClusteringPlan(groups=(), strategy=strategy), clustering_options())


@pytest.mark.parametrize("metric", [math.inf, -math.inf, math.nan])
def test_a_plan_whose_metric_is_infinite_or_not_a_number_is_reported(metric: float) -> None:
    group = ClusteringGroup(slices=(), metrics={"TOTAL_IO_READ_MB": metric})
    instant = Instant(
        requested_time="20260101000000000", action=Action.CLUSTERING, state=InstantState.REQUESTED
    )
    clustering = Clustering(instant=instant, plan=ClusteringPlan(groups=(group,)), extra_metadata={})
    assert [g.input_bytes for g in stored_plan_report(clustering, "pending").groups] == [0]


@pytest.mark.parametrize("note", ["5", "null", '"abc"', '{"a":1}', "[1]", "[[]]", "[" * 100_000, "\ud800"])
def test_an_unreadable_note_of_a_clean_is_ignored(note: str) -> None:
    metadata = CleanMetadata(
        start_clean_time="20260101000000000",
        time_taken_ms=0,
        total_files_deleted=0,
        partitions={},
        extra_metadata={RECHECK_KEY: note},
    )
    assert partitions_to_recheck(metadata) is None
