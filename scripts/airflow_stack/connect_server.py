"""Run a Spark Connect server with the Spark of this environment, for the demo, tests and benchmarks."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pyspark

_READY_WITHIN_S = 180.0
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer:
    """A context manager that runs a server. The server can be killed and started again on the same port.

    Args:
        folder: folder for the server's log and scratch files.
        variables: environment variables of the server. The server also gets the environment of this process, except the
            variables that configure another Spark. `PYSPARK_PYTHON` is the Python of the workers, by default the Python
            of this process.
        master: Spark master that runs the tasks.
        conf: further Spark properties.
        jars: jar of the server, needed only if the package of Spark does not contain the jar.
    """

    def __init__(
        self,
        folder: Path,
        variables: Mapping[str, str],
        *,
        master: str = "local[2]",
        conf: Mapping[str, str] | None = None,
        jars: str = "",
    ) -> None:
        self._folder, self._variables, self._master = folder, dict(variables), master
        self._conf, self._jars = dict(conf or {}), jars
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")

    def __enter__(self) -> "ConnectServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start the server and wait until it listens. Raises RuntimeError if the server does not start."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the server's process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        conf = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": str(self._folder / "local"),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(self._folder / "warehouse"),
            "spark.ui.enabled": "false",
            **self._conf,
        }
        flags = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
                    *("--master", self._master, "--class", _SERVER),
                    *(
                        ("--jars", self._jars, "--driver-class-path", self._jars.replace(",", ":"))
                        if self._jars
                        else ()
                    ),
                    *flags,
                    "spark-internal",
                ],
                env={
                    **{k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))},
                    "PYSPARK_PYTHON": sys.executable,
                    **self._variables,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until the started server listens. Raises RuntimeError if the server does not start."""
        deadline = time.monotonic() + _READY_WITHIN_S
        while not self._listens():
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"The Spark Connect server did not start:\n{self.log[-3000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill the server, its executors and its Python workers."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True
