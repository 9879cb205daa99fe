"""Supervised runs that must not be taken for this task's: of other machines, other arguments, other tries."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred
from supervised_runs import PATIENCE_S, WELL, begins, begun, deferred, event_of, the_run, until

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


def elsewhere(run: SupervisedRun) -> None:
    """Make the run look like one of another machine that has died."""
    ended = run.wait_for_end(PATIENCE_S)
    assert ended.state is RunState.ENDED
    (run.folder / run_files.END).unlink()
    state = run_files.read_json(run.folder / run_files.STATE) or {}
    run_files.write_json(run.folder / run_files.STATE, {**state, "host": "gone"})
    assert not run.observe().is_here


def test_a_run_of_a_machine_without_heartbeat_is_given_up(
    operator: Operator, tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferred_run, "_HEARTBEAT_TIMEOUT_S", 1.0)
    monkeypatch.setattr(spark_run, "LOST_AFTER_S", 0.5)
    (tmp_path / "go").touch()
    trigger = deferred(operator(begins(tmp_path) + "sys.exit(1)", deferrable=True))
    elsewhere(the_run(runs))
    event = event_of(trigger)
    assert event["state"] == "lost"
    with pytest.raises(HudiTaskError, match="the next try checks for its heartbeat"):
        operator(deferrable=True).execute_when_over(context(), event)
    event = event_of(deferred(operator(begins(tmp_path) + WELL, deferrable=True)))
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 2


def test_a_run_of_a_live_machine_is_continued(operator: Operator, tmp_path: Path, runs: Path) -> None:
    (tmp_path / "go").touch()
    deferred(operator(begins(tmp_path) + "sys.exit(1)", deferrable=True))
    run = the_run(runs)
    elsewhere(run)
    state = run_files.read_json(run.folder / run_files.STATE) or {}

    async def retry() -> None:
        retrying = asyncio.create_task(
            asyncio.to_thread(deferred, operator(begins(tmp_path) + WELL, deferrable=True))
        )
        for beat in range(100, 140):
            if retrying.done():
                break
            run_files.write_json(run.folder / run_files.STATE, {**state, "beat": beat})
            await asyncio.sleep(0.2)
        await retrying

    asyncio.run(retry())
    assert begun(tmp_path) == 1
    (run.folder / run_files.RUN).unlink()


def test_other_arguments_are_another_run(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """A user corrected the query while no triggerer was running to end the run."""
    deferred(operator(begins(tmp_path) + WELL, deferrable=True, dry_run=True))
    until(lambda: begun(tmp_path) == 1)
    before = the_run(runs).observe()
    (tmp_path / "go").touch()
    event = event_of(deferred(operator(begins(tmp_path) + WELL, deferrable=True)))
    assert before.launch not in ("", the_run(runs).observe().launch)
    assert operator(deferrable=True).execute_when_over(context(), event)["outcome"] == "completed"
    assert begun(tmp_path) == 2


def test_new_credentials_are_no_other_arguments(operator: Operator) -> None:
    """Session credentials change from one read of the connection to the next."""
    made = operator(deferrable=True)
    owners = {
        owner_of(
            context(),
            made.build_request(TableLocation(base_path="/t", storage_options={"token": token}), "id", ""),
        )
        for token in ("old", "new")
    }
    assert len(owners) == 1


def test_the_old_trigger_keeps_run_and_turn_of_the_next_try(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """A slow triggerer learns of the clearing when the new try is already running."""
    arguments = {"deferrable": True, "take_turns": True}
    old = deferred(operator(begins(tmp_path) + WELL, **arguments))
    until(lambda: begun(tmp_path) == 1)
    deferred(operator(begins(tmp_path) + WELL, **arguments), ti=TaskInstance(max_tries=1))
    until(lambda: begun(tmp_path) == 2)
    asyncio.run(old.on_kill())
    assert the_run(runs).observe().state is RunState.RUNNING
    assert not the_run(runs).is_asked_to_end()
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert not queue.wait("behind").is_turn


def test_a_run_whose_folder_was_moved_ends(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """No process could ask the run to end any more."""
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    folder = the_run(runs).folder
    moved = SupervisedRun(folder.rename(folder.with_name("moved")))
    until(lambda: moved.observe().state is not RunState.RUNNING)


def test_abandoned_runs_are_removed(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """Also runs of dead machines and interrupted removals, but no folder with another name."""
    (tmp_path / "go").touch()
    deferred(operator(begins(tmp_path) + "sys.exit(1)", deferrable=True))
    elsewhere(the_run(runs))
    gone = the_run(runs).folder
    half_removed = runs / f"d-run_1-other-{'0' * 20}.01234567"
    young, foreign = runs / f"d-run_1-young-{'1' * 20}", runs / "somebody's notes"
    for folder in (half_removed, young, foreign):
        folder.mkdir()
        (folder / "request.json").touch()
    for folder in (gone, half_removed, foreign):
        os.utime(folder, (1_000_000_000, 1_000_000_000))
    sweep_abandoned(runs)
    assert sorted(folder.name for folder in runs.iterdir()) == sorted([young.name, foreign.name])


def test_a_lost_run_is_removed_when_the_request_is_found_completed(
    operator: Operator, tmp_path: Path, runs: Path
) -> None:
    """Both died after the commit, with their machine."""
    (tmp_path / "go").touch()
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    the_run(runs).wait_for_end(PATIENCE_S)
    (the_run(runs).folder / run_files.END).unlink()
    assert the_run(runs).observe().state is RunState.LOST
    assert operator(deferrable=True).execute(context())["outcome"] == "completed"
    assert list(runs.iterdir()) == []


def test_the_turn_of_a_run_that_was_ended_is_free(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """With a new request id no later try gives up the old turn."""
    arguments = {"deferrable": True, "take_turns": True, "on_rerun": "write_again"}
    deferred(operator(begins(tmp_path) + WELL, **arguments))
    until(lambda: begun(tmp_path) == 1)
    trigger = deferred(operator(begins(tmp_path) + WELL, **arguments), ti=TaskInstance(max_tries=1))
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert queue.wait("behind").ahead == (trigger.request_id,)


def test_the_request_is_removed_when_the_run_ends(operator: Operator, tmp_path: Path, runs: Path) -> None:
    """The request may hold credentials, and there may be no later try."""
    deferred(operator(begins(tmp_path) + WELL, deferrable=True))
    until(lambda: begun(tmp_path) == 1)
    request = the_run(runs).folder / run_files.REQUEST
    assert json.loads(request.read_text())["base_path"] == str(tmp_path / "table")
    the_run(runs).ask_to_end()
    the_run(runs).wait_for_end(PATIENCE_S)
    assert not request.exists()


def test_a_connection_does_not_name_just_any_program(
    operator: Operator, connections: Callable[..., None]
) -> None:
    connections("odd", conn_type="spark", host="local[2]", extra={"spark-binary": "/bin/echo"})
    for deferrable in (True, False):
        task = operator(spark_conn_id="odd", spark_binary=None, deferrable=deferrable)
        with pytest.raises(HudiTaskRefusedError, match="'odd' names '/bin/echo' as spark-binary"):
            task.execute(context())


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(HudiTaskRefusedError, match="others may write there"):
        folder_of_runs(str(open_to_all))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    own = folder_of_runs()
    own.rmdir()
    own.symlink_to(open_to_all)
    with pytest.raises(HudiTaskRefusedError, match="others may write there"):
        folder_of_runs()


def test_a_pod_of_the_kubernetes_executor_waits_itself(
    operator: Operator, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod ends with the task, and the driver with the pod."""
    monkeypatch.setenv("AIRFLOW_IS_K8S_EXECUTOR_POD", "True")
    try:
        assert operator(deferrable=True).execute(context())["outcome"] == "completed"
    except TaskDeferred:
        pytest.fail("it was deferred")
    assert not list(runs.glob("*"))
