"""How do I repair a table by hand: check it, preview the changes, approve them, and check again?

Trigger the DAG with its form. It rolls back failed writes, restores a savepoint, or deletes files that belong to no
instant. The next write or clean also rolls back failed writes. If no write or clean will follow, use this DAG for the
rollback. Stop the table's writers before a restore.

In Airflow 3.1, pass execution_timeout instead of response_timeout to ApprovalOperator.
"""

import os
from datetime import timedelta

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, task

from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.operators.recovery import RepairOperator, RestoreOperator, RollbackOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
TABLE = "{{ params.base_path }}"

ACTIONS = {
    "roll back failed writes": (RollbackOperator, {"all_failed": True}),
    "restore to the savepoint": (RestoreOperator, {"savepoint": "{{ params.savepoint }}"}),
    "delete files that belong to no instant": (
        RepairOperator,
        {"backup_path": "{{ params.backup_path }}"},
    ),
}

with DAG(
    "recover_a_table",
    description=__doc__,
    schedule=None,
    params={
        "base_path": Param(f"{TABLES}/flights", type="string", minLength=1, title="Table"),
        "way": Param(next(iter(ACTIONS)), enum=list(ACTIONS), title="What to do"),
        "savepoint": Param(
            None,
            type=["null", "string"],
            pattern=r"^\d{14,17}$",
            title="Savepoint",
            description="For a restore: requested time of the savepoint's commit",
        ),
        "backup_path": Param(
            f"{TABLES}/backup",
            type="string",
            minLength=1,
            title="Backup folder",
            description="Files that belong to no instant are copied to this folder before they are deleted",
        ),
    },
    max_active_runs=1,
    tags=["hudi", "example"],
):
    before = HudiTableHealthOperator(task_id="health_before", base_path=TABLE)
    after = HudiTableHealthOperator(
        task_id="health_after", base_path=TABLE, trigger_rule="none_failed_min_one_success"
    )

    @task.branch(
        trigger_rule="all_done"
    )  # the health task fails if the table is damaged; continue in this case
    def choose(params: dict[str, str] | None = None) -> str:
        """Return the preview task of the action chosen in the form."""
        assert params is not None  # noqa: S101 - Airflow passes it
        return f"preview_{list(ACTIONS).index(params['way'])}"

    chosen = choose()
    before >> chosen
    for number, (way, (operator, arguments)) in enumerate(ACTIONS.items()):
        preview = operator(task_id=f"preview_{number}", base_path=TABLE, preview=True, **arguments)
        approve = ApprovalOperator(
            task_id=f"approve_{number}",
            subject=f"{way[0].upper()}{way[1:]}?",
            body=f"```\n{{{{ ti.xcom_pull(task_ids='preview_{number}')['picture'] }}}}\n```",
            defaults="Reject",
            response_timeout=timedelta(days=1),
        )
        act = operator(task_id=f"act_{number}", base_path=TABLE, preview=False, **arguments)
        chosen >> preview >> approve >> act >> after
