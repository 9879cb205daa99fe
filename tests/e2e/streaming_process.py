"""A driver whose stream inserts the new commits of one table into another table, one commit in each batch.

Usage: ``python streaming_process.py <source> <target> <checkpoint> <options of the target as JSON>``.

If ``STREAM_STOP_AFTER`` is the number of a batch, the driver creates the file ``<checkpoint>.written`` after the write
of this batch, and waits until a test kills it. Spark stores that a batch is done only after the function of the batch
has returned.
"""

import json
import os
import sys
import time
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.execution.sessions.session import SessionSettings, start_session
from hudi_table_services.jobs.stream_batches import upsert_batches
from hudi_table_services.reading.read_table import register_data_source

STOP_AFTER = int(os.environ.get("STREAM_STOP_AFTER", "-1"))
COLUMNS = ["k", "ts", "p", "v"]
ONE_COMMIT = {"hoodie.airflow.stream.commits.per.batch": "1"}
ATTEMPTS = 5
NO_PROCESS = "Python worker failed to connect back"


def main(source: str, target: str, checkpoint: str, options: str) -> None:
    spark = start_session(SessionSettings(application_name="stream"))
    register_data_source(spark)
    request = UpsertRequest(
        base_path=target,
        request_id="copy",
        table_name="t",
        operation="insert",
        record_key=("k",),
        partition_by=("p",),
        ordering_field="ts",
        options=json.loads(options),
    )
    write = upsert_batches(request, checkpoint)

    def insert(batch: DataFrame, number: int) -> None:
        write(batch.select(COLUMNS), number)
        if number == STOP_AFTER:
            Path(f"{checkpoint}.written").touch()
            time.sleep(600)

    frame = spark.readStream.format("hudi_native").options(**ONE_COMMIT).load(source)
    writer = frame.writeStream.foreachBatch(insert).option("checkpointLocation", checkpoint)
    for attempt in range(ATTEMPTS):
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            # Spark waits only ten seconds for the Python process that plans the batches.
            if NO_PROCESS not in str(error) or attempt == ATTEMPTS - 1:
                raise
        else:
            break
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
