"""How does a person approve a clustering plan before anything is rewritten?

The first task makes a plan and writes nothing. The second task shows the plan in the UI (Required actions) and waits
for an answer. If there is no answer within a day, the second task rejects the plan. After the approval, the last task
plans again and executes its own plan. If other writers have changed the table since the preview, this plan may differ
from the plan in the UI.

In Airflow 3.1, pass execution_timeout instead of response_timeout to ApprovalOperator.
"""

import os
from datetime import timedelta

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param

from airflow_hudi_provider.operators.clustering import ClusteringOperator, ScheduleClusteringOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
TABLE = f"{TABLES}/flights"

PLAN = {
    "base_path": TABLE,
    "sort_columns": "{{ params.sort_columns }}",
    "layout": "{{ params.layout }}",
}

with DAG(
    "preview_then_approve",
    description=__doc__,
    schedule=None,
    params={
        "sort_columns": Param("carrier,dest", type="string", minLength=1, title="Sort columns"),
        "layout": Param("zorder", enum=["linear", "zorder", "hilbert"], title="Layout"),
    },
    tags=["hudi", "example"],
):
    preview = ScheduleClusteringOperator(task_id="preview", preview=True, on_nothing="skip", **PLAN)

    approve = ApprovalOperator(
        task_id="approve",
        subject=f"Cluster {TABLE}?",
        body="```\n{{ ti.xcom_pull(task_ids='preview')['picture'] }}\n```",
        defaults="Reject",
        response_timeout=timedelta(days=1),
    )

    cluster = ClusteringOperator(task_id="cluster", conf={"spark.ui.enabled": "false"}, **PLAN)

    preview >> approve >> cluster
