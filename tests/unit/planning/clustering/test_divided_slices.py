"""File slices that are too large: with an option, each becomes a group of its own and is divided into several files."""

import pytest

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringOptions,
    ClusteringProposal,
    Layout,
    SettledSlice,
)
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.planning.clustering.plan import plan_clustering
from support.default_options import clustering_options
from support.small_tables import table_properties

TIME = "20260101000000000"


def a_slice(file_id: str, size: int, log_bytes: int = 0) -> FileSlice:
    log = LogFile(file_id=file_id, instant_time=TIME, version=1, write_token="1-1-1", size_bytes=log_bytes)
    return FileSlice(
        file_group_id=FileGroupId("p", file_id),
        base_instant_time=TIME,
        base_file=BaseFile(file_id=file_id, write_token="0-1-0", instant_time=TIME, size_bytes=size),
        log_files=(log,) if log_bytes else (),
    )


def options(**changes: object) -> ClusteringOptions:
    given = {"small_file_limit_bytes": 100, "target_file_max_bytes": 200, "split_above_bytes": 300, **changes}
    return clustering_options(max_bytes_per_group=400, size_tolerance=0.1, **given)


def plan(*slices: FileSlice, given: ClusteringInput | None = None, **changes: object) -> ClusteringProposal:
    snapshot = TableSnapshot(
        config=TableConfig(table_properties(TableVersion.V9)), timeline=Timeline(), file_slices={"p": slices}
    )
    return plan_clustering(snapshot, options(**changes), given or ClusteringInput())


def groups(proposal: ClusteringProposal) -> list[tuple[list[str], int]]:
    return [([s.file_group_id.file_id for s in g.slices], g.output_files) for g in proposal.groups]


def test_a_large_slice_is_divided_and_other_slices_stay() -> None:
    proposal = plan(a_slice("large", 900), a_slice("medium", 250), a_slice("one", 50), a_slice("two", 60))
    assert groups(proposal) == [(["one", "two"], 1), (["large"], 5)]
    assert proposal.groups[1].reason == "1 file of at least 300 bytes into 5"
    assert [(s.slices, s.reason) for s in proposal.skipped] == [
        (1, "at or above the small-file limit of 100 B")
    ]


def test_without_the_option_large_slices_stay() -> None:
    assert groups(plan(a_slice("large", 900), split_above_bytes=0)) == []


def test_log_files_make_a_slice_large() -> None:
    assert groups(plan(a_slice("large", 250, 400), log_weight=0.5)) == [(["large"], 3)]
    assert groups(plan(a_slice("large", 250, 400), log_weight=0.1)) == []


def test_a_slice_that_a_clustering_with_the_same_target_wrote_is_not_divided_again() -> None:
    group = FileGroupId("p", "large")
    for target, expected in ((200, []), (1000, [(["large"], 5)])):
        known = ClusteringInput(settled={group: SettledSlice(layout=Layout(), target_file_max_bytes=target)})
        assert groups(plan(a_slice("large", 900), given=known)) == expected


@pytest.mark.parametrize("limit", [1, 200, 220])
def test_a_limit_at_which_new_files_would_be_divided_again_is_refused(limit: int) -> None:
    with pytest.raises(InvalidRequestError, match=r"split\.above\.bytes \(\d+\) must be above"):
        plan(a_slice("large", 900), split_above_bytes=limit)
    assert groups(plan(a_slice("large", 900), split_above_bytes=221)) == [(["large"], 5)]
