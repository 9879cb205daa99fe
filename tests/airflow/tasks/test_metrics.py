"""Tasks send metrics to a StatsD server, and a failure to send them does not fail a task."""

import re
import socket
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException, Stats, TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.config_check import HudiConfigCheckOperator
from airflow_hudi_provider.tasks.metrics import METRICS, service_of
from hudi_table_services.contract.result import JobResult, Outcome, RowCounts
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.turns import WriterQueue
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

DOCS = Path(__file__).parents[3] / "docs" / "metrics.md"
WRITES = """
from hudi_table_services.contract.result import FileGroupChange, PartitionReport, RowCounts
def change(size):
    return FileGroupChange(partition_path="city=a", file_id="f", update_count=0, insert_count=1, size_before_bytes=0,
                           expected_size_bytes=size, size_after_bytes=size)
i = commit()
result(outcome='completed', operation='upsert', table_name='flights', instant_time=i.requested_time,
       rows=RowCounts(read=9, inserted=5, updated=2, deleted=1), timings_s={'write': 2.0, 'lock_wait': 1.5},
       partitions=(PartitionReport(partition_path='city=a', padded=(change(100),), opened=(change(20),)),))
"""

Received = Callable[[], dict[str, str]]


class StatsdLines:
    """A StatsD client with InfluxDB tags; Airflow's own client needs a package that may be missing."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._address = ("127.0.0.1", port)

    def incr(self, stat: str, count: int = 1, rate: float = 1, *, tags: dict[str, str] | None = None) -> None:
        self._send(stat, count, "c", tags)

    def timing(self, stat: str, dt: timedelta, *, tags: dict[str, str] | None = None) -> None:
        self._send(stat, dt.total_seconds() * 1000, "ms", tags)

    def close(self) -> None:
        self._socket.close()

    def _send(self, stat: str, value: float, unit: str, tags: dict[str, str] | None) -> None:
        tagged = ",".join([stat, *(f"{name}={value}" for name, value in (tags or {}).items())])
        self._socket.sendto(f"{tagged}:{value:f}|{unit}".encode(), self._address)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(0.3)
        yield listening


class RecordingTaskInstance(TaskInstance):
    """A task instance that ignores pushed XComs."""

    def xcom_push(self, key: str, value: Any) -> None:
        pass


def received_by(server: socket.socket) -> dict[str, str]:
    """Return the received Hudi metrics; the keys are name and tags, the values are value and unit."""
    found = {}
    while True:
        try:
            text = server.recv(65_536).decode()
        except TimeoutError:
            return found
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if name.startswith("hudi."):
                found[name] = value


def use(backend: Any) -> None:
    """Let Airflow's Stats send metrics to this backend."""
    if hasattr(Stats, "initialize"):
        Stats.initialize(factory=lambda: backend, export_legacy_names=False)
    else:  # before Airflow 3.2
        Stats.instance = backend


@pytest.fixture(autouse=True)
def no_stats_afterwards() -> Iterator[None]:
    yield
    if hasattr(Stats, "initialize"):
        from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger
    else:
        from airflow.metrics.base_stats_logger import NoStatsLogger
    use(NoStatsLogger())


@pytest.fixture
def received(server: socket.socket) -> Iterator[Received]:
    sending = StatsdLines(server.getsockname()[1])
    use(sending)
    yield lambda: received_by(server)
    sending.close()


def number(value: str) -> float:
    return float(value.split("|")[0])


def test_a_write_sends_its_figures(operator: Callable[..., Any], received: Received) -> None:
    operator(WRITES).execute(context())
    sent = received()
    tags = "table=flights,service=write"
    assert number(sent.pop(f"hudi.write.duration,{tags}")) > 0
    assert {name: number(value) for name, value in sent.items()} == {
        f"hudi.write.rows,{tags}": 8,
        f"hudi.write.files_written,{tags}": 2,
        f"hudi.write.bytes_written,{tags}": 120,
        f"hudi.write.lock_wait,{tags}": 1500,
    }


def test_work_of_an_earlier_try_is_not_counted_twice(
    operator: Callable[..., Any], received: Received
) -> None:
    operator(WRITES).execute(context())
    received()
    operator("raise SystemExit('submitted')").execute(context())
    assert {name.partition(",")[0] for name in received()} == {"hudi.write.duration", "hudi.write.reused"}


@pytest.mark.parametrize(
    ("fields", "rows"),
    [
        ({}, 7),
        ({"reused": True}, 0),
        ({"outcome": Outcome.PLANNED}, 0),
        ({"outcome": Outcome.FAILED}, 0),
    ],
)
def test_only_rows_that_the_job_itself_committed_count(fields: dict[str, Any], rows: int) -> None:
    given = {"request_id": "r", "outcome": Outcome.COMPLETED, "rows": RowCounts(inserted=7), **fields}
    assert JobResult(**given).figures().rows == rows


