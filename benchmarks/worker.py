"""The measured process: one system, one scenario, on a session warmed by small writes of the same kind.

Started by ``run.py``; its argument is a ``Job`` as JSON.
"""

import sys
import time

from bench.protocol import BEGIN, END, Event, Job
from bench.scenarios import Operation, Scenario, System, scenario_named
from bench.sessions import SessionOptions, open_session
from bench.writers import Writer, open_writer


def main(job: Job) -> None:
    """Warm up, then write the inputs of the scenario, telling when the timed part begins and ends."""
    scenario = scenario_named(job.scenario)
    system = System(job.system)
    options = SessionOptions(
        cores=job.cores, driver_memory=job.driver_memory, local_folder=job.scratch / "spark"
    )
    spark = open_session(system, options)
    writer = open_writer(system, spark)
    _warm_up(writer, job, scenario)
    if (jvm := spark.sparkContext._jvm) is not None:
        jvm.System.gc()  # the warm-up's garbage is not the scenario's memory
    Event(kind=BEGIN).send()
    seconds = tuple(_timed_write(writer, job, scenario, name) for name in scenario.inputs)
    Event(kind=END, seconds=sum(seconds), write_seconds=seconds).send()
    spark.stop()


def _warm_up(writer: Writer, job: Job, scenario: Scenario) -> None:
    """Write a small table, then into it once more: loads the classes of both paths and starts Python workers."""
    partition_by = None if scenario.partition_by is None else "ship_year"
    for operation in (scenario.operation, _second_operation(scenario.operation)):
        writer.write(job.inputs / "warm_up", job.scratch / "warm_up_table", operation, partition_by)


def _second_operation(first: Operation) -> Operation:
    return first if first is Operation.PLAIN else Operation.UPSERT


def _timed_write(writer: Writer, job: Job, scenario: Scenario, name: str) -> float:
    started = time.perf_counter()
    writer.write(job.inputs / name, job.table, scenario.operation, scenario.partition_by)
    return time.perf_counter() - started


if __name__ == "__main__":
    main(Job.from_json(sys.argv[1]))
