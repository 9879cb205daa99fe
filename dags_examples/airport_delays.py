"""How do I keep derived tables up to date, with corrections and deletes, without computing them from scratch?

Three tables form a chain. The example ``flights_daily`` writes ``flights``. This DAG runs after each commit to
``flights`` and loads only what has changed: ``clean_flights`` has one row for each flight that departed, and
``airport_delays`` has one row for each day and airport. A late correction or a deleted flight reaches both tables.
The commits of the two tables store how far their sources were read, so a task can be retried or cleared at any time.
"""

import os
from datetime import timedelta

from airflow.sdk import DAG

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

FOLDER = os.environ.get("HUDI_EXAMPLES_FOLDER", "/tmp/hudi_examples")  # noqa: S108 - an example's default
TABLES = os.environ.get("HUDI_EXAMPLES_TABLES", FOLDER)
FLIGHTS = f"{TABLES}/flights"
CLEAN_FLIGHTS = f"{TABLES}/clean_flights"
AIRPORT_DELAYS = f"{TABLES}/airport_delays"

# The query converts each row on its own. If a flight is cancelled later, its delay becomes NULL, and the load deletes
# its row.
CLEAN = """
SELECT flight_date, carrier, flight, origin, dest, CAST(dep_delay AS DOUBLE) AS dep_delay
FROM source
WHERE dep_delay IS NOT NULL
"""

# If a flight has changed, the view ``source`` contains all flights of the same day and airport.
DELAYS = """
SELECT flight_date, origin, count(*) AS flights, sum(dep_delay) AS total_delay, max(dep_delay) AS longest_delay
FROM source
GROUP BY flight_date, origin
"""

with DAG(
    "airport_delays",
    description=__doc__,
    schedule=[HudiAsset(FLIGHTS)],
    catchup=False,
    # After many commits, one run is enough, because it loads the changes of all commits.
    max_active_runs=1,
    default_args={"retries": 5, "retry_delay": timedelta(seconds=2)},
    tags=["hudi", "example"],
) as dag:
    clean = UpsertWithSizingOperator(
        task_id="clean_flights",
        base_path=CLEAN_FLIGHTS,
        table_name="clean_flights",
        source_table=FLIGHTS,
        source_sql=CLEAN,
        record_key=["flight_date", "carrier", "flight", "origin"],
        take_turns=True,
        conf={"spark.ui.enabled": "false"},
    )

    delays = UpsertWithSizingOperator(
        task_id="airport_delays",
        base_path=AIRPORT_DELAYS,
        table_name="airport_delays",
        source_table=CLEAN_FLIGHTS,
        source_mode="changed_groups",
        source_sql=DELAYS,
        record_key=["flight_date", "origin"],
        take_turns=True,
        # An earlier run may have loaded the flights and failed in this task. Then the first task is skipped now, and
        # this task must run nevertheless.
        trigger_rule="none_failed",
        conf={"spark.ui.enabled": "false"},
    )

    clean >> delays
