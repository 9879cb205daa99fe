"""Service operators show no secrets of a connection, and treat unusual names as data in every process."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.operators.archive import ArchiveOperator
from airflow_hudi_provider.operators.catalog import HudiCatalogSyncOperator
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.operators.metadata_table import RebuildMetadataTableOperator
from airflow_hudi_provider.operators.recovery import (
    DeleteSavepointOperator,
    RepairOperator,
    RestoreOperator,
    RollbackOperator,
    SavepointOperator,
)
from airflow_hudi_provider.operators.service_job import HudiServiceOperator
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.services.registry import SERVICES
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.stand_ins import stand_in
from support.airflow.task_context import TaskInstance, context
from support.catalogs.small_metastore import running_metastore
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

CANARY = "canary-8b2f4"
ODD = "t'$(touch pwned);`touch pwned`\n\"& |*%20 -x"

OPERATORS: list[tuple[type[HudiServiceOperator], dict[str, Any]]] = [
    (HudiTableHealthOperator, {}),
    (SavepointOperator, {"comments": ODD, "saved_by": ODD}),
    (RestoreOperator, {"savepoint": "{last}"}),
    (DeleteSavepointOperator, {"instant": "{last}"}),
    (CleanOperator, {"commits_retained": 1, "hudi_options": {"hoodie.airflow.clean.floor.hours": "0"}}),
    (ArchiveOperator, {}),
    (RollbackOperator, {"all_failed": True}),
    (RepairOperator, {"preview": False, "older_than_hours": 0}),
    (RebuildMetadataTableOperator, {"partitions": "files"}),
    (HudiCatalogSyncOperator, {"metastore_uris": "{metastore}", "catalog_table": "odd"}),
]

# Services whose operators this test does not run, each with the reason.
NOT_RUN = {
    "writing": "the job needs Spark",
    "clustering": "the small tables contain no rows that a clustering could rewrite",
    "compaction": "the small tables are copy-on-write tables",
    "config_check": "the operator runs its job in the worker only",
}

# A program that replaces spark-submit. It records the facts that other users of the machine can read: the command
# lines, the arguments and the file mode of the request. Then it runs the script of the job.
BODY = """
import subprocess
seen = ["".join(open(f"/proc/{p}/cmdline").read() for p in (os.getpid(), os.getppid()))]
seen += arguments
with open(SEEN, "a") as file:
    file.write(json.dumps([seen, oct(os.stat(uri).st_mode & 0o777)]) + "\\n")
(script,) = [a for a in arguments if a.endswith(".py")]
variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
sys.exit(subprocess.run([sys.executable, script, "--request", uri], env=variables).returncode)
"""


def test_an_operator_of_every_service_is_tested() -> None:
    tested = {operator.script for operator, _ in OPERATORS}
    without = {each.name for each in SERVICES if not tested & {script.file_name for script in each.scripts}}
    assert without == NOT_RUN.keys()


class RecordingTaskInstance(TaskInstance):
    """A task instance that keeps the XComs that a task pushes."""

    def __init__(self) -> None:
        super().__init__()
        self.pushed: list[Any] = []

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed.append([key, value])


@pytest.fixture
def _in_a_folder_without_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_in_a_folder_without_umask")
@pytest.mark.parametrize("run_on", ["worker", "spark"])
def test_secrets_are_not_shown_and_names_are_not_executed(
    tmp_path: Path,
    connections: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    run_on: str,
) -> None:
    connections("spark_default", conn_type="spark", host="local[2]")
    connections("store", conn_type="aws", login="key", password=CANARY)
    seen, pushed = tmp_path / "seen", RecordingTaskInstance()
    seen.touch()
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
    table = SmallTable(LocalStorage(str(tmp_path / ODD)), TableVersion.V9, clock)
    last = [table.commit(FileGroupId(ODD, "f1")) for _ in range(4)][-1].requested_time
    table.begin()
    body = BODY.replace("SEEN", repr(str(seen)))
    answers: list[Any] = []
    with running_metastore() as metastore:
        places = {"{last}": last, "{metastore}": metastore.uri}
        for operator, arguments in OPERATORS:
            given = {
                "task_id": "t",
                "base_path": str(tmp_path / ODD),
                "storage_conn_id": "store",
                "run_on": run_on,
                "spark_binary": stand_in(tmp_path, body),
                **({} if operator is HudiTableHealthOperator else {"on_nothing": "succeed"}),
                **{key: places.get(str(value), value) for key, value in arguments.items()},
            }
            answers.append(operator(**given).execute(context(ti=pushed)))
    processes = [json.loads(line) for line in seen.read_text().splitlines()]
    assert len(processes) == (len(OPERATORS) if run_on == "spark" else 0)
    assert {mode for _, mode in processes} <= {"0o600"}
    visible = json.dumps([answers, pushed.pushed, processes]) + caplog.text + "".join(capfd.readouterr())
    assert CANARY not in visible
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert [path for path in tmp_path.rglob("*") if path.name == "pwned"] == []
    assert not table.timeline_store.load().pending


@pytest.mark.parametrize(
    "instant", ["../../x", "2026010100\n0000000", "20260101000000000; true", "$(true)", "/x"]
)
@pytest.mark.parametrize(
    ("operator", "argument"),
    [
        (SavepointOperator, "instant"),
        (DeleteSavepointOperator, "instant"),
        (RollbackOperator, "instant"),
        (RestoreOperator, "savepoint"),
    ],
)
def test_an_instant_with_characters_other_than_digits_is_refused(
    operator: type[HudiServiceOperator], argument: str, instant: str
) -> None:
    with pytest.raises(ValueError, match="is not an instant time"):
        operator(task_id="t", base_path="/t", **{argument: instant})
