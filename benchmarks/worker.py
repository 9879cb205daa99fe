"""The measured process: it runs one scenario with one system, after a warm-up with small writes of the same kind.

``run.py`` starts this process. Its argument is a ``Job`` as JSON.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from bench.cleaning import clean_table, create_commits
from bench.clustering import cluster, write_small_files
from bench.log_tables import compact, create_log_table, log_options, read_snapshot
from bench.other_formats import OtherFormat, other_format
from bench.profiling.samplers import JvmSampler
from bench.protocol import BEGIN, END, READY, Event, Job
from bench.record_index import create_with_record_index
from bench.scenarios import (
    LINEITEM,
    OTHER_FORMATS,
    WARM_UP,
    WARM_UP_TASKS,
    Clustering,
    Operation,
    Scenario,
    System,
    scenario_named,
)
from bench.sessions import SessionOptions, open_session
from bench.writers import Writer, open_writer


def main(job: Job) -> None:
    """Warm up, run the scenario, and send an event when the timed part begins and when it ends."""
    scenario = scenario_named(job.scenario)
    system = System(job.system)
    options = SessionOptions(
        cores=job.cores,
        driver_memory=job.driver_memory,
        local_folder=job.scratch / "spark",
        profiler_jar=job.profiler_jar,
    )
    spark = open_session(system, options)
    if scenario.clustering is not None:
        _cluster(system, spark, job, scenario)
    elif scenario.cleaning is not None:
        _clean(system, spark, job, scenario)
    elif scenario.is_service:
        _use_logs(system, spark, job, scenario)
    else:
        _write(system, spark, job, scenario)
    spark.stop()


def _cluster(system: System, spark: SparkSession, job: Job, scenario: Scenario) -> None:
    """Warm up by clustering a small table, then cluster the table of the scenario."""
    clustering = scenario.clustering
    assert clustering is not None
    if (other := other_format(system, spark)) is not None:
        _rewrite(other, spark, job, scenario, clustering)
        return
    if job.prepares:
        Event(kind=BEGIN).send()
        write_small_files(spark, job.inputs / scenario.inputs[0], job.table, clustering.tasks)
        Event(kind=END).send()
        return
    cluster(system, spark, job.scratch / "warm_up_table", replace(clustering, schedules_only=False))
    sampler = _begin(spark, job)
    seconds = cluster(system, spark, job.table, clustering)
    _end(sampler, (seconds,))


def _rewrite(
    other: OtherFormat, spark: SparkSession, job: Job, scenario: Scenario, clustering: Clustering
) -> None:
    """Rewrite a table of another format, after a warm-up on a small table."""
    if job.prepares:
        Event(kind=BEGIN).send()
        other.write_small_files(job.inputs / scenario.inputs[0], job.table, clustering.tasks)
        Event(kind=END).send()
        return
    warm_up = job.scratch / "warm_up" / "table"
    other.write_small_files(job.inputs / WARM_UP, warm_up, WARM_UP_TASKS)
    other.rewrite(warm_up, clustering)
    other.open(job.table)
    sampler = _begin(spark, job)
    started = time.perf_counter()
    other.rewrite(job.table, clustering)
    _end(sampler, (time.perf_counter() - started,))


def _clean(system: System, spark: SparkSession, job: Job, scenario: Scenario) -> None:
    """Warm up on a copy of the table, then clean the table.

    The result contains the bytes on storage after the clean. If two systems have the same number of bytes, they deleted
    the same files.
    """
    assert scenario.cleaning is not None
    if job.prepares:
        Event(kind=BEGIN).send()
        create_commits(spark, job.inputs / scenario.inputs[0], job.table, scenario.cleaning, job.options)
        Event(kind=END).send()
        return
    clean_table(system, spark, job.scratch / "warm_up_table", job.options)
    sampler = _begin(spark, job)
    seconds = clean_table(system, spark, job.table, job.options)
    _end(sampler, (seconds,))


def _use_logs(system: System, spark: SparkSession, job: Job, scenario: Scenario) -> None:
    """Warm up on a small table with log files, then compact or read the table."""
    if job.prepares:
        Event(kind=BEGIN).send()
        create_log_table(open_writer(System.HUDI, spark, log_options(System.HUDI)), job, scenario.inputs)
        Event(kind=END).send()
        return
    run = compact if scenario.operation is Operation.COMPACT else read_snapshot
    run(system, spark, job.scratch / "warm_up_table", job.cores)
    sampler = _begin(spark, job)
    seconds = run(system, spark, job.table, job.cores)
    _end(sampler, (seconds,))


def _write(system: System, spark: SparkSession, job: Job, scenario: Scenario) -> None:
    options = {**(log_options(system) if scenario.merge_on_read else {}), **job.options}
    writer = open_writer(system, spark, options)
    if job.prepares:
        Event(kind=BEGIN).send()
        if system in OTHER_FORMATS:
            writer.write(job.inputs / LINEITEM, job.table, Operation.INSERT, scenario.partition_by)
        else:
            create_with_record_index(system, spark, writer, job)
        Event(kind=END).send()
        return
    _warm_up(writer, job, scenario)
    if (other := other_format(system, spark)) is not None:
        other.open(job.table)
    sampler = _begin(spark, job)
    seconds = tuple(_timed_write(writer, job, scenario, name) for name in scenario.inputs)
    _end(sampler, seconds)


def _begin(spark: SparkSession, job: Job) -> JvmSampler | None:
    """Begin the timed part. If the process is sampled, first wait until the sampler of Python processes is ready."""
    _collect_garbage(spark)
    sampler = None
    if job.profile:
        sampler = JvmSampler(spark, Path(job.profile), job.profile_rate)
        Event(kind=READY).send()
        sys.stdin.readline()
        sampler.begin()
    Event(kind=BEGIN).send()
    return sampler


def _end(sampler: JvmSampler | None, seconds: tuple[float, ...]) -> None:
    """End the timed part.

    Args:
        seconds: the seconds of each write or service.
    """
    Event(kind=END, seconds=sum(seconds), write_seconds=seconds).send()
    if sampler is not None:
        sampler.end()


def _collect_garbage(spark: SparkSession) -> None:
    """Collect the garbage of the warm-up, so that it does not count as memory of the scenario."""
    if (jvm := spark.sparkContext._jvm) is not None:
        jvm.System.gc()


def _warm_up(writer: Writer, job: Job, scenario: Scenario) -> None:
    """Write a small table twice: with the operation of the scenario, then with an upsert unless Spark itself writes.

    These writes load the classes of both operations and start the Python workers.
    """
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
