"""Start and stop the four processes of an Airflow."""

import fcntl
import json
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import IO, NoReturn

from airflow_stack.api import AirflowApi, ApiError
from airflow_stack.postgres import PostgresServer

COMPONENTS = ("api-server", "scheduler", "dag-processor", "triggerer")
USER = "admin"
USERS = {"vera": "viewer", "uma": "user", "olga": "op", USER: "admin"}
"""Maps each user name to a role. All users have the password of the stack."""

_HEALTHY_WITHIN_S = 300.0
_STOP_WITHIN_S = 10.0
_DATABASE = "airflow.db"
_DATABASE_SETTING = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"

_CLAIMS: list[socket.socket] = []


class StackError(Exception):
    """Airflow or a DAG run failed. The message gives the reason and, where possible, the end of the log."""


class AirflowStack:
    """A context manager that runs an Airflow. After the end of the context, no process of this Airflow runs.

    The database is on PostgreSQL if the environment variable `POSTGRES_PROGRAMS` names the folder of the server's
    programs (`scripts/ensure_postgres.sh`), else in a file of SQLite. If the home already contains such a file, or if
    root runs Airflow in a folder that the user `postgres` cannot enter, the database is also on SQLite.

    Args:
        home: folder for the database, logs and settings of this Airflow; created if it does not exist.
        dags_folder: folder that the DAG processor reads.
        variables: further environment variables of all processes, such as connections.
        parallelism: maximum number of tasks that run at the same time.
        components: commands of Airflow to start, by default `COMPONENTS`. Tests of pages need only the API server.
    """

    def __init__(
        self,
        home: Path,
        dags_folder: Path,
        variables: Mapping[str, str] | None = None,
        parallelism: int = 4,
        components: Sequence[str] = COMPONENTS,
    ) -> None:
        self.home = home.resolve()
        self._components = tuple(components)
        self.password = secrets.token_urlsafe(9)
        self.port, *log_ports = free_ports(8080, 8793, 8794)
        self.variables = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW", "SPARK_", "PYSPARK_"))},
            **_settings(self.home, dags_folder.resolve(), self.port, log_ports, parallelism),
            **(variables or {}),
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.postgres = _postgres_for(self.home)
        self.api = AirflowApi(self.url, on_sqlite=self.postgres is None)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def __enter__(self) -> "AirflowStack":
        self.home.mkdir(parents=True, exist_ok=True)
        self._use = _claim_home(self.home)
        (self.home / "simple_auth_manager_passwords.json.generated").write_text(
            json.dumps(dict.fromkeys(USERS, self.password))
        )
        try:
            if self.postgres is not None:
                self.postgres.start()
                self.variables[_DATABASE_SETTING] = self.postgres.url
            self._migrate()
            for component in self._components:
                self.start(component)
            self._wait_until_healthy()
            self.api.log_in(USER, self.password)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        self.stop()
        if self.postgres is not None:
            self.postgres.stop()
        self._use.close()

    def start(self, component: str) -> None:
        """Start a component; the output is written to ``<home>/<component>.log``."""
        with (self.home / f"{component}.log").open("ab") as log:
            self.processes[component] = subprocess.Popen(
                [sys.executable, "-m", "airflow", *component.split()],
                cwd=self.home,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self, *components: str, kill: bool = False) -> None:
        """Stop these components, by default all, with every process that they started."""
        wanted = components or tuple(self.processes)
        stopping = {name: self.processes.pop(name) for name in wanted if name in self.processes}
        first = signal.SIGKILL if kill else signal.SIGINT
        for process in stopping.values():
            _signal_session(process.pid, first)
        deadline = time.monotonic() + _STOP_WITHIN_S
        for process in stopping.values():
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
            _signal_session(process.pid, signal.SIGKILL)
            process.wait()

    def database_content(self) -> bytes:
        """Return the whole content of the database: a dump of PostgreSQL, or the files of SQLite."""
        if self.postgres is not None:
            return self.postgres.dump()
        return b"".join(path.read_bytes() for path in sorted(self.home.glob(f"{_DATABASE}*")))

    def raise_if_dead(self) -> None:
        """Raise StackError if a process ended by itself."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise StackError(f"airflow {name} ended:\n{self.log_of(name)[-3000:]}")

    def log_of(self, component: str) -> str:
        return (self.home / f"{component}.log").read_text(errors="replace")

    def _migrate(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "airflow", "db", "migrate"],
            cwd=self.home,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise StackError(f"airflow db migrate failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        if self.postgres is not None:
            return
        with closing(sqlite3.connect(self.home / _DATABASE)) as database:
            # The database file stores this setting. With this setting, readers and a writer do not block each other.
            database.execute("PRAGMA journal_mode=WAL")

    def _wait_until_healthy(self) -> None:
        deadline = time.monotonic() + _HEALTHY_WITHIN_S
        while time.monotonic() < deadline:
            self.raise_if_dead()
            try:
                health = self.api.get("/api/v2/monitor/health")
            except (ApiError, OSError):
                time.sleep(0.5)
                continue
            others = [name.replace("-", "_") for name in self._components]
            if all(health[part]["status"] == "healthy" for part in others if part in health):
                return
            time.sleep(0.5)
        raise StackError(f"Airflow was not healthy after {_HEALTHY_WITHIN_S:.0f} s; see {self.home}/*.log")


def _postgres_for(home: Path) -> PostgresServer | None:
    """Return the database server of an Airflow, or None if this Airflow uses SQLite."""
    programs, folder = os.environ.get("POSTGRES_PROGRAMS"), home / "postgres"
    if not programs or (home / _DATABASE).exists() or not PostgresServer.is_possible(folder):
        return None
    return PostgresServer(Path(programs), folder, free_ports(5433)[0])


def is_in_use(home: Path) -> bool:
    """Return whether an Airflow of this module runs in this folder."""
    try:
        _claim_home(home).close()
    except StackError:
        return True
    return False


def _claim_home(home: Path) -> IO[str]:
    """Lock a file in the folder until the returned file is closed. The lock ends with the process.

    Raises:
        StackError: another program has locked the file.
    """
    lock = (home / "running.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise StackError(
            f"Another Airflow runs in {home}. Stop it, or use another folder: make airflow HOME_FOLDER=/path/to/folder."
        ) from None
    return lock


def run_program(main: Callable[[], int]) -> NoReturn:
    """Run a program that starts a stack, and exit with the code that the program returns.

    If Airflow or a DAG run failed, exit with the message of the `StackError`. SIGTERM and Ctrl-C stop the stack.
    """
    _interrupt_when_terminated()
    try:
        sys.exit(main())
    except StackError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped.")


def _interrupt_when_terminated() -> None:
    """Make SIGTERM end this program as Ctrl-C does, so that a stack is stopped with all its processes.

    Also enable Ctrl-C again, which a shell may disable for a background process.
    """

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)


def free_ports(*wanted: int) -> list[int]:
    """Return these ports or, for each port in use, the next free port above it.

    The ports are reserved until this program ends: a stack needs half a minute before it listens, and another stack may
    start during that time.
    """
    found: list[int] = []
    for port in wanted:
        while not (_is_free(port) and _claim(port)):
            port += 1
        found.append(port)
    return found


def _claim(port: int) -> bool:
    """Reserve a port with a Linux abstract socket named after it. The reservation ends with the process."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0airflow-stack-port-{port}")
    except OSError:
        claim.close()
        return False
    _CLAIMS.append(claim)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _settings(home: Path, dags: Path, port: int, log_ports: list[int], parallelism: int) -> dict[str, str]:
    url = f"http://localhost:{port}"
    bin_folder = str(Path(sys.executable).parent)
    return {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(16),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": str(parallelism),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(
            f"{name}:{role}" for name, role in USERS.items()
        ),
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "60",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "60",
        _DATABASE_SETTING: f"sqlite:///{home / _DATABASE}",
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(log_ports[1]),
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(log_ports[0]),
        "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "15",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "45",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
        "PYTHONWARNINGS": "ignore",
    }


def _signal_session(session: int, number: signal.Signals) -> None:
    """Signal every process of a session of this stack; Airflow's workers are in separate process groups."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text(errors="replace").rpartition(")")[2].split()
            if fields[3] == str(session) and fields[0] not in "ZX":
                os.kill(int(status.parent.name), number)
        except (FileNotFoundError, ProcessLookupError):
            continue
