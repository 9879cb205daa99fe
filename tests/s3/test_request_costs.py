"""Requests and bytes of the usual operations on a table on S3. docs/s3-costs.md contains the same numbers.

A proxy counts the requests and the bytes. To write the measured numbers into the page, set ``WRITE_COSTS=1``.
"""

import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from proxy import forwarding
from pyspark.sql import SparkSession

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.pages.content_views import Wanted
from airflow_hudi_provider.pages.views import VIEWS
from airflow_hudi_provider.tables.registry import RegisteredTable
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.clock import SystemClock
from s3_server import S3
from support.fixed_clock import FixedClock

pytestmark = pytest.mark.thorough
PAGE = Path(__file__).parents[2] / "docs" / "s3-costs.md"
PARTITIONS, COMMITS, ROWS = 10, 12, 1_000
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")
_REQUEST = re.compile(rb"^(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n", re.MULTILINE)
TOLERANCE = 0.25
"""Fraction by which a number of the page may differ from the measured number: retries and heartbeats vary."""


@dataclass
class Traffic:
    """Requests and bytes that passed through the proxy since the last call of `take`."""

    requests: Counter[str] = field(default_factory=Counter)
    read: int = 0
    written: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def received(self, data: bytes) -> bytes:
        with self._lock:
            self.read += len(data)
        return data

    def sent(self, data: bytes) -> bytes:
        with self._lock:
            self.written += len(data)
            for method, target in _REQUEST.findall(data):
                is_listing = method == b"GET" and b"list-type=2" in target
                self.requests["LIST" if is_listing else method.decode()] += 1
        return data

    def take(self) -> "Traffic":
        taken = Traffic(Counter(self.requests), self.read, self.written)
        self.requests.clear()
        self.read = self.written = 0
        return taken


@pytest.fixture
def counted(s3: S3) -> Iterator[tuple[S3, Traffic]]:
    traffic = Traffic()
    with forwarding(s3, traffic) as proxied:
        yield proxied, traffic


def write(spark: SparkSession, s3: S3, uri: str, number: int) -> None:
    """Upsert rows into every partition: the first write creates them, and later writes change a tenth of them."""
    frame = spark.range(PARTITIONS * ROWS).selectExpr(
        "id", f"id % {PARTITIONS} AS p", f"id * {number + 1} AS value", f"{number} AS ts"
    )
    changed = frame if number == 0 else frame.where(f"(id div {PARTITIONS}) % 10 = 0")
    request = UpsertRequest(
        base_path=uri,
        storage_options=s3.options,
        table_name="t",
        record_key=("id",),
        partition_by=("p",),
        ordering_field="ts",
    )
    upsert(spark, request, changed)


def measured(
    spark: SparkSession, s3: S3, traffic: Traffic, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Traffic]:
    uri = s3.new_table()
    place = {"base_path": uri, "storage_options": s3.options}
    for number in range(COMMITS):
        write(spark, s3, uri, number)
    found: dict[str, Traffic] = {}
    connection = {
        "conn_type": "aws",
        "login": "key",
        "password": "canary-secret",
        "extra": {"endpoint_url": s3.endpoint, "region_name": "us-east-1"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))
    hook = HudiHook(uri, storage_conn_id="lake")

    table = RegisteredTable.of("t", uri, None, "lake")

    def show(*views: str) -> None:
        """Read the views like a browser that opens a tab. The views of one tab share the data that they read."""
        for name in views:
            VIEWS[name](table, Wanted())

    # A clean keeps files that were replaced less than an hour ago.
    in_two_hours = FixedClock(SystemClock().now() + timedelta(hours=2))
    steps: dict[str, Callable[[], object]] = {
        "a sensor reads the timeline": hook.timeline,
        "the tab Overview": lambda: show("overview", "health", "plan"),
        "the tab Timeline": lambda: show("history"),
        "preview of a clustering": lambda: schedule_clustering(
            ScheduleClusteringRequest(**place, preview=True)
        ),
        "an upsert": lambda: write(spark, s3, uri, COMMITS),
        "a clean": lambda: clean(CleanRequest(**place, commits_retained=2), clock=in_two_hours),
    }
    for name, step in steps.items():
        traffic.take()
        step()
        found[name] = traffic.take()
    return found


def kib(size: int) -> int:
    return round(size / 1024)


def row(name: str, traffic: Traffic) -> str:
    counts = " | ".join(str(traffic.requests[method]) for method in ("LIST", *METHODS))
    return f"| {name} | {counts} | {kib(traffic.read)} | {kib(traffic.written)} |"


def test_the_page_states_the_measured_numbers(
    spark: SparkSession, counted: tuple[S3, Traffic], monkeypatch: pytest.MonkeyPatch
) -> None:
    s3, traffic = counted
    found = measured(spark, s3, traffic, monkeypatch)
    text = PAGE.read_text(encoding="utf-8")
    for name, each in found.items():
        line = re.search(rf"^\| {name} \|.*$", text, re.MULTILINE)
        assert line is not None, row(name, each)
        if os.environ.get("WRITE_COSTS"):
            text = text.replace(line[0], row(name, each))
            continue
        stated = [int(cell) for cell in line[0].split("|")[2:-1]]
        actual = [int(cell) for cell in row(name, each).split("|")[2:-1]]
        for state, real in zip(stated, actual, strict=True):
            assert abs(state - real) <= max(2, TOLERANCE * real), f"{line[0]} is, measured: {row(name, each)}"
    if os.environ.get("WRITE_COSTS"):
        PAGE.write_text(text, encoding="utf-8")
