"""One request of a job with Spark is throttled or dropped, or its answer is lost. The next run completes the job.

The tests number the requests of the driver and of the Spark tasks. Each test disturbs every ``FAIL_EVERY``-th request,
and the tests of a job begin at different requests. With ``TEST_DEPTH=all``, the tests of a job together disturb every
sixth request; with ``FAIL_EVERY=6``, they disturb every request, which takes more than an hour. `test_faults.py`
disturbs requests of jobs without Spark.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.clustering import ExecuteClusteringRequest, ScheduleClusteringRequest
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.metadata_table import ALL, RebuildMetadataTableRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from s3_server import S3
from support.depth import number_from
from support.fail_points import tried
from support.spark.leftovers import later
from support.spark.table_elsewhere import Row, rows_by_hudi_rs
from support.stores.faults import Fault, OneFault, disturbing

EVERY = int(number_from("FAIL_EVERY", 60, 36))
OLD: list[Row] = [(f"k{number}", 1, "xy"[number % 2]) for number in range(8)]
BATCH: list[Row] = [(f"k{number}", 2, "xy"[number % 2]) for number in range(4, 12)]
BUILT = ("files", "column_stats")
FAULTS = [Fault.THROTTLED, Fault.DROPPED, Fault.LOST]
VERSIONS = ["6", "9"]

pytestmark = pytest.mark.thorough
Place = Mapping[str, object]
Act = Callable[[SparkSession, Place, Clock | None], object]


def write(spark: SparkSession, place: Place, clock: Clock | None, rows: list[Row], **options: str) -> None:
    request = UpsertRequest(
        **place,  # type: ignore[arg-type]
        request_id=f"{len(rows)}-rows-from-{rows[0][0]}-{rows[0][1]}",
        table_name="t",
        record_key=("k",),
        partition_by=("p",),
        ordering_field="ts",
        options={name.replace("__", "."): value for name, value in options.items()},
    )
    upsert(spark, request, spark.createDataFrame(rows, "k string, ts bigint, p string"), clock=clock)


def execute(spark: SparkSession, place: Place, clock: Clock | None) -> None:
    execute_clustering(spark, ExecuteClusteringRequest(**place), clock=clock)  # type: ignore[arg-type]


def rebuild(spark: SparkSession, place: Place, clock: Clock | None) -> None:
    request = RebuildMetadataTableRequest(**place, drop=(ALL,), partitions=BUILT)  # type: ignore[arg-type]
    rebuild_metadata_table(request, clock=clock)


@dataclass(frozen=True)
class Job:
    """A job in which the test causes faults, and the rows of the table after the job succeeds."""

    act: Act
    new: list[Row]


JOBS = {
    "upsert": Job(
        lambda spark, place, clock: write(spark, place, clock, BATCH),
        sorted({row[0]: row for row in OLD + BATCH}.values()),
    ),
    "execute clustering": Job(execute, sorted(OLD)),
    "rebuild": Job(rebuild, sorted(OLD)),
}
Start = Callable[[str, str], str]


@pytest.fixture(scope="module")
def start(spark: SparkSession, s3: S3) -> Start:
    """Return a function that returns the URI of a new table for a job and a version; a clustering also gets a plan."""

    @cache
    def files(is_planned: bool, version: str) -> dict[str, bytes]:
        place = {"base_path": s3.new_table(), "storage_options": s3.options}
        options = {"hoodie__write__table__version": version, "hoodie__parquet__small__file__limit": "0"}
        for part in (OLD[:4], OLD[4:]):
            write(spark, place, None, part, **options)
        if is_planned:
            schedule_clustering(ScheduleClusteringRequest(**place))  # type: ignore[arg-type]
        storage = open_storage(str(place["base_path"]), s3.options)
        return {stored.path: storage.read(stored.path) for stored in storage.list_files()}

    def made(job: str, version: str) -> str:
        storage = open_storage(s3.new_table(), s3.options)
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda each: storage.write(*each), files("clustering" in job, version).items()))
        return storage.uri

    return made


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.value)
@pytest.mark.parametrize("name", JOBS)
def test_the_next_run_completes_a_job_after_a_fault_of_one_request(
    name: str, fault: Fault, version: str, start: Start, spark: SparkSession, s3: S3
) -> None:
    job, points = JOBS[name], 0
    tests = len(FAULTS) * len(VERSIONS)
    first = 1 + (FAULTS.index(fault) + len(FAULTS) * VERSIONS.index(version)) * EVERY // tests
    for number in range(first, 10_000, EVERY):
        uri, plan = start(name, version), OneFault(fault, number)
        raised: HudiTableServiceError | None = None
        with disturbing(s3.endpoint, plan) as endpoint:
            try:
                job.act(spark, {"base_path": uri, "storage_options": s3.at(endpoint).options}, None)
            except HudiTableServiceError as error:
                raised = error
        if plan.count < number:
            break
        points += 1
        tried(f"{name} on S3")
        where = f"request {number}, {plan.disturbed}: {raised!r}"
        assert raised is None or raised.retryable, where
        seen = sorted(rows_by_hudi_rs(uri, s3.options))
        assert seen in (sorted(OLD), job.new), where
        assert raised is not None or seen == job.new, where
        job.act(spark, {"base_path": uri, "storage_options": s3.options}, later())
        check_completed(uri, s3, job, where)
    assert points, "the job makes fewer requests than expected"


def check_completed(uri: str, s3: S3, job: Job, where: str) -> None:
    """Check the rows, and that the metadata table describes the files of the folders."""
    assert sorted(rows_by_hudi_rs(uri, s3.options)) == job.new, where
    snapshot = load_snapshot(open_storage(uri, s3.options))
    assert not snapshot.timeline.pending, where
    assert "files" in snapshot.config.metadata_partitions, where
    health = table_health(HealthRequest(base_path=uri, storage_options=s3.options)).report
    assert health is not None
    state = health.metadata_table_state
    assert (state.unusable, state.difference_examples, health.missing_examples) == ("", (), ()), where
