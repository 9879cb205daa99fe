"""Requests and bytes of the usual operations on a table on S3. docs/s3-costs.md contains the same numbers.

A proxy counts them. To write the measured numbers into the page, set ``WRITE_COSTS=1``.
"""

import json
import os
import re
import socket
import socketserver
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_hudi_provider.hooks.hudi import HudiHook
from conftest import S3
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.clock import SystemClock
from support.fixed_clock import FixedClock

pytestmark = pytest.mark.thorough
PAGE = Path(__file__).parents[2] / "docs" / "s3-costs.md"
PARTITIONS, COMMITS, ROWS = 10, 12, 1_000
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")
_REQUEST = re.compile(rb"^(GET|HEAD|PUT|POST|DELETE) (\S+) HTTP/1\.1\r\n", re.MULTILINE)
TOLERANCE = 0.25
"""Part by which a number of the page may differ from the measured number: retries and heartbeats vary."""


@dataclass
class Traffic:
    """What passed the proxy since the last call of `take`."""

    requests: Counter[str] = field(default_factory=Counter)
    read: int = 0
    written: int = 0

    def take(self) -> "Traffic":
        taken = Traffic(Counter(self.requests), self.read, self.written)
        self.requests.clear()
        self.read = self.written = 0
        return taken


class Proxy(socketserver.ThreadingTCPServer):
    """Forwards connections to the S3 server, and counts requests and bytes."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, upstream: tuple[str, int], traffic: Traffic) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.upstream, self.traffic = upstream, traffic
        self.lock = threading.Lock()


class Connection(socketserver.BaseRequestHandler):
    server: Proxy

    def handle(self) -> None:
        with socket.create_connection(self.server.upstream) as upstream:
            back = threading.Thread(
                target=self._copy, args=(upstream, self.request, self._count_read), daemon=True
            )
            back.start()
            self._copy(self.request, upstream, self._count_written)
            back.join()

    def _copy(self, source: socket.socket, target: socket.socket, count: Callable[[bytes], None]) -> None:
        try:
            while data := source.recv(1 << 16):
                count(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def _count_read(self, data: bytes) -> None:
        with self.server.lock:
            self.server.traffic.read += len(data)

    def _count_written(self, data: bytes) -> None:
        with self.server.lock:
            self.server.traffic.written += len(data)
            for method, target in _REQUEST.findall(data):
                is_listing = method == b"GET" and b"list-type=2" in target
                self.server.traffic.requests["LIST" if is_listing else method.decode()] += 1


@pytest.fixture
def counted(s3: S3) -> Iterator[tuple[S3, Traffic]]:
    host, _, port = s3.endpoint.removeprefix("http://").partition(":")
    traffic = Traffic()
    with Proxy((host, int(port)), traffic) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield S3(f"http://127.0.0.1:{proxy.server_address[1]}"), traffic
        proxy.shutdown()


def write(spark: SparkSession, s3: S3, uri: str, number: int) -> None:
    """Upsert rows into every partition: the first write makes them, and later writes change a tenth of them."""
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

    def view() -> None:
        hook.health()
        hook.recent_writes(100)
        hook.preview_clustering()

    # A clean keeps files that were replaced less than an hour ago.
    in_two_hours = FixedClock(SystemClock().now() + timedelta(hours=2))
    steps: dict[str, Callable[[], object]] = {
        "a sensor reads the timeline": hook.timeline,
        "a page of the table": view,
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
