"""An API server with the pages, requests of different users to the server, and the small tables that the pages show."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY / "scripts"))

from airflow_stack.api import AirflowApi  # noqa: E402
from airflow_stack.stack import AirflowStack  # noqa: E402
from lively_table import Life, lively_table  # noqa: E402

from hudi_table_services.contract.recovery import CreateSavepointRequest, RollbackRequest  # noqa: E402
from hudi_table_services.jobs.recovery.rollback import rollback  # noqa: E402
from hudi_table_services.jobs.recovery.savepoint import create_savepoint  # noqa: E402
from hudi_table_services.model.file_group import FileGroupId  # noqa: E402
from hudi_table_services.model.table_version import TableVersion  # noqa: E402
from hudi_table_services.storage.stores.local import LocalStorage  # noqa: E402
from hudi_table_services.tables.reading.change_positions import POSITION_KEY, SOURCE_KEY  # noqa: E402
from support.archived_tables import History  # noqa: E402
from support.compaction import jobs_here  # noqa: E402
from support.compaction.written_table import WrittenTable, a_row  # noqa: E402
from support.fixed_clock import FixedClock  # noqa: E402
from support.jobs_on_tables import later  # noqa: E402
from support.metadata_table.whole_metadata_golden import whole_table  # noqa: E402
from support.small_tables import SmallTable, base_file_name  # noqa: E402
from support.undone_tables import updated  # noqa: E402

PICTURES = bool(os.environ.get("PICTURES"))
"""Whether the tests take the pictures for the docs; for the pictures, the tables have only plain names."""

ORDERS = Life(name="orders", key="order_id")
PAYMENTS = Life(name="payments", key="payment_id", seed=11)
CUSTOMERS = Life(name="customers", key="customer_id", file_mib=(118, 170), late_share=0.2, seed=3)
STUCK, HEALTHY = (PAYMENTS.name, CUSTOMERS.name) if PICTURES else ("stuck", "secret")
UNBORN = "refunds"
"""The table of a writer that always fails."""

LANDING = "landing"
"""The folder of tasks that name a wrong path: the folder contains a file, but no table."""

SIZED = "sized"
"""A configured table that does not exist before a test creates it."""

NASTY = "<img src=x onerror=window.harmed=1>"
# A program that registers assets as Airflow does when it parses a DAG with these outlets.
_REGISTER = """
import datetime, json, sys
from airflow.models.asset import AssetActive, AssetModel
from airflow.utils.session import create_session
with create_session() as session:
    for name, uri in json.loads(sys.argv[1]):
        asset = AssetModel(name=name, uri=uri, group="asset")
        session.add(asset)
        session.flush()
        session.add(AssetActive.for_asset(asset))
"""

# If Python runs this DAG file as a program, the file runs each of its DAGs once. Airflow stores the runs, and the
# results and links of the tasks.
_DAGS = """
import sys
from datetime import datetime, timezone
from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import DAG, task
from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.operators.recovery import SavepointOperator
from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.results.task_outcome import SKIPPED_KEY
from airflow_hudi_provider.sensors.commit_count import HudiCommitCountSensor

