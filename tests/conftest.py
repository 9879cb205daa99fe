"""Settings and fixtures of all tests: a group per folder, the depth of a run, Hypothesis profiles, a Spark session."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from demo_support.quick_spark import jvm_flags
from hypothesis import HealthCheck, settings

from support import depth, fail_points, failures_at_once, table_versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parent

GROUPS = {
    "unit": "no Spark, no network, no sleep",
    "s3": "storage, locks and jobs on a server that speaks S3",
    "spark": "the engine on a local Spark session",
    "airflow": "the provider in a real Airflow; tests/airflow/stack with its four processes",
    "e2e": "whole jobs in processes of their own",
    "compose": "docker-compose.yaml with its services, built and run by a Docker daemon",
    "platforms": "storage, locks and jobs on servers that few tables use: HDFS, Azure, GCS",
    "readers": "catalogs and query engines read our tables",
    "conformance": "other implementations of Hudi judge our tables",
}

LEFT_OUT = pytest.StashKey[int]()  # number of tests that only deeper runs include

# The default profile is quick and deterministic, so a failed run fails again. The profile `deep` is random.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=depth.by_depth(25, 40),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", settings.get_profile("default"), derandomize=False, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure(config: pytest.Config) -> None:
    failures_at_once.register(config)
    of_groups = (f"{group}: {meaning} (every test in tests/{group})" for group, meaning in GROUPS.items())
    for marker in (*of_groups, "at_the_end: runs after the other tests of its folder", *depth.MARKERS):
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    table_versions.deselect_others(config, items, os.environ.get("TABLE_VERSION", ""))
    config.stash[LEFT_OUT] = depth.deselect_deeper(config, items)
    for item in items:
        group = item.path.relative_to(TESTS).parts[0]
        if group not in GROUPS:
            raise pytest.UsageError(f"{item.path} is in no group: put it under {', '.join(GROUPS)}.")
        item.add_marker(group)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"Left out: {left} tests of deeper runs (docs/testing.md).")
    if lines := fail_points.summary():
        terminalreporter.section("failures provoked in jobs")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The Spark session that all tests of a run share, because starting a session takes longer than most tests.

    The session has two cores. Spark tries each failed task a second time, so tests can check what a retry does.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    scratch = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2,2]")
        .appName("tests")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", jvm_flags())
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
