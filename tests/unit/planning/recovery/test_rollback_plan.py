"""Rollback plans in Hudi's form, and the rollbacks that are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import (
    CorruptTableError,
    HudiTableServiceError,
    MalformedFileNameError,
    UnsupportedTableError,
)
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import InstantReference, RollbackPlan, RollbackRequest
from hudi_table_services.planning.recovery.rollback_plan import (
    files_to_delete,
    plan_rollback,
    rollback_metadata,
)

TIME = "20261121051541055"
DEAD = Instant(requested_time=TIME, action=Action.COMMIT, state=InstantState.INFLIGHT)
FILE = f"48c79efb-0_1-835-1091_{TIME}.parquet"
LOG = f".48c79efb-0_{TIME}.log.1_0-847-1407"


def test_a_rollback_plan_from_markers_names_file_group_and_absolute_path() -> None:
    plan = plan_rollback(DEAD, [f"b/{FILE}"], "/data/trips")
    assert plan == RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=TIME, action="commit"),
        requests=(
            RollbackRequest(
                partition_path="b",
                file_id="48c79efb-0",
                latest_base_instant=TIME,
                files_to_delete=(f"/data/trips/b/{FILE}",),
            ),
        ),
    )


def test_a_rollback_plan_from_a_listing_names_no_file_group() -> None:
    (request,) = plan_rollback(DEAD, [FILE], "/data/trips/", by_listing=True).requests
    assert (request.partition_path, request.file_id, request.latest_base_instant) == ("", "", "")
    assert request.files_to_delete == (f"/data/trips/{FILE}",)


def test_log_files_of_the_dead_write_itself_are_deleted() -> None:
    (request,) = plan_rollback(DEAD, [f"a/{LOG}"], "s3://b/t").requests
    assert (request.file_id, request.files_to_delete) == ("48c79efb-0", (f"s3://b/t/a/{LOG}",))


@pytest.mark.parametrize(
    "name", [".f-0_20200101000000000.log.2_0-1-0", "f-0_0-1-0_20200101000000000.parquet"]
)
def test_an_append_to_an_older_slice_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedTableError, match="older slice"):
        plan_rollback(DEAD, [f"a/{name}"], "/t")


def test_a_marker_that_does_not_name_a_data_file_is_refused() -> None:
    with pytest.raises(MalformedFileNameError):
        plan_rollback(DEAD, ["a/notes.txt"], "/t")


@given(st.sets(st.tuples(st.sampled_from(["", "a", "x/y=z", "city=a b%"]), st.integers(0, 50)), max_size=8))
def test_a_plan_deletes_exactly_the_files_it_was_built_from(files: set[tuple[str, int]]) -> None:
    paths = {f"{folder}/f{n}-0_{FILE.partition('_')[2]}".lstrip("/") for folder, n in files}
    plan = plan_rollback(DEAD, paths, "/t")
    assert {path for found in files_to_delete(plan).values() for path in found} == paths
    assert rollback_metadata(plan, "1", 2).total_files_deleted == len(paths)


@pytest.mark.parametrize("prefix", ["/somewhere/else/b/", "file:/t/b/", "hdfs://host/t/b/"])
def test_a_stored_plan_is_valid_after_the_table_was_moved(prefix: str) -> None:
    request = RollbackRequest(partition_path="b", files_to_delete=(prefix + FILE,))
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=TIME, action="commit"), requests=(request,)
    )
    assert files_to_delete(plan) == {"b": (f"b/{FILE}",)}


@pytest.mark.parametrize(
    ("partition_path", "path"),
    [
        ("b", f"/t/c/{FILE}"),
        ("b", f"/t/{FILE}"),
        ("b", "/t/b/f-0_0-1-0_20200101000000000.parquet"),
        ("b", "/t/b/.hoodie_partition_metadata"),
        ("b", "/t/b/"),
        ("b", FILE),
        ("", "/t/.hoodie/hoodie.properties"),
    ],
)
def test_a_stored_plan_that_names_other_files_is_refused(partition_path: str, path: str) -> None:
    request = RollbackRequest(partition_path=partition_path, files_to_delete=(path,))
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=TIME, action="commit"), requests=(request,)
    )
    with pytest.raises(CorruptTableError):
        files_to_delete(plan)


def test_a_stored_plan_with_log_blocks_is_refused() -> None:
    request = RollbackRequest(partition_path="b", log_blocks_to_delete={LOG: 1})
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=TIME, action="deltacommit"), requests=(request,)
    )
    with pytest.raises(HudiTableServiceError, match="log blocks"):
        files_to_delete(plan)


def test_metadata_lists_deleted_files_by_partition() -> None:
    other = FILE.replace("48c79efb", "d66577da")
    plan = plan_rollback(DEAD, [f"b/{FILE}", f"a/{other}", f"b/{other}"], "/t")
    metadata = rollback_metadata(plan, "20261121051545305", 350)
    assert (metadata.start_rollback_time, metadata.time_taken_ms) == ("20261121051545305", 350)
    assert metadata.commits_rolled_back == (TIME,)
    assert metadata.instants_rolled_back == (InstantReference(requested_time=TIME, action="commit"),)
    assert {path: p.deleted_files for path, p in metadata.partitions.items()} == {
        "a": (f"/t/a/{other}",),
        "b": (f"/t/b/{FILE}", f"/t/b/{other}"),
    }
