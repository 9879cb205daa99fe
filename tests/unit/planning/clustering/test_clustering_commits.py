"""Clustering of the files that certain commits wrote."""

import pytest

from hudi_table_services.model.clustering import (
    ClusteringInput,
    ClusteringProposal,
    PlanStrategyKind,
)
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.planning.clustering.plan import plan_clustering
from support.default_options import clustering_options

Commit = tuple[Instant, CommitMetadata]
BOTH = pytest.mark.parametrize("parity", [False, True], ids=["ours", "parity"])


def at(number: int) -> str:
    return f"202601{number:02}120000000"


def a_commit(
    number: int,
    *files: str,
    action: Action = Action.COMMIT,
    replaced: tuple[str, ...] | None = None,
    state: InstantState = InstantState.COMPLETED,
) -> Commit:
    """A commit that wrote the files, each given as ``partition/file id``."""
    stats: dict[str, tuple[WriteStat, ...]] = {}
    for path, file_id in (f.split("/") for f in files):
        stat = WriteStat(file_id=file_id, partition_path=path, path=f"{path}/{file_id}.parquet")
        stats[path] = (*stats.get(path, ()), stat)
    gone: dict[str, tuple[str, ...]] = {}
    for path, file_id in (f.split("/") for f in replaced or ()):
        gone[path] = (*gone.get(path, ()), file_id)
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats=stats,
        partition_to_replace_file_ids=None if replaced is None else gone,
    )
    return Instant(requested_time=at(number), action=action, state=state), metadata


def a_table(sizes: dict[str, int | None], reserved: tuple[str, ...] = ()) -> TableSnapshot:
    """A table with one slice for each ``partition/file id``; a slice with the size None has only a log file."""
    slices: dict[str, tuple[FileSlice, ...]] = {}
    for name, size in sizes.items():
        path, file_id = name.split("/")
        base = BaseFile(file_id=file_id, write_token="0-1-0", instant_time=at(1), size_bytes=size or 0)
        log = LogFile(file_id=file_id, instant_time=at(1), version=1, size_bytes=10)
        file_slice = FileSlice(
            file_group_id=FileGroupId(path, file_id),
            base_instant_time=at(1),
            base_file=None if size is None else base,
            log_files=(log,) if size is None else (),
        )
        slices[path] = (*slices.get(path, ()), file_slice)
    return TableSnapshot(
        config=TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "6"}),
        timeline=Timeline(),
        file_slices=slices,
        reserved_file_groups={FileGroupId(*name.split("/")): at(2) for name in reserved},
    )


def plan(table: TableSnapshot, *commits: Commit, **changes: object) -> ClusteringProposal:
    values: dict[str, object] = {
        "plan_strategy": PlanStrategyKind.COMMIT_BASED,
        "earliest_commit": at(1),
        "small_file_limit_bytes": 100,
        "target_file_max_bytes": 200,
        "max_bytes_per_group": 200,
    }
    options = clustering_options(**{**values, **changes})  # type: ignore[arg-type]
    return plan_clustering(table, options, ClusteringInput(commits=commits))


def groups(proposal: ClusteringProposal) -> list[list[str]]:
    return [[str(s.file_group_id) for s in g.slices] for g in proposal.groups]


def reasons(proposal: ClusteringProposal) -> dict[str, int]:
    return {s.reason: s.slices for s in proposal.skipped}


@BOTH
def test_only_files_that_later_commits_wrote_are_planned(parity: bool) -> None:
    table = a_table({"p/a": 10, "p/b": 10, "p/c": 10, "p/d": 10})
    commits = [a_commit(3, "p/c"), a_commit(1, "p/a"), a_commit(2, "p/b", "p/gone")]
    proposal = plan(table, *commits, parity=parity)
    assert groups(proposal) == [["p/b", "p/c"]]
    assert proposal.checkpoint == at(3)
    assert reasons(proposal) == {f"not written after {at(1)}": 2}


@BOTH
def test_pending_commits_are_ignored(parity: bool) -> None:
    table = a_table({"p/a": 10, "p/b": 10, "p/c": 10})
    pending = a_commit(4, "p/c", state=InstantState.INFLIGHT)
    proposal = plan(table, a_commit(2, "p/a", "p/b"), pending, parity=parity)
    assert (groups(proposal), proposal.checkpoint) == ([["p/a", "p/b"]], at(2))


