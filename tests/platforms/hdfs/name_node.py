"""A single-node HDFS for tests: a NameNode and a DataNode from the jars of Maven Central and of pyspark."""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyspark

REPOSITORY = Path(__file__).resolve().parents[3]
_STARTS_WITHIN_S = 240.0
_NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"


@dataclass(frozen=True)
class Hdfs:
    """A running HDFS.

    Attributes:
        address: ``host:port`` of the NameNode.
        conf_dir: folder with core-site.xml and hdfs-site.xml.
    """

    address: str
    conf_dir: Path

    def uri(self, path: str) -> str:
        """Return the URI of an absolute path."""
        return f"hdfs://{self.address}{path}"


@contextmanager
def running_hdfs(
    folder: Path,
    java_home: str,
    settings: Mapping[str, str] = MappingProxyType({}),
    java_flags: Sequence[str] = (),
) -> Iterator[Hdfs]:
    """Format and start an HDFS below a folder; end its processes at the end.

    Args:
        settings: further settings of Hadoop, for both files of settings.
        java_flags: further flags of the JVMs.
    """
    ports = {name: free_port() for name in ("rpc", "http", "data", "data_http", "data_ipc")}
    hdfs = Hdfs(f"127.0.0.1:{ports['rpc']}", folder / "conf")
    _write_configuration(hdfs, folder, ports, settings)
    java = [f"{java_home}/bin/java", "-Xmx384m", *java_flags, "-cp", class_path(hdfs.conf_dir)]
    environment = {**os.environ, "HADOOP_CONF_DIR": str(hdfs.conf_dir)}
    with (folder / "format.log").open("wb") as log:
        subprocess.run(
            [*java, _NAME_NODE, "-format", "-nonInteractive"],
            env=environment,
            stdout=log,
            stderr=log,
            check=True,
            timeout=120,
        )
    processes = []
    try:
        for name in (_NAME_NODE, _DATA_NODE):
            with (folder / f"{name.rpartition('.')[2]}.log").open("wb") as log:
                processes.append(subprocess.Popen([*java, name], env=environment, stdout=log, stderr=log))
        _wait_until_ready(ports["http"], processes, folder)
        yield hdfs
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(30)


def class_path(conf_dir: Path) -> str:
    """Class path of Hadoop's servers, with their settings first."""
    made = subprocess.run(
        [REPOSITORY / "scripts" / "ensure_hadoop.sh"],
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
    )
    jars = Path(pyspark.__file__).parent / "jars"
    return os.pathsep.join([str(conf_dir), f"{made.stdout.strip()}/*", f"{jars}/*"])


def _write_configuration(
    hdfs: Hdfs, folder: Path, ports: dict[str, int], settings: Mapping[str, str]
) -> None:
    hdfs.conf_dir.mkdir(parents=True)
    write_site(hdfs.conf_dir / "core-site.xml", {"fs.defaultFS": f"hdfs://{hdfs.address}", **settings})
    write_site(
        hdfs.conf_dir / "hdfs-site.xml",
        {
            "dfs.namenode.name.dir": f"{folder}/names",
            "dfs.datanode.data.dir": f"{folder}/blocks",
            "dfs.replication": "1",
            "dfs.namenode.rpc-bind-host": "127.0.0.1",
            "dfs.namenode.http-address": f"127.0.0.1:{ports['http']}",
            "dfs.datanode.address": f"127.0.0.1:{ports['data']}",
            "dfs.datanode.http.address": f"127.0.0.1:{ports['data_http']}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{ports['data_ipc']}",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.safemode.extension": "0",
            **settings,
        },
    )
    (hdfs.conf_dir / "log4j2.properties").write_text(
        "rootLogger.level = warn\n"
        "rootLogger.appenderRef.out.ref = out\n"
        "appender.out.type = Console\n"
        "appender.out.name = out\n"
        "appender.out.layout.type = PatternLayout\n"
        "appender.out.layout.pattern = %d %p %c{1}: %m%n\n"
    )


def write_site(path: Path, properties: dict[str, str]) -> None:
    """Write a file of Hadoop's settings."""
    lines = [f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items()]
    path.write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")


def _wait_until_ready(port: int, processes: "list[subprocess.Popen[bytes]]", folder: Path) -> None:
    """Wait until the DataNode is registered and the NameNode has left the safe mode."""
    query = f"http://127.0.0.1:{port}/jmx?qry=Hadoop:service=NameNode,name="
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline:
        assert all(process.poll() is None for process in processes), _logs(folder)
        try:
            nodes = _bean(query + "FSNamesystemState").get("NumLiveDataNodes")
            if nodes == 1 and not _bean(query + "NameNodeInfo").get("Safemode"):
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise AssertionError(f"HDFS did not start. {_logs(folder)}")


def _bean(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        beans = json.load(answer)["beans"]
    return dict(beans[0]) if beans else {}


def _logs(folder: Path) -> str:
    return "\n".join(f"{path}:\n{path.read_text()[-3000:]}" for path in sorted(folder.glob("*.log")))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
