"""The example ``flights_merge_on_read`` on real Spark: loads write log files, and every second load is compacted."""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.hooks.hudi import HudiHook
from hudi_table_services.model.instant import Action
from judges.hudi_rs import read_snapshot


def day(number: int) -> datetime:
    return datetime(2013, 1, number, tzinfo=timezone.utc)


@pytest.mark.thorough
def test_days_are_loaded_in_any_order_and_compacted_after_two_commits(
    run_dag: Callable[..., Any], example: Callable[[str], Any], tmp_path: Path
) -> None:
    dag = example("flights_merge_on_read")
    states, hook = [], HudiHook(str(tmp_path / "flights_merge_on_read"))
    for number in (
        3,
        2,
        4,
    ):  # a run ends when its data interval ends, so the logical date is the following day
        done = run_dag(dag, logical_date=day(number + 1), run_conf={"every_n_commits": 2})
        assert done.state == "success"
        states.append({ti.task_id: str(ti.state) for ti in done.get_task_instances()}["compact"])
        if number == 2:
            assert all(not each.log_files for each in hook.snapshot().all_slices), (
                "the compaction merged all log files"
            )
    assert states == ["skipped", "success", "skipped"]
    assert any(each.log_files for each in hook.snapshot().all_slices), (
        "the third load updated the flights of a day"
    )
    actions = [instant.action for instant in hook.timeline().completed]
    assert actions == [Action.DELTA_COMMIT, Action.DELTA_COMMIT, Action.COMMIT, Action.DELTA_COMMIT]
    (compaction,) = hook.compactions().compactions
    assert compaction.partitions == ("2013-01-02",)
    delays: dict[int, list[float | None]] = {}
    for row in read_snapshot(tmp_path / "flights_merge_on_read").to_pylist():
        delays.setdefault(int(row["flight_day"][-2:]), []).append(row["dep_delay"])
    assert {each: len(found) for each, found in delays.items()} == {1: 842, 2: 943, 3: 914, 4: 915}
    assert all(delay is None for delay in delays[4]), "only the schedule of the newest day is known"
    for earlier in (1, 2, 3):
        assert sum(delay is not None for delay in delays[earlier]) > 800
