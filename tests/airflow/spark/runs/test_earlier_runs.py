"""Whether a task continues or ends a supervised run of a lost machine, of an earlier try, or with other arguments."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from supervised_runs import (
    SUCCEED,
    TIMEOUT_S,
    count_starts,
    deferred,
    event_of,
    only_run,
    wait_until,
    waiting_program,
)

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.spark import deferred_run, run_files
from airflow_hudi_provider.spark.supervised_run import (
    RunState,
    SupervisedRun,
    folder_of_runs,
    sweep_abandoned,
)
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.identity import owner_of
from airflow_hudi_provider.triggers import spark_run
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context

Operator = Callable[..., UpsertWithSizingOperator]


def move_to_a_lost_machine(run: SupervisedRun) -> None:
    """Record a machine that no longer exists as the host of the run."""
    ended = run.wait_for_end(TIMEOUT_S)
    assert ended.state is RunState.ENDED
    (run.folder / run_files.END).unlink()
    state = run_files.read_json(run.folder / run_files.STATE) or {}
    run_files.write_json(run.folder / run_files.STATE, {**state, "host": "lost"})
    assert not run.observe().is_here


def test_a_run_of_a_lost_machine_is_abandoned(
    operator: Operator, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferred_run, "_HEARTBEAT_TIMEOUT_S", 1.0)
    monkeypatch.setattr(spark_run, "LOST_AFTER_S", 0.5)
    (tmp_path / "go").touch()
    trigger = deferred(operator(waiting_program(tmp_path) + "sys.exit(1)", deferrable=True))
    move_to_a_lost_machine(only_run(runs))
    event = event_of(trigger)
    assert event["state"] == "lost"
    with pytest.raises(HudiTaskError, match="the next try checks whether the run has a heartbeat"):
        operator(deferrable=True).execute_when_over(context(), event)
    event = event_of(deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert count_starts(tmp_path) == 2


def test_a_run_of_a_live_machine_is_continued(operator: Operator, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "go").touch()
    deferred(operator(waiting_program(tmp_path) + "sys.exit(1)", deferrable=True))
    run = only_run(runs)
    move_to_a_lost_machine(run)
    state = run_files.read_json(run.folder / run_files.STATE) or {}

    async def retry() -> None:
        retrying = asyncio.create_task(
            asyncio.to_thread(deferred, operator(waiting_program(tmp_path) + SUCCEED, deferrable=True))
        )
        for beat in range(100, 140):
            if retrying.done():
                break
            run_files.write_json(run.folder / run_files.STATE, {**state, "beat": beat})
            await asyncio.sleep(0.2)
        await retrying

    asyncio.run(retry())
    assert count_starts(tmp_path) == 1
    (run.folder / run_files.RUN).unlink()


def test_changed_arguments_start_a_new_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """A user corrected the query while no triggerer was running, so no triggerer ended the old run."""
    dry_run = waiting_program(tmp_path) + "result(outcome='planned')"
    deferred(operator(dry_run, deferrable=True, dry_run=True))
    wait_until(lambda: count_starts(tmp_path) == 1)
    before = only_run(runs).observe()
    (tmp_path / "go").touch()
    event = event_of(deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True)))
    assert before.launch not in ("", only_run(runs).observe().launch)
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert count_starts(tmp_path) == 2


def test_changed_credentials_do_not_start_a_new_run(operator: Operator) -> None:
    """Session credentials change with each read of the connection."""
    made = operator(deferrable=True)
    owners = {
        owner_of(
            context(),
            made.build_request(TableLocation(base_path="/t", storage_options={"token": token}), "id", ""),
        )
        for token in ("old", "new")
    }
    assert len(owners) == 1


def test_a_late_trigger_does_not_end_the_run_and_the_turn_of_the_next_try(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """A slow triggerer reacts to the clearing of the task only after the next try has started."""
    arguments = {"deferrable": True, "take_turns": True}
    old = deferred(operator(waiting_program(tmp_path) + SUCCEED, **arguments))
    wait_until(lambda: count_starts(tmp_path) == 1)
    deferred(operator(waiting_program(tmp_path) + SUCCEED, **arguments), ti=TaskInstance(max_tries=1))
    wait_until(lambda: count_starts(tmp_path) == 2)
    asyncio.run(old.on_kill())
    assert only_run(runs).observe().state is RunState.RUNNING
    assert not only_run(runs).is_asked_to_end()
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert not queue.wait("behind").is_turn


def test_a_run_whose_folder_is_removed_ends(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """Without its folder, the run could not be asked to end."""
    deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True))
    wait_until(lambda: count_starts(tmp_path) == 1)
    folder = only_run(runs).folder
    moved = SupervisedRun(folder.rename(folder.with_name("moved")))
    wait_until(lambda: moved.observe().state is not RunState.RUNNING)


def test_abandoned_runs_are_deleted(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """Runs of lost machines and partly removed runs are deleted; young runs and folders with other names are kept."""
    (tmp_path / "go").touch()
    deferred(operator(waiting_program(tmp_path) + "sys.exit(1)", deferrable=True))
    move_to_a_lost_machine(only_run(runs))
    lost = only_run(runs).folder
    half_removed = runs / f"d-run_1-other-{'0' * 20}.01234567"
    young, foreign = runs / f"d-run_1-young-{'1' * 20}", runs / "a user's notes"
    for folder in (half_removed, young, foreign):
        folder.mkdir()
        (folder / "request.json").touch()
    for folder in (lost, half_removed, foreign):
        os.utime(folder, (1_000_000_000, 1_000_000_000))
    sweep_abandoned(runs)
    assert sorted(folder.name for folder in runs.iterdir()) == sorted([young.name, foreign.name])


def test_a_run_without_a_supervisor_is_deleted_after_its_commit_is_found(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """The run and its supervisor died with their machine after the commit."""
    (tmp_path / "go").touch()
    deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True))
    only_run(runs).wait_for_end(TIMEOUT_S)
    (only_run(runs).folder / run_files.END).unlink()
    assert only_run(runs).observe().state is RunState.LOST
    assert operator(deferrable=True).execute(context())["outcome"] == "completed"
    assert list(runs.iterdir()) == []


def test_the_turn_of_an_ended_run_is_free(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """The next try has a new request id, so it does not use the old turn."""
    arguments = {"deferrable": True, "take_turns": True, "on_rerun": "write_again"}
    deferred(operator(waiting_program(tmp_path) + SUCCEED, **arguments))
    wait_until(lambda: count_starts(tmp_path) == 1)
    trigger = deferred(
        operator(waiting_program(tmp_path) + SUCCEED, **arguments), ti=TaskInstance(max_tries=1)
    )
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert queue.wait("behind").ahead == (trigger.request_id,)


def test_the_request_is_deleted_when_the_job_ends(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """The request may contain credentials, and perhaps no later try deletes it."""
    deferred(operator(waiting_program(tmp_path) + SUCCEED, deferrable=True))
    wait_until(lambda: count_starts(tmp_path) == 1)
    request = only_run(runs).folder / run_files.REQUEST
    assert json.loads(request.read_text())["base_path"] == str(tmp_path / "table")
    only_run(runs).ask_to_end()
    only_run(runs).wait_for_end(TIMEOUT_S)
    assert not request.exists()


def test_a_connection_must_not_name_an_arbitrary_program(
    operator: Operator, connections: Callable[..., None]
) -> None:
    connections("odd", conn_type="spark", host="local[2]", extra={"spark-binary": "/bin/echo"})
    for deferrable in (True, False):
        task = operator(spark_conn_id="odd", spark_binary=None, deferrable=deferrable)
        with pytest.raises(HudiTaskRefusedError, match="'odd' names '/bin/echo' as spark-binary"):
            task.execute(context())


def test_a_folder_that_other_users_can_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(HudiTaskRefusedError, match="other users can write to it"):
        folder_of_runs(str(open_to_all))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    own = folder_of_runs()
    own.rmdir()
    own.symlink_to(open_to_all)
    with pytest.raises(HudiTaskRefusedError, match="other users can write to it"):
        folder_of_runs()


def test_a_task_in_a_pod_of_the_kubernetes_executor_waits_in_its_worker(
    operator: Operator, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod ends with the task, and a driver in the pod would end as well."""
    monkeypatch.setenv("AIRFLOW_IS_K8S_EXECUTOR_POD", "True")
    try:
        assert operator(deferrable=True).execute(context())["outcome"] == "completed"
    except TaskDeferred:
        pytest.fail("the task was deferred")
    assert not list(runs.glob("*"))
