"""DAGs that load the changes of a table: after each commit that a watcher finds, and in the runs of a backfill."""

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG
from days import FOLDER, OPTIMISTIC, days

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.watchers import HudiTableWatcher

FOLLOWED = f"{FOLDER}/chain_source"
COMMITTED = HudiAsset(
    FOLLOWED,
    view="chain",
    watchers=[HudiTableWatcher(FOLLOWED, name="chain", from_beginning=True, poke_interval=1)],
)
CONVERTED = "SELECT k, ts, p, upper(v) AS v FROM source"
COUNTED = "SELECT p, count(*) AS n, sum(ts) AS total FROM source GROUP BY p"


def load(table: str, source: str, **arguments: Any) -> UpsertWithSizingOperator:
    return UpsertWithSizingOperator(
        task_id="load",
        base_path=f"{FOLDER}/{table}",
        table_name=table,
        source_table=source,
        hudi_options=OPTIMISTIC,
        **arguments,
    )


with DAG("chain_follows", schedule=[COMMITTED], catchup=False, max_active_runs=1):
    load("chain_copy", FOLLOWED, source_sql=CONVERTED, record_key="k", partition_by="p")

# While a run loads changes, another run that loads the same changes fails and is retried in the first DAG, and waits in
# the second DAG. The runs of the third DAG run one after another.
for name, turns in (("chain_retries", {}), ("chain_turns", {"take_turns": True}), ("chain_again", {})):
    with days(name):
        load(
            f"{name}_counts",
            f"{FOLDER}/{name}_source",
            source_mode="changed_groups",
            source_sql=COUNTED,
            record_key="p",
            retries=30,
            retry_delay=timedelta(seconds=2),
            **turns,
        )
