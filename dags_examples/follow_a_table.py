"""How do I start a DAG after commits of other writers, and read only the new rows?

The first DAG clusters after every four commits of any writer, including writers outside Airflow: a watcher in the
triggerer counts the commits on the table's timeline. The second DAG runs after every commit and reads exactly the rows
written since its last successful run. It stores its position in the asset's state store (Airflow 3.3 or newer).
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
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
TABLE = f"{TABLES}/flights"
SECONDS = float(os.environ.get("HUDI_EXAMPLES_POKE_INTERVAL", "60"))

# Two assets for one table, because each asset has separate events. The pages of this provider show them as one table.
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
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
    tags=["hudi", "example"],
):
    # This task also counts the commits since the last clustering, independently of the watcher.
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
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    max_active_runs=1,
    tags=["hudi", "example"],
):

    @task(inlets=[EVERY_COMMIT])
    def read_new_rows(**context: object) -> dict[str, object]:
        """Read the rows written since the last successful run."""
        kept = context["asset_state_store"][EVERY_COMMIT]  # type: ignore[index]
        hook = HudiHook(TABLE)
        window = hook.incremental_window(after=kept.get("read_until", ""))
        if window.is_empty:
            raise AirflowSkipException("Nothing was committed since the last run.")
        rows = hook.read_incremental(window)
        # Deliver the rows here, before the new position is stored.
        kept.set("read_until", window.until)
        return {"until": window.until, "commits": window.count, "rows": rows.num_rows}

    read_new_rows()