def health_dag(dag_id):
    with DAG(dag_id, schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as dag:
        HudiTableHealthOperator(
            task_id="health", base_path={path!r}, outlets=[HudiAsset({path!r}, name={name!r})]
        )
        HudiTableHealthOperator(task_id="elsewhere", base_path={elsewhere!r}, declare_asset=False)
        SavepointOperator(task_id="keep", base_path={elsewhere!r}, declare_asset=False)
    return dag

shown, hidden = health_dag("shown"), health_dag("hidden")
with DAG("broken", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as broken:
    HudiCommitCountSensor(task_id="count", base_path={path!r}, every_n_commits=1)
    HudiTableHealthOperator(
        task_id="refused", base_path={path!r}, table_name="another", outlets=[HudiAsset({path!r}, name={name!r})]
    ) >> HudiTableHealthOperator(task_id="after", base_path={path!r})
    HudiTableHealthOperator(
        task_id="early", base_path={nowhere!r}, inlets=[HudiAsset({nowhere!r}, name="missing")]
    ) >> HudiTableHealthOperator(
        task_id="unconnected", base_path="orders", hudi_conn_id="nope", trigger_rule="all_done"
    )
with DAG("astray", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as astray:
    HudiTableHealthOperator(task_id="check", base_path={landing!r})
    CleanOperator(task_id="clean", base_path={landing!r})
with DAG("idle", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as idle:
    @task
    def cluster(ti=None):
        # What a service pushes that found nothing to do.
        reason = "a clustering is due after 2 commits; the table has 1"
        result = {{"outcome": "nothing_to_do", "operation": "clustering", "base_path": {path!r}, "reason": reason}}
        ti.xcom_push(key=SKIPPED_KEY, value=result)
        raise AirflowSkipException(reason)

    cluster()
with DAG("reused", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as reused:
    @task
    def commit_for_load(run_id=None):
        # The commit of an earlier try of the task "load", which was ended before it returned its result.
        sys.path[:0] = {imports!r}
        from hudi_table_services.model.file_group import FileGroupId
        from hudi_table_services.storage.stores.local import LocalStorage
        from support.small_tables import SmallTable
        table = SmallTable(LocalStorage({path!r} + "_reused"))
        table.commit(FileGroupId("city=a", "a-0"), extra={{"airflow.request_id": f"reused/{{run_id}}/load"}})

    commit_for_load() >> UpsertWithSizingOperator(
        task_id="load", base_path={path!r} + "_reused", source_path="/landing", record_key="id", declare_asset=False
    )
if __name__ == "__main__":
    for dag in (shown, hidden, reused, idle):
        assert dag.test().state == "success", dag
    for dag in (broken, astray):
        assert dag.test().state == "failed"
"""


# The DAGs of the pictures. `EmptyOperator` declares the tables of the tasks, but does nothing.
_DAGS_OF_PICTURES = """
from datetime import datetime, timezone
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow_hudi_provider.assets import HudiAsset

start = datetime(2026, 1, 1, tzinfo=timezone.utc)
dags = []
for name in {names!r}:
    table = HudiAsset(f"{folder}/{{name}}", name=name)
    with DAG(f"load_{{name}}", schedule=None, start_date=start) as load:
        EmptyOperator(task_id="load_day", outlets=[table])
    with DAG(f"upkeep_{{name}}", schedule=None, start_date=start) as upkeep:
        EmptyOperator(task_id="cluster", outlets=[table]) >> EmptyOperator(task_id="clean", outlets=[table])
    dags += [load, upkeep]
    globals().update({{dag.dag_id: dag for dag in (load, upkeep)}})
with DAG("report_sales", schedule=[HudiAsset("{folder}/orders", name="orders")], start_date=start) as report:
    EmptyOperator(task_id="sum_up", inlets=[HudiAsset("{folder}/orders", name="orders")])
if __name__ == "__main__":
    for dag in (*dags, report):
        assert dag.test().state == "success", dag
"""

# A DAG whose only task fails, because its table does not exist.
_FAILING_DAG = """
from datetime import datetime, timezone
from airflow.sdk import DAG
from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.operators.health import HudiTableHealthOperator

with DAG("load_refunds", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as dag:
    HudiTableHealthOperator(task_id="load_day", base_path={path!r}, outlets=[HudiAsset({path!r}, name="refunds")])
if __name__ == "__main__":
    assert dag.test().state == "failed"
"""


class Server:
    """The API server; tests send requests to it as different users."""

    def __init__(self, stack: AirflowStack) -> None:
        self.stack = stack
        self.url = stack.url
        self.password = stack.password
        self.folder = stack.home.parent
        self._tokens: dict[str, str] = {}

    def token_of(self, user: str) -> str:
        if user not in self._tokens:
            answer = AirflowApi(self.url).post("/auth/token", {"username": user, "password": self.password})
            self._tokens[user] = answer["access_token"]
        return self._tokens[user]

    def request(self, path: str, user: str = "", method: str = "GET") -> tuple[int, Any, dict[str, str]]:
        """Return status, parsed or plain body, and headers; without a user the request is anonymous."""
        headers = {"Authorization": f"Bearer {self.token_of(user)}"} if user else {}
        request = Request(self.url + path, headers=headers, method=method)
        try:
            with urlopen(request) as answer:
                return answer.status, _parsed(answer.read()), dict(answer.headers)
        except HTTPError as error:
            return error.code, _parsed(error.read()), dict(error.headers)

    def run_of(self, dag_id: str) -> str:
        """The URL-encoded id of the only run of a DAG."""
        (run,) = self.request(f"/api/v2/dags/{dag_id}/dagRuns", "admin")[1]["dag_runs"]
        return quote(run["dag_run_id"])

    def table_id(self, name: str) -> str:
        _, tables, _ = self.request("/hudi/api/tables", "admin")
        return str(next(table["id"] for table in tables if table["name"] == name))


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def register(stack: AirflowStack, assets: Mapping[str, str]) -> None:
    """Put assets (name → URI) into Airflow's database, numbered from 1."""
    subprocess.run(
        [sys.executable, "-c", _REGISTER, json.dumps(list(assets.items()))],
        env=stack.variables,
        check=True,
        capture_output=True,
    )


def run_dags(stack: AirflowStack, dags_folder: Path, table: Path, elsewhere: Path) -> None:
    """Write DAGs that check the health of both tables, with an asset for ``table``, and run each DAG once."""
    imports, nowhere = [str(Path(__file__).parents[2])], str(table.parent / "nowhere")
    landing = table.parent / LANDING
    landing.mkdir()
    (landing / "orders.csv").write_text("id\n1\n")
    text = _DAGS.format(
        path=str(table),
        name=table.name,
        elsewhere=str(elsewhere),
        imports=imports,
        nowhere=nowhere,
        landing=str(landing),
    )
    _run_program(stack, dags_folder / "health_dags.py", text)


def run_failing_dag(stack: AirflowStack, dags_folder: Path, folder: Path) -> None:
    """Run a DAG whose only task names a missing table as an outlet, and fails."""
    _run_program(stack, dags_folder / "failing_dag.py", _FAILING_DAG.format(path=str(folder / UNBORN)))


def run_dags_of_pictures(stack: AirflowStack, dags_folder: Path, folder: Path) -> None:
    """Run DAGs with the tables of the pictures as outlets and inlets."""
    names = [life.name for life in (ORDERS, PAYMENTS, CUSTOMERS)]
    _run_program(
        stack, dags_folder / "dags_of_pictures.py", _DAGS_OF_PICTURES.format(names=names, folder=str(folder))
    )


def _run_program(stack: AirflowStack, program: Path, text: str) -> None:
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=stack.home,
        env=stack.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def healthy_table(folder: Path) -> None:
    """A table of twenty commits into four file groups, two of them in a partition with a hostile name."""
    if PICTURES:
        lively_table(folder, ORDERS)
        return
    start = datetime.now(timezone.utc) - timedelta(hours=3)
    table = SmallTable(LocalStorage(str(folder)), TableVersion.V9, FixedClock(start, timedelta(minutes=1)))
    groups = [FileGroupId(path, f"f{number}") for number, path in enumerate(("2026-01", NASTY) * 2)]
    for number, group in enumerate(groups):
        dag_id = "load" if number else "hidden"
        table.commit(group, extra={"airflow.request_id": f"{dag_id}/run {number}/write"})
    for number in range(16):
        updated(table, groups[number % 4])


def aged_table(folder: Path) -> None:
    """A table of twelve commits, each of a new file group; the first ten commits are archived."""
    history = History(storage=LocalStorage(str(folder)))
    for number in range(12):
        history.commits(1, FileGroupId("p", f"f{number}"))
    history.archive()


def logged_table(folder: Path) -> None:
    """A merge-on-read table: a completed compaction, a later log file in each of two partitions, and a pending plan."""
    table = WrittenTable(LocalStorage(str(folder)), clock=later(-1))
    groups = {path: FileGroupId(path, f"{path}-0") for path in ("north", "south")}
    table.insert({group: [a_row(path, 1)] for path, group in groups.items()})
    table.log({groups["north"]: [a_row("north", 2)]})
    jobs_here.schedule(table.storage, later(0))
    jobs_here.execute(table.storage, later(0), request_id="upkeep/run 1/compact")
    table.log({group: [a_row(path, 3)] for path, group in groups.items()})
    jobs_here.schedule(table.storage, later(0), partitions=("south",))


def indexed_table(folder: Path) -> None:
    """A table with a metadata table of Hudi 1.2.0. The metadata table does not list one data file, which is a copy.

    The properties of the table list an expression index, which jobs cannot update.
    """
    table = whole_table(TableVersion.V9, "copy_on_write", LocalStorage(str(folder)))
    table.put_data_files()
    properties = folder / ".hoodie" / "hoodie.properties"
    text = properties.read_text()
    listed = ",files,"
    assert listed in text
    properties.write_text(text.replace(listed, f"{listed}expr_index_city,"))
    path, sizes = next(iter(table.files.items()))
    table.storage.write(f"{path}/copy-{max(sizes)}", b"rows")


def secret_table(folder: Path) -> None:
    """A table that only administrators may see. It has a dead write, except in the pictures."""
    if PICTURES:
        lively_table(folder, CUSTOMERS)
    else:
        stuck_table(folder)


def stuck_table(folder: Path) -> None:
    """A table with a dead write that left a data file.

    Outside the pictures, the table also has a write that was rolled back, a savepoint, and positions in the tables
    ``orders`` and ``secret`` and in a table that is not registered.
    """
    if PICTURES:
        table = lively_table(folder, PAYMENTS)
        dead = table.begin()
        day = f"{datetime.now(timezone.utc) - timedelta(hours=29):%Y-%m-%d}"
        table.add_file(f"day={day}", base_file_name("dead", dead.requested_time))
        return
    start = datetime.now(timezone.utc) - timedelta(hours=30)
    table = SmallTable(LocalStorage(str(folder)), TableVersion.V6, FixedClock(start, timedelta(minutes=1)))
    sources = {"a": "orders", "b": HEALTHY, "c": "unknown"}
    positions = {f"_{POSITION_KEY}{chain}": "20200101000000000" for chain in sources}
    paths = {f"_{SOURCE_KEY}{chain}": f"{folder.parent}/{name}" for chain, name in sources.items()}
    extra = {"airflow.request_id": "load/run 1/write", **positions, **paths}
    written = table.commit(FileGroupId("p", "f1"), extra=extra)
    dead_too = (table.begin().requested_time,)
    undone = RollbackRequest(base_path=str(folder), request_id="repair/run 1/undo", instants=dead_too)
    rollback(undone, storage=table.storage, clock=table.clock)
    saved = CreateSavepointRequest(
        base_path=str(folder),
        request_id="load/run 1/keep",
        instant=written.requested_time,
        saved_by="vera",
    )
    create_savepoint(saved, storage=table.storage, clock=table.clock)
    dead = table.begin()
    table.add_file("p", base_file_name("dead", dead.requested_time))
