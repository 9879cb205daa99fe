"""Run a PostgreSQL server for one Airflow, with the data in a folder of this Airflow."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

_USER = "airflow"
_DATABASE = "postgres"
_SYSTEM_USER = "postgres"
_READY_WITHIN_S = 60.0
_STOP_WITHIN_S = 20.0


class PostgresServer:
    """A server that listens only on this machine. `start` creates the data folder, or uses an existing data folder.

    The server refuses to run as root. If this process runs as root, Debian's user ``postgres`` owns the data folder,
    and must be able to enter the folders above it; see `is_possible`. If these folders are temporary and closed to
    other users, like the folders of pytest, the data is in another temporary folder, which `stop` removes.

    Args:
        programs: folder of PostgreSQL's server programs.
        folder: data folder of the server.
        port: port of the server.
    """

    def __init__(self, programs: Path, folder: Path, port: int) -> None:
        self._programs = programs
        self._temporary: Path | None = None
        self._folder = folder
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def is_possible(folder: Path) -> bool:
        """Return whether the data can be in this folder, or in a temporary folder in its place."""
        return _can_enter_parents(folder) or folder.is_relative_to(tempfile.gettempdir())

    @property
    def _password_file(self) -> Path:
        return self._folder.with_name(f"{self._folder.name}-password")

    @property
    def url(self) -> str:
        """Address of the database, for Airflow."""
        password = self._password_file.read_text()
        return f"postgresql+psycopg2://{_USER}:{password}@127.0.0.1:{self._port}/{_DATABASE}"

    def start(self) -> None:
        """Start the server and wait until it accepts connections. Raises RuntimeError if the server does not start."""
        if not _can_enter_parents(self._folder):
            self._temporary = Path(tempfile.mkdtemp(prefix="airflow-postgres-"))
            self._temporary.chmod(0o711)
            self._folder = self._temporary / self._folder.name
        log_file = self._folder.with_name(f"{self._folder.name}.log")
        if not (self._folder / "PG_VERSION").exists():
            self._create_data()
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(self._programs / "postgres"),
                    *("-D", str(self._folder), "-h", "127.0.0.1", "-p", str(self._port)),
                    # These settings make writes faster. The data need not survive a crash of the machine.
                    *("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off"),
                    *("-c", "unix_socket_directories=", "-c", "max_connections=200"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
                **_other_user(),
            )
        deadline = time.monotonic() + _READY_WITHIN_S
        while not self._accepts_connections():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"PostgreSQL did not start:\n{log_file.read_text()[-2000:]}")
            time.sleep(0.1)

    def dump(self) -> bytes:
        """Return the content of the whole database as SQL."""
        variables = {**os.environ, "PGPASSWORD": self._password_file.read_text()}
        command = [
            str(self._programs / "pg_dump"),
            "-h",
            "127.0.0.1",
            "-p",
            str(self._port),
            "-U",
            _USER,
            _DATABASE,
        ]
        return subprocess.run(command, env=variables, capture_output=True, check=True).stdout

    def stop(self) -> None:
        """End the server; Airflow's processes must have ended."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown, which ends open connections
            try:
                process.wait(_STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _create_data(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700, parents=True)
        self._password_file.write_text(secrets.token_hex(16))
        self._password_file.chmod(0o600)
        if user := _other_user():
            for path in (self._folder, self._password_file):
                shutil.chown(path, **user)
        subprocess.run(
            [
                str(self._programs / "initdb"),
                *("--pgdata", str(self._folder), "--username", _USER, "--auth", "scram-sha-256"),
                *(
                    "--pwfile",
                    str(self._password_file),
                    "--encoding",
                    "UTF8",
                    "--locale",
                    "C.UTF-8",
                    "--no-sync",
                ),
            ],
            check=True,
            capture_output=True,
            cwd="/",
            **_other_user(),
        )

    def _accepts_connections(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), 1).close()
        except OSError:
            return False
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        return subprocess.run(ready, check=False).returncode == 0


def _can_enter_parents(folder: Path) -> bool:
    """Return whether the user of the server can enter the parents of this folder."""
    if not _other_user():
        return True
    existing = next(parent for parent in folder.parents if parent.exists())
    user = pwd.getpwnam(_SYSTEM_USER)
    probe = subprocess.run(
        ["test", "-x", str(existing)], user=user.pw_uid, group=user.pw_gid, extra_groups=(), check=False
    )
    return probe.returncode == 0


def _other_user() -> dict[str, str]:
    """Return the arguments of `Popen` for the user of the server; empty if this process may run the server itself."""
    return {"user": _SYSTEM_USER, "group": _SYSTEM_USER} if os.getuid() == 0 else {}
