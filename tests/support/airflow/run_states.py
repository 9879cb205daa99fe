"""Find tasks whose failure does not fail the run of their DAG."""

from typing import Any

_PASS_ON_FAILURES = {"all_success", "none_failed", "none_failed_min_one_success", "one_failed"}
"""Trigger rules of a task that does not succeed if a task before it failed. A task with ``one_failed`` must fail."""


def hidden_failures(dag: Any) -> set[str]:
    """Return the ids of the tasks that can fail in a run that succeeds.

    Airflow takes the state of a run from the tasks at its end, so a task with the trigger rule ``all_done`` at the end
    hides failures of earlier tasks.
    """

    def is_seen(task: Any) -> bool:
        after = [dag.get_task(name) for name in task.downstream_task_ids]
        return not after or any(each.trigger_rule in _PASS_ON_FAILURES and is_seen(each) for each in after)

    return {task.task_id for task in dag.tasks if not is_seen(task)}
