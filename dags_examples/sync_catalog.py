"""How do I update the catalog after each load, so that Trino, Athena and Spark SQL see new partitions and columns?

The asset of the table starts this DAG: each load by a task of this provider, such as the DAG ``flights_daily``, causes
one event. The DAG of the load does not wait for the catalog, and does not fail if the catalog does not answer. If
programs outside Airflow also write the table, add a watcher to the asset, as in ``follow_a_table.py``.
"""

import os
from datetime import datetime, timedelta

from airflow.sdk import DAG

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.catalog import HudiCatalogSyncOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
TABLE = f"{TABLES}/flights"

with DAG(
    "sync_catalog",
    description=__doc__,
    schedule=[HudiAsset(TABLE)],
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - Airflow treats it as UTC
    # One sync at a time. A sync reads the current table, so events that arrive during a sync need only one more run.
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
    tags=["hudi", "example"],
):
    HudiCatalogSyncOperator(
        task_id="sync",
        base_path=TABLE,
        database="lake",
        metastore_uris=os.environ.get("HUDI_EXAMPLES_METASTORE", "thrift://localhost:9083"),
    )
