"""Files of a partition that a clean deletes: Hudi's rules by example, and laws for any files."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hudi_table_services.model.cleaning import (
    CleanOptions,
    CleanPolicy,
    FileGroupVersions,
    FilesToDelete,
    KeptFiles,
    PartitionFiles,
    Retention,
    SliceFiles,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.planning.cleaning.partition import plan_partition
from support.default_options import clean_options

BY_COMMITS = clean_options()
BY_VERSIONS = clean_options(policy=CleanPolicy.KEEP_LATEST_FILE_VERSIONS, file_versions_retained=2)
NOW = "20260131000000000"


def at(number: int) -> str:
    return f"202601{number:02}120000000"


def name(file_id: str, number: int) -> str:
    return f"{file_id}_0-0-0_{at(number)}.parquet"


def a_group(
    *numbers: int, file_id: str = "f", replaced: int | None = None, replaced_at: str = ""
) -> FileGroupVersions:
    slices = [
        SliceFiles(base_instant_time=at(n), visible_at=at(n), sizes={name(file_id, n): n})
        for n in sorted(numbers, reverse=True)
    ]
    return FileGroupVersions(
        file_group_id=FileGroupId("p", file_id),
        slices=tuple(slices),
        replaced_by=at(replaced) if replaced else None,
        replaced_at=replaced_at or (at(replaced) if replaced else ""),
    )


def retain_from(number: int | None) -> Retention:
    if number is None:
        return Retention(earliest=None)
    return Retention(
        earliest=Instant(requested_time=at(number), action=Action.COMMIT, state=InstantState.COMPLETED)
    )


def plan(
    *groups: FileGroupVersions,
    earliest: int | None = None,
    options: CleanOptions = BY_COMMITS,
    floor_cutoff: str = NOW,
    pinned: frozenset[str] = frozenset(),
    has_other_files: bool = False,
) -> FilesToDelete:
    partition = PartitionFiles(partition_path="p", groups=groups, has_other_files=has_other_files)
    return plan_partition(partition, options, retain_from(earliest), floor_cutoff=floor_cutoff, pinned=pinned)


def test_the_newest_version_before_the_earliest_commit_stays() -> None:
    assert plan(a_group(1, 4, 8, 14), earliest=6).sizes == {name("f", 1): 1}
    assert set(plan(a_group(1, 4), earliest=6).sizes) == {name("f", 1)}
    assert plan(a_group(1, 4, 8, 14), earliest=None).sizes == {}


def test_kept_outdated_files_are_counted_by_reason() -> None:
    group = a_group(1, 2, 3, 4)
    assert plan(group, earliest=None).kept == KeptFiles(by_policy=3)
    assert plan(group, earliest=4).kept == KeptFiles(by_policy=1)
    assert plan(group, earliest=4, floor_cutoff=at(3)).kept == KeptFiles(by_policy=1, for_queries=1)
    assert plan(group, earliest=4, pinned=frozenset({name("f", 2)})).kept == KeptFiles(by_policy=1, pinned=1)
    assert plan(a_group(1, 2, replaced=5), earliest=5).kept == KeptFiles(by_policy=2)
    assert plan(a_group(1, 2, replaced=5), earliest=6).kept == KeptFiles()
    assert plan(a_group(1), earliest=None).kept == KeptFiles()


def test_replaced_groups_are_deleted_completely_if_the_replacement_is_older_than_the_earliest_commit() -> (
    None
):
    group = a_group(1, 2, replaced=5)
    assert set(plan(group, earliest=6).sizes) == {name("f", 1), name("f", 2)}
    assert plan(group, earliest=5).sizes == {}


@pytest.mark.parametrize("options", [BY_COMMITS, BY_VERSIONS], ids=["commits", "versions"])
def test_files_of_recently_replaced_groups_are_kept_under_every_policy(options: CleanOptions) -> None:
    """A clustering planned on day 5 was executed on day 20, so queries may still read the files that it replaced."""
    group = a_group(1, replaced=5, replaced_at=at(20))
    assert plan(group, earliest=10, options=options, floor_cutoff=at(20)).sizes == {}
    assert plan(group, earliest=10, options=options, floor_cutoff=at(21)).sizes != {}


def test_the_policy_by_file_versions_deletes_older_versions_except_recently_outdated_ones() -> None:
    group = a_group(1, 4, 8, 14)
    assert set(plan(group, options=BY_VERSIONS).sizes) == {name("f", 1), name("f", 4)}
    assert set(plan(group, options=BY_VERSIONS, floor_cutoff=at(8)).sizes) == {name("f", 1)}


def test_pinned_files_stay() -> None:
    pinned = frozenset({name("f", 1)})
    assert plan(a_group(1, 4, 8), earliest=9, pinned=pinned).sizes == {name("f", 4): 4}
    assert plan(a_group(1, replaced=2), earliest=9, pinned=pinned).sizes == {}


def test_a_partition_is_emptied_if_no_version_and_no_other_file_stays() -> None:
    group = a_group(1, 2, replaced=5)
    assert plan(group, earliest=6).is_emptied
    assert not plan(group, earliest=6, has_other_files=True).is_emptied
    assert not plan(group, a_group(3, file_id="g"), earliest=6).is_emptied
    assert not plan(group, earliest=6, pinned=frozenset({name("f", 1)})).is_emptied
    assert not plan(earliest=6).is_emptied


DAYS = st.integers(1, 28)


@given(
    histories=st.lists(st.sets(DAYS, min_size=1, max_size=8), min_size=1, max_size=5),
    replaced=st.lists(st.none() | DAYS, min_size=5, max_size=5),
    earliest=DAYS,
    floor=DAYS,
    versions=st.integers(1, 4),
    by_versions=st.booleans(),
    pinned=st.sets(st.tuples(st.integers(0, 4), DAYS)),
)
def test_files_that_readers_may_need_are_never_deleted(
    histories: list[set[int]],
    replaced: list[int | None],
    earliest: int,
    floor: int,
    versions: int,
    by_versions: bool,
    pinned: set[tuple[int, int]],
) -> None:
    policy = CleanPolicy.KEEP_LATEST_FILE_VERSIONS if by_versions else CleanPolicy.KEEP_LATEST_COMMITS
    options = clean_options(policy=policy, file_versions_retained=versions)
    groups = [
        a_group(*days, file_id=f"f{i}", replaced=max(day, *days) if day else None)
        for i, (days, day) in enumerate(zip(histories, replaced, strict=False))
    ]
    names = frozenset(name(f"f{i}", day) for i, day in pinned)
    doomed = plan(*groups, earliest=earliest, options=options, floor_cutoff=at(floor), pinned=names).sizes
    assert names.isdisjoint(doomed)
    for i, (days, group) in enumerate(zip(histories, groups, strict=True)):
        deleted = {day for day in days if name(f"f{i}", day) in doomed}
        ends = [*sorted(days)[1:], None]
        for day, outdated in zip(sorted(days), ends, strict=True):
            if day in deleted:
                moment = at(outdated) if outdated else group.replaced_at
                assert moment, "the latest version"
                assert moment < at(floor), "a query may have started before the version became outdated"
        if deleted and group.replaced_by is not None:
            assert by_versions or group.replaced_by < at(earliest)
        if not by_versions:
            for moment in range(earliest, 29):
                current = max((day for day in days if day <= moment), default=None)
                if group.replaced_by is None or group.replaced_by > at(moment):
                    assert current not in deleted, f"as of day {moment}"
