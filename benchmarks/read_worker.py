"""The measured process of ``reads.py``: it prepares a table, or warms up and reads a table.

Its argument is a `ReadJob`.
"""

import json
import sys
import time
from pathlib import Path

from bench.protocol import BEGIN, END, Event
from bench.read_cases import TABLES, read_case_named
from bench.reading import ReadJob, content_of, open_frame, prepare_table, read_all, with_key
from bench.scenarios import WARM_UP, System
from bench.sessions import SessionOptions, open_session


def main(job: ReadJob) -> None:
    """Run the job. A read also writes number and checksum of its rows to ``content.json`` in the scratch folder."""
    system = System(job.system)
    options = SessionOptions(
        cores=job.cores, driver_memory=job.driver_memory, local_folder=Path(job.scratch) / "spark"
    )
    spark = open_session(system, options)
    if job.prepares:
        Event(kind=BEGIN).send()
        prepare_table(spark, TABLES[job.prepares], Path(job.inputs), job.first_input, Path(job.table))
        Event(kind=END).send()
    else:
        case = read_case_named(job.case)
        inputs = Path(job.inputs)
        warm_up, case = with_key(case, inputs / WARM_UP), with_key(case, inputs / job.first_input)
        for _ in range(2):
            read_all(open_frame(system, spark, Path(job.warm_up_table), warm_up))
        Event(kind=BEGIN).send()
        started = time.perf_counter()
        # The time includes the plan of the read, which this engine makes when it opens the frame.
        read_all(open_frame(system, spark, Path(job.table), case))
        seconds = time.perf_counter() - started
        Event(kind=END, seconds=seconds, write_seconds=(seconds,)).send()
        rows, checksum = content_of(open_frame(system, spark, Path(job.table), case))
        Path(job.scratch, "content.json").write_text(json.dumps([rows, checksum]), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(ReadJob.from_json(sys.argv[1]))