@BOTH
def test_files_written_or_replaced_by_a_replace_commit_are_left_out(parity: bool) -> None:
    table = a_table({"p/a": 10, "p/b": 10, "p/c": 10, "p/new": 10})
    replace_commit = a_commit(3, "p/new", action=Action.REPLACE_COMMIT, replaced=("p/a",))
    proposal = plan(table, a_commit(2, "p/a", "p/b", "p/c"), replace_commit, parity=parity)
    assert groups(proposal) == [["p/b", "p/c"]]
    assert proposal.checkpoint == at(3)


@BOTH
def test_a_file_group_written_twice_is_planned_once(parity: bool) -> None:
    table = a_table({"p/a": 10, "p/b": 10})
    proposal = plan(table, a_commit(2, "p/a", "p/b"), a_commit(3, "p/a"), parity=parity)
    assert groups(proposal) == [["p/a", "p/b"]]


@BOTH
def test_without_later_commits_the_checkpoint_stays(parity: bool) -> None:
    proposal = plan(a_table({"p/a": 10}), a_commit(1, "p/a"), parity=parity)
    assert (proposal.groups, proposal.checkpoint) == ((), at(1))
    assert f"(1 file: not written after {at(1)})" in proposal.reason


def test_the_checkpoint_stops_before_files_without_room_in_the_plan() -> None:
    table = a_table({f"{p}/{f}": size for p, size in (("p", 10), ("q", 20)) for f in "ab"})
    commits = [a_commit(2, "p/a"), a_commit(3, "q/a", "q/b"), a_commit(4, "p/b")]
    proposal = plan(table, *commits, max_num_groups=1)
    assert (groups(proposal), proposal.checkpoint) == ([["p/a", "p/b"]], at(2))
    assert proposal.overdue_partitions == ("q",)
    assert plan(table, *commits[1:], commits[0], max_num_groups=2).checkpoint == at(4)


def test_the_checkpoint_stops_before_files_of_another_plan() -> None:
    table = a_table({"p/a": 10, "p/b": 10, "p/c": 10}, reserved=("p/b",))
    proposal = plan(table, a_commit(2, "p/a"), a_commit(3, "p/b"), a_commit(4, "p/c"))
    assert (groups(proposal), proposal.checkpoint) == ([["p/a", "p/c"]], at(2))
    first = plan(table, a_commit(2, "p/b"), a_commit(3, "p/a", "p/c"))
    assert (len(first.groups), first.checkpoint) == (1, at(1))


def test_only_the_planner_without_parity_has_a_size_limit() -> None:
    table = a_table({"p/a": 10, "p/b": 150, "p/c": 10})
    commit = a_commit(2, "p/a", "p/b", "p/c")
    assert groups(plan(table, commit)) == [["p/a", "p/c"]]
    assert groups(plan(table, commit, parity=True)) == [["p/a", "p/b", "p/c"]]


def test_parity_groups_a_partition_as_soon_as_it_is_full() -> None:
    table = a_table({"p/a": 90, "p/b": 120, "p/c": 60, "p/d": 30, "q/a": 10})
    commits = [a_commit(2, "p/a", "q/a"), a_commit(3, "p/b"), a_commit(4, "p/c", "p/d")]
    proposal = plan(table, *commits, parity=True)
    assert groups(proposal) == [["p/b"], ["p/a"], ["p/c", "p/d"], ["q/a"]]


def test_parity_stops_after_the_commit_that_fills_the_plan() -> None:
    table = a_table({"p/a": 90, "p/b": 120, "p/c": 60, "q/a": 10}, reserved=())
    commits = [a_commit(2, "p/a", "q/a"), a_commit(3, "p/b"), a_commit(4, "p/c")]
    proposal = plan(table, *commits, parity=True, max_num_groups=2)
    assert (groups(proposal), proposal.checkpoint) == ([["p/b"], ["p/a"]], at(3))
    assert [(s.partition_path, s.slices, s.is_overdue) for s in proposal.skipped] == [
        ("p", 1, True),
        ("q", 1, True),
    ]


def test_parity_plans_no_partition_without_a_base_file() -> None:
    table = a_table({"p/a": None, "q/a": -1, "q/b": 10}, reserved=())
    proposal = plan(table, a_commit(2, "p/a", "q/a", "q/b", action=Action.DELTA_COMMIT), parity=True)
    assert groups(proposal) == [["q/b"]]
    assert reasons(proposal) == {
        "in a partition in which the commits wrote only log files": 1,
        "size of a file is unknown": 1,
    }
