"""Writes before and during the execution of a plan: no row is lost, and the clustering completes where possible."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import (
    CorruptTableError,
    InstantHeldError,
    InstantVanishedError,
    PendingPlanError,
)
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.heartbeat import Heartbeat
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import StoredObject
from judges.table_files import files_below
from support.depth import cases
from support.fixed_clock import FixedClock
from support.spark.planned_tables import BATCHES, STRATEGY, HeldUp, in_small_files
from support.spark.writing import Row, TableUnderTest


@pytest.fixture(scope="module", params=cases(["6", "9"], ["9"]))
def small_files(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> TableUnderTest:
    return in_small_files(spark, tmp_path_factory.mktemp("clustering") / "t", request.param)


@pytest.fixture
def table(small_files: TableUnderTest, tmp_path: Path) -> TableUnderTest:
    return small_files.copied_to(tmp_path / "t")


def updated(table: TableUnderTest, *changes: Row) -> list[Row]:
    """The expected rows of the table after an upsert of these rows."""
    return sorted({**{row[0]: row for row in table.rows()}, **{row[0]: row for row in changes}}.values())


def files_by_partition(table: TableUnderTest) -> dict[str, int]:
    return {path: len(files) for path, files in table.live_files().items()}


def hidden_plan(table: TableUnderTest) -> dict[Path, Path]:
    """Move the files of the pending plan away, so that a writer does not find the plan.

    Returns:
        new path of each file, by its old path. The files keep their modification times, so the plan is not changed.
    """
    folder = table.base_path.parent / "hidden"
    folder.mkdir(exist_ok=True)
    found = {
        path: folder / path.name
        for path in files_below(table.base_path / ".hoodie")
        if path.name.endswith((".requested", ".inflight")) and is_clustering(path)
    }
    for path, hidden in found.items():
        path.rename(hidden)
    return found


def is_clustering(path: Path) -> bool:
    time = path.name.split(".")[0]
    completed = any(p.name.split(".")[0].split("_")[0] == time for p in path.parent.glob("*commit"))
    return not completed and "commit.requested" not in path.name.replace("replacecommit", "")


def restore_plan(files: dict[Path, Path]) -> None:
    for path, hidden in files.items():
        hidden.rename(path)


def test_a_write_releases_those_file_groups_of_a_plan_that_the_write_changes(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time or ""
    change = ("a1", 2, "a", 2.0)
    expected = updated(table, change)
    assert table.write([change]).rows.updated == 1
    assert table.rows() == expected
    executed = table.execute(plan)
    assert executed.outcome is Outcome.COMPLETED
    assert executed.instant_time != plan, "the write did not replace the plan"
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": BATCHES, "b": 1}
    assert table.leftovers() == set()


def test_a_write_that_changes_all_groups_of_a_plan_cancels_the_plan(
    table: TableUnderTest,
) -> None:
    plan = table.schedule().instant_time or ""
    written = table.write([("a1", 2, "a", 2.0), ("b1", 2, "b", 2.0)])
    executed = table.execute(plan)
    assert executed.outcome is Outcome.NOTHING_TO_DO
    assert executed.reason == (
        f"write {written.instant_time} released all file groups of clustering {plan} and thereby cancelled it"
    )


@pytest.mark.parametrize(
    ("operation", "rows", "options"),
    [
        ("insert_overwrite", [("new", 9, "a", 9.0)], {}),
        ("insert_overwrite_table", [("new", 9, "a", 9.0)], {}),
        ("delete", [("a1", 9, "a", 9.0)], {}),
    ],
)
def test_every_operation_that_changes_file_groups_completes_despite_a_plan(
    table: TableUnderTest, operation: str, rows: list[Row], options: dict[str, str]
) -> None:
    table.schedule()
    result = table.write(rows, operation, options=options)
    assert result.outcome is Outcome.COMPLETED
    after = table.rows()
    table.execute()
    assert table.rows() == after
    assert table.leftovers() == set()


def test_an_insert_does_not_change_a_plan(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time or ""
    table.write([("new", 1, "a", 1.0)], "insert")
    expected = table.rows()
    assert table.execute(plan).instant_time == plan
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": 2, "b": 1}


def test_a_write_waits_for_the_execution_of_a_plan_and_then_changes_the_clustered_files(
    table: TableUnderTest,
) -> None:
    table.schedule()
    change = ("a1", 2, "a", 2.0)
    expected = updated(table, change)
    with ThreadPoolExecutor(1) as pool:
        with HeldUp(table) as execution:
            write = pool.submit(table.write, [change])
            with pytest.raises(TimeoutError):
                write.result(3)
        assert execution.result.result().outcome is Outcome.COMPLETED
        assert write.result(60).rows.updated == 1
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": 1, "b": 1}
    assert table.leftovers() == set()


def test_a_write_fails_if_the_execution_of_a_plan_lasts_too_long(table: TableUnderTest) -> None:
    table.schedule()
    with HeldUp(table), pytest.raises(PendingPlanError, match="did not end within 1 s"):
        table.write([("a1", 2, "a", 2.0)], options={"hoodie.airflow.clustering.wait.seconds": "1"})
    assert files_by_partition(table) == {"a": 1, "b": 1}


def test_with_the_reject_strategy_the_write_fails_and_changes_nothing(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time
    files = table.files()
    hudis = "org.apache.hudi.client.clustering.update.strategy.SparkRejectUpdateStrategy"
    with pytest.raises(
        PendingPlanError,
        match=f"pending clustering {plan}, [0-9] min old, .*SparkRejectUpdateStrategy rejects the write",
    ):
        table.write([("a1", 2, "a", 2.0)], options={STRATEGY: hudis})
    with pytest.raises(PendingPlanError, match="SparkAllowUpdateStrategy rejects the write"):
        table.write([("a1", 2, "a", 2.0)], options={STRATEGY: "SparkAllowUpdateStrategy"})
    assert table.files() == files


def test_with_the_allow_strategy_the_write_rolls_back_a_plan_that_is_being_executed(
    table: TableUnderTest,
) -> None:
    table.schedule()
    change = ("a1", 2, "a", 2.0)
    expected = updated(table, change)
    options = {
        STRATEGY: "SparkAllowUpdateStrategy",
        "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true",
    }
    with HeldUp(table) as execution:
        table.write([change], options=options)
    assert isinstance(execution.result.exception(), InstantVanishedError)
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": BATCHES, "b": BATCHES}
    assert table.leftovers() == set()


def test_an_execution_drops_groups_that_a_write_changed_without_finding_the_plan(
    table: TableUnderTest,
) -> None:
    table.schedule()
    change = ("a1", 2, "a", 2.0)
    expected = updated(table, change)
    with HeldUp(table) as execution:
        plan = hidden_plan(table)
        table.write([change], options={"hoodie.cleaner.policy.failed.writes": "NEVER"})
        restore_plan(plan)
    result = execution.result.result()
    assert result.report is not None
    assert [p.groups_given_up for p in result.report.plans] == [1]
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": BATCHES, "b": 1}
    assert table.leftovers() == set()


def test_an_execution_that_drops_all_groups_cancels_the_plan(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time or ""
    changes = [("a1", 2, "a", 2.0), ("b1", 2, "b", 2.0)]
    expected = updated(table, *changes)
    with HeldUp(table) as execution:
        hidden = hidden_plan(table)
        table.write(changes, options={"hoodie.cleaner.policy.failed.writes": "NEVER"})
        restore_plan(hidden)
    result = execution.result.result()
    assert result.outcome is Outcome.NOTHING_TO_DO
    assert f"clustering {plan} was cancelled: other writers changed all" in result.reason
    assert not table.timeline_store().load().pending
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": BATCHES, "b": BATCHES}
    assert table.leftovers() == set()


def test_an_execution_that_cancels_one_plan_still_completes_the_other_plans(table: TableUnderTest) -> None:
    scheduled = table.schedule(options={"hoodie.airflow.clustering.groups.per.plan": "1"}).report
    assert scheduled is not None
    change = ("a1", 2, "a", 2.0)
    expected = updated(table, change)
    hidden = hidden_plan(table)
    table.write([change])
    restore_plan(hidden)
    done = table.execute()
    assert done.outcome is Outcome.COMPLETED
    assert done.report is not None
    assert [plan.instant_time for plan in done.report.plans] == list(scheduled.instants)
    assert sorted(plan.state for plan in done.report.plans) == ["cancelled", "completed"]
    assert "was cancelled" in done.reason
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": BATCHES, "b": 1}
    assert table.leftovers() == set()


def test_only_one_of_two_executions_of_a_plan_writes(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time or ""
    expected = table.rows()
    with HeldUp(table) as first, ThreadPoolExecutor(1) as pool:
        with pytest.raises(InstantHeldError, match="its heartbeat is fresh"):
            table.execute(plan)
        second = pool.submit(table.execute, plan, when_held="wait")
        with pytest.raises(TimeoutError):
            second.result(3)
        first.may_commit.set()
        assert second.result(60).reused
    assert not first.result.result().reused
    assert table.rows() == expected
    assert table.leftovers() == set()


def later() -> FixedClock:
    """A clock ten minutes ahead. According to this clock, the lock and the heartbeat of a dead job have expired."""
    return FixedClock(SystemClock().now() + timedelta(minutes=10), step=timedelta(milliseconds=1))


def test_a_second_execution_takes_over_the_plan_of_a_dead_execution(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time or ""
    expected = table.rows()
    with HeldUp(table) as dead:
        storage = LocalStorage(str(table.base_path))
        Heartbeat(storage, plan, owner="another attempt")._storage.write(
            f".hoodie/.heartbeat/{plan}", b"another"
        )
        taken = table.execute(plan, clock=later())
        assert taken.outcome is Outcome.COMPLETED
    assert dead.result.exception() is None, "the first execution did not find the commit of the second one"
    assert dead.result.result().reused
    assert table.rows() == expected
    assert table.leftovers() == set()


def test_a_failed_execution_removes_its_files_and_leaves_the_plan_pending(
    table: TableUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = table.schedule().instant_time or ""
    expected = table.rows()
    doomed = next(iter(table.live_files()["b"]))
    content = doomed.read_bytes()
    doomed.write_bytes(content[:-8] + b"no footer")
    with pytest.raises(CorruptTableError, match=re.escape(doomed.name)):
        table.execute(plan)
    assert table.leftovers() == set()
    doomed.write_bytes(content)
    assert table.execute(plan).instant_time == plan
    assert table.rows() == expected


def test_a_plan_does_not_contain_file_groups_that_a_running_write_changes(
    spark: SparkSession, table: TableUnderTest
) -> None:
    from support.spark import held_up

    with held_up.HeldUp(table, [("a1", 2, "a", 2.0)], "writer") as writer:
        scheduled = table.schedule()
        assert scheduled.report is not None
        skipped = [text for text in scheduled.report.skipped if "of the write" in text]
        assert skipped
    assert writer.result.result().rows.updated == 1
    expected = table.rows()
    table.execute()
    assert table.rows() == expected


def test_an_execution_does_not_commit_if_another_writer_lists_a_metadata_table(
    table: TableUnderTest,
) -> None:
    plan = table.schedule().instant_time or ""
    expected, properties = table.rows(), table.base_path / ".hoodie" / "hoodie.properties"
    unlisted = properties.read_text()

    class Listing(LocalStorage):
        def list_files(self, folder: str = "") -> Iterator[StoredObject]:
            if folder == f".hoodie/.temp/{plan}":
                # A Hudi writer with default options and without the lock may list a metadata table at any time.
                properties.write_text(f"{unlisted}hoodie.table.metadata.partitions=files\n")
            return super().list_files(folder)

        def __reduce__(self) -> tuple[object, ...]:
            return (LocalStorage, (self.root,))

    with pytest.raises(CorruptTableError, match=r"hoodie\.metadata\.enable"):
        table.execute(plan, storage=Listing(str(table.base_path)))
    properties.write_text(unlisted)
    assert table.rows() == expected
    assert files_by_partition(table) == {"a": BATCHES, "b": BATCHES}
    assert table.leftovers() == set()


def test_an_execution_without_a_heartbeat_can_be_taken_over_only_after_it_has_expired(
    table: TableUnderTest,
) -> None:
    plan = table.schedule().instant_time or ""
    store = table.timeline_store()
    (pending,) = store.load().pending
    store.start(pending)  # like real Hudi, this execution writes no heartbeat
    with pytest.raises(InstantHeldError, match="has no heartbeat, like every execution by Hudi"):
        table.execute(plan)
    taken = table.execute(plan, options={"hoodie.clustering.expiration.threshold.mins": "0"})
    assert taken.instant_time == plan


def test_a_retry_of_the_same_request_takes_over_its_plan_immediately(table: TableUnderTest) -> None:
    plan = table.schedule().instant_time or ""
    with HeldUp(table, request_id="same") as dead:
        assert table.execute(plan, request_id="same").instant_time == plan
    assert dead.result.result().reused
    assert table.leftovers() == set()
