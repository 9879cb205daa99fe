"""Run every kind of job on one table, with the Spark that the environment variables describe.

Usage: ``every_job_on_cluster.py URI VERSION STORAGE_OPTIONS_AS_JSON``. The test runs this program as a process, because
a process has only one Spark session, and the session of the tests is local.
"""

import json
import sys

from hudi_table_services.execution.sessions.session import SessionSettings, start_session, stop_session
from support.spark.every_job import run_every_job
from support.spark.table_elsewhere import TableElsewhere, rows_by_hudi_rs


def main() -> None:
    uri, version, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    spark = start_session(SessionSettings(application_name="every job"))
    try:
        run_every_job(TableElsewhere(spark, uri, options, version, lambda uri: rows_by_hudi_rs(uri, options)))
    finally:
        stop_session(spark)


if __name__ == "__main__":
    main()
