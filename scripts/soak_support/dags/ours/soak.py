"""DAGs that write a table every two and a half minutes, and read, watch and maintain the table."""

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, task

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.operators.archive import ArchiveOperator
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import ClusteringOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.sensors.commit_count import HudiCommitCountSensor
from airflow_hudi_provider.sensors.instant import HudiInstantSensor
from airflow_hudi_provider.watchers import HudiTableWatcher

FOLDER = os.environ["HUDI_EXAMPLES_FOLDER"]
TABLE = f"{FOLDER}/table"
EVERY = timedelta(seconds=float(os.environ["SOAK_WRITE_SECONDS"]))
WAITING = 40
NEVER = 1_000_000
EVERY_COMMIT = HudiAsset(
    TABLE, view="every-commit", watchers=[HudiTableWatcher(TABLE, name="one", poke_interval=5)]
)
EVERY_TWO = HudiAsset(
    TABLE,
    view="every-two",
    watchers=[HudiTableWatcher(TABLE, name="two", every_n_commits=2, poke_interval=5)],
)
SETTINGS = {
    "start_date": datetime(2026, 1, 1),
    "catchup": False,
    "max_active_runs": 1,
    "is_paused_upon_creation": True,
    # On a busy machine, heartbeats of tasks may be late. Airflow then considers the task dead.
    "default_args": {"retries": 3, "retry_delay": timedelta(seconds=10)},
}

with DAG("soak_write", schedule=EVERY, **SETTINGS):

    @task
    def land() -> str:
        """Write two hundred rows; half of them exist already."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        landing = Path(FOLDER) / "landing"
        landing.mkdir(exist_ok=True)
        number = len(list(landing.iterdir()))
        ids = range(number * 100, number * 100 + 200)
        path = landing / f"{number:05d}.parquet"
        pq.write_table(pa.table({"id": ids, "part": [f"p{i // 100 % 3}" for i in ids]}), path)
        return str(path)

    UpsertWithSizingOperator(
        task_id="load",
        base_path=TABLE,
        table_name="soak",
        source_path=land(),
        record_key="id",
        partition_by="part",
        take_turns=True,
    )

with DAG("soak_wait", schedule=EVERY, **SETTINGS):
    HudiInstantSensor(task_id="one_commit", base_path=TABLE, deferrable=True, poke_interval=5, timeout=900)
    HudiCommitCountSensor(
        task_id="a_count",
        base_path=TABLE,
        every_n_commits=1,
        deferrable=True,
        poke_interval=5,
        timeout=900,
        soft_fail=True,
    )

with DAG("soak_deferred", schedule="@once", **SETTINGS):
    # These sensors wait for the whole hour; half of them wait for a table that does not exist.
    HudiInstantSensor.partial(task_id="wait", deferrable=True, poke_interval=5, min_count=NEVER).expand(
        base_path=[TABLE if number % 2 else f"{FOLDER}/none-{number}" for number in range(WAITING)]
    )

with DAG("soak_follow", schedule=[EVERY_COMMIT], **SETTINGS):

    @task(inlets=[EVERY_COMMIT])
    def read(**context):  # type: ignore[no-untyped-def]
        kept = context["asset_state_store"][EVERY_COMMIT]
        hook = HudiHook(TABLE)
        window = hook.incremental_window(after=kept.get("until", ""))
        rows = 0 if window.is_empty else hook.read_incremental(window, columns=["id"]).num_rows
        kept.set("until", window.until)
        return rows

    read()

with DAG("soak_services", schedule=[EVERY_TWO], **SETTINGS):
    # Few commits are kept, so that all services have work within the hour.
    cluster = ClusteringOperator(task_id="cluster", base_path=TABLE, every_n_commits=4, when_held="wait")
    clean = CleanOperator(
        task_id="clean",
        base_path=TABLE,
        commits_retained=3,
        hudi_options={"hoodie.airflow.clean.floor.hours": 0},
        trigger_rule="none_failed",
    )
    archive = ArchiveOperator(
        task_id="archive",
        base_path=TABLE,
        min_commits=5,
        max_commits=7,
        hudi_options={"hoodie.clean.commits.retained": 3},
        trigger_rule="none_failed",
    )
    health = HudiTableHealthOperator(task_id="health", base_path=TABLE, trigger_rule="all_done")
    cluster >> clean >> archive >> health
