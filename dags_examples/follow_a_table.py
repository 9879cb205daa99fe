"""How do I start DAGs by commits that others make, and read only the rows that are new?

The first DAG clusters after every four commits of any writer, also of one outside Airflow: a watcher in the triggerer
counts them on the table's timeline. The second one runs after commits too, and reads exactly the rows that were
written since its last run; a run that fails reads them again. It keeps its place in the asset's state store, which is
there from Airflow 3.3 on.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowSkipException

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.clustering import ClusteringOperator
from airflow_hudi_provider.watchers import HudiTableWatcher

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLE = f"{FOLDER}/flights"
SECONDS = float(os.environ.get("HUDI_EXAMPLES_POKE_INTERVAL", "60"))

# Two views, since each of them has events of its own; to the UI's pages they are one table.
EVERY_FOUR = HudiAsset(
    TABLE,
    view="every-four-commits",
    watchers=[HudiTableWatcher(TABLE, name="four", every_n_commits=4, poke_interval=SECONDS)],
)
EVERY_COMMIT = HudiAsset(
    TABLE,
    view="every-commit",
    watchers=[HudiTableWatcher(TABLE, name="one", poke_interval=SECONDS)],
)

with DAG(
    "cluster_after_four_commits",
    description=__doc__,
    schedule=[EVERY_FOUR],
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow takes it for UTC
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
    tags=["hudi", "example"],
):
    # Whatever the watcher counted: this says how many commits there are since the last clustering.
    ClusteringOperator(
        task_id="cluster",
        base_path=TABLE,
        every_n_commits=4,
        when_held="wait",
        conf={"spark.ui.enabled": "false"},
    )

with DAG(
    "read_what_is_new",
    description=__doc__,
    schedule=[EVERY_COMMIT],
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow takes it for UTC
    max_active_runs=1,
    tags=["hudi", "example"],
):

    @task(inlets=[EVERY_COMMIT])
    def read_new_rows(**context: object) -> dict[str, object]:
        """Rows written since the last run that succeeded."""
        kept = context["asset_state_store"][EVERY_COMMIT]  # type: ignore[index]
        hook = HudiHook(TABLE)
        window = hook.incremental_window(after=kept.get("read_until", ""))
        if window.is_empty:
            raise AirflowSkipException("Nothing was committed since the last run.")
        rows = hook.read_incremental(window)
        # Hand the rows on here; what follows is done once they have arrived.
        kept.set("read_until", window.until)
        return {"until": window.until, "commits": window.count, "rows": rows.num_rows}

    read_new_rows()