def test_a_table_with_an_unusual_name_gets_a_valid_tag(
    operator: Callable[..., Any], received: Received
) -> None:
    odd = WRITES.replace("'flights'", "'my flights, =1:2|c\\u00fc'")
    operator(odd).execute(context())
    assert "hudi.write.rows,table=my_flights___1_2_c_,service=write" in received()


def test_a_failure_sends_only_its_count_and_duration(
    operator: Callable[..., Any], received: Received
) -> None:
    with pytest.raises(HudiTaskError):
        operator("failed('ConflictError', True); raise SystemExit(1)").execute(context())
    sent = received()
    tags = "table=table,service=write"
    assert sent[f"hudi.write.failures,{tags}"].startswith("1")
    assert set(sent) == {f"hudi.write.failures,{tags}", f"hudi.write.duration,{tags}"}


def test_a_task_that_waits_for_its_turn_sends_no_metrics(
    operator: Callable[..., Any], received: Received, tmp_path: Path
) -> None:
    queue = WriterQueue(LocalStorage(str(tmp_path / "table")), SystemClock())
    assert queue.begin("another writer")
    with pytest.raises(TaskDeferred):
        operator(WRITES, take_turns=True).execute(context())
    assert received() == {}


def test_a_clean_sends_the_number_of_deleted_files_and_a_skipped_clean_sends_no_failure(
    tmp_path: Path, received: Received
) -> None:
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=5))
    table = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9, clock)
    for _ in range(5):
        table.commit(FileGroupId("city=a", "a-0"))

    def clean(run_id: str) -> dict[str, str]:
        task = CleanOperator(
            task_id="clean",
            base_path=table.storage.base_path,
            commits_retained=2,
            hudi_options={"hoodie.airflow.clean.floor.hours": 0},
        )
        task.execute(context(ti=TaskInstance(run_id=run_id)))
        return received()

    sent = {name.partition(",")[0]: number(value) for name, value in clean("run 1").items()}
    assert sent.pop("hudi.clean.duration") > 0
    assert sent.pop("hudi.clean.lock_wait") >= 0
    assert sent == {"hudi.clean.files_removed": 2}
    with pytest.raises(AirflowSkipException):
        clean("run 2")
    assert {name.partition(",")[0] for name in received()} <= {"hudi.clean.duration", "hudi.clean.lock_wait"}


def test_a_check_of_settings_is_measured_with_and_without_a_table(tmp_path: Path, received: Received) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9)
    table.commit(FileGroupId("city=a", "a-0"))
    HudiConfigCheckOperator(task_id="check", base_path=table.storage.base_path).execute(context())
    assert set(received()) == {"hudi.check_config.duration,table=trips,service=check_config"}
    harmful = HudiConfigCheckOperator(task_id="check", hudi_options={"hoodie.keep.min.commits": 3})
    with pytest.raises(HudiTaskRefusedError):
        harmful.execute(context(ti=RecordingTaskInstance()))
    names = {f"hudi.check_config.{name},service=check_config" for name in ("duration", "failures")}
    assert set(received()) == names


def test_metrics_that_cannot_be_sent_do_not_fail_a_task(
    operator: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    use(object())
    assert operator(WRITES).execute(context())["outcome"] == "completed"
    assert "Metrics were not emitted" in caplog.text


def test_metrics_can_be_sent_with_the_statsd_client_of_airflow(
    operator: Callable[..., Any], server: socket.socket
) -> None:
    statsd = pytest.importorskip("statsd", reason="Airflow's client for StatsD needs it")
    logger = pytest.importorskip("airflow.sdk._shared.observability.metrics.statsd_logger")
    client = logger.get_statsd_logger(
        stats_class=statsd.StatsClient,
        host="127.0.0.1",
        port=server.getsockname()[1],
        influxdb_tags_enabled=True,
        statsd_influxdb_enabled=True,
    )
    use(client)
    operator(WRITES).execute(context())
    sent = {name.partition(",")[0]: value for name, value in received_by(server).items()}
    assert sent["hudi.write.rows"] == "8|c"
    assert {"hudi.write.duration", "hudi.write.lock_wait", "hudi.write.bytes_written"} <= set(sent)


def test_the_metrics_of_a_script_without_a_service_are_named_after_its_file() -> None:
    assert [service_of(name) for name in ("upsert_with_sizing.py", "clean.py", "my_own.py")] == [
        "write",
        "clean",
        "my_own",
    ]


def test_the_metrics_page_lists_every_metric() -> None:
    rows = re.findall(r"^\| `hudi\.<service>\.(\w+)` \| (\w+) \| (.+?) \|$", DOCS.read_text(), re.MULTILINE)
    assert rows == [(each.name, each.kind, each.meaning) for each in METRICS]
