"""YARN for tests: a ResourceManager and a NodeManager, which use an HDFS of `name_node`."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.hdfs.name_node import Hdfs, class_path, free_port, write_site

_STARTS_WITHIN_S = 300.0
_RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
_NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"


@dataclass(frozen=True)
class Yarn:
    """A running YARN.

    Attributes:
        web_address: URL of the ResourceManager's REST API.
        hdfs: the default file system. Its folder of settings also contains the settings of YARN.
        logs: folder with the output of the containers.
    """

    web_address: str
    hdfs: Hdfs
    logs: Path

    def applications(self) -> list[dict[str, Any]]:
        """All applications, as the REST API describes them; the oldest first."""
        found = (self._get("apps")["apps"] or {}).get("app", [])
        return sorted(found, key=lambda each: str(each["id"]))

    def nodes(self) -> int:
        return int(self._get("metrics")["clusterMetrics"]["activeNodes"])

    def kill(self, application: str) -> None:
        body = json.dumps({"state": "KILLED"}).encode()
        request = urllib.request.Request(
            f"{self.web_address}/ws/v1/cluster/apps/{application}/state?user.name={os.environ.get('USER', 'root')}",
            data=body,
            method="PUT",
            headers={"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=30).close()

    def output(self, application: str) -> str:
        """What the containers of an application printed."""
        files = sorted((self.logs / application).glob("*/std*"))
        return "\n".join(f"{path}:\n{path.read_text(errors='replace')[-6000:]}" for path in files)

    def _get(self, name: str) -> Any:
        with urllib.request.urlopen(f"{self.web_address}/ws/v1/cluster/{name}", timeout=30) as answer:
            return json.load(answer)


@contextmanager
def running_yarn(hdfs: Hdfs, folder: Path, java_home: str) -> Iterator[Yarn]:
    """Start YARN; end its processes, including the containers, at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    ports = {name: free_port() for name in _PORTS}
    yarn = Yarn(f"http://127.0.0.1:{ports['yarn.resourcemanager.webapp.address']}", hdfs, folder / "logs")
    _write_configuration(hdfs.conf_dir, folder, ports)
    java = [f"{java_home}/bin/java", "-Xmx384m", "-cp", class_path(hdfs.conf_dir)]
    environment = {**os.environ, "HADOOP_CONF_DIR": str(hdfs.conf_dir), "YARN_CONF_DIR": str(hdfs.conf_dir)}
    processes = []
    try:
        for name in (_RESOURCE_MANAGER, _NODE_MANAGER):
            with (folder / f"{name.rpartition('.')[2]}.log").open("wb") as log:
                processes.append(
                    subprocess.Popen([*java, name], env=environment, stdout=log, stderr=log, cwd=folder)
                )
        _wait_until_ready(yarn, processes, folder)
        yield yarn
    finally:
        for application in yarn.applications() if processes[0].poll() is None else ():
            if application["state"] not in ("FINISHED", "FAILED", "KILLED"):
                yarn.kill(application["id"])
        for process in reversed(processes):
            process.terminate()  # on this signal, the NodeManager also ends its containers
        for process in processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)


_PORTS = (
    "yarn.resourcemanager.address",
    "yarn.resourcemanager.scheduler.address",
    "yarn.resourcemanager.resource-tracker.address",
    "yarn.resourcemanager.admin.address",
    "yarn.resourcemanager.webapp.address",
    "yarn.nodemanager.address",
    "yarn.nodemanager.localizer.address",
    "yarn.nodemanager.collector-service.address",
    "yarn.nodemanager.webapp.address",
)


def _write_configuration(conf_dir: Path, folder: Path, ports: dict[str, int]) -> None:
    write_site(
        conf_dir / "yarn-site.xml",
        {
            **{name: f"127.0.0.1:{port}" for name, port in ports.items()},
            "yarn.resourcemanager.hostname": "127.0.0.1",
            "yarn.resourcemanager.bind-host": "127.0.0.1",
            "yarn.nodemanager.hostname": "127.0.0.1",
            "yarn.nodemanager.bind-host": "127.0.0.1",
            "yarn.nodemanager.resource.memory-mb": "6144",
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
            "yarn.nodemanager.local-dirs": f"{folder}/local",
            "yarn.nodemanager.log-dirs": f"{folder}/logs",
            "yarn.nodemanager.delete.debug-delay-sec": "3600",
            "yarn.scheduler.minimum-allocation-mb": "256",
        },
    )
    write_site(
        conf_dir / "capacity-scheduler.xml",
        {
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "0.6",
        },
    )


def _wait_until_ready(yarn: Yarn, processes: "list[subprocess.Popen[bytes]]", folder: Path) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline:
        assert all(process.poll() is None for process in processes), _logs(folder)
        try:
            if yarn.nodes() == 1:
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise AssertionError(f"YARN did not start. {_logs(folder)}")


def _logs(folder: Path) -> str:
    return "\n".join(f"{path}:\n{path.read_text()[-3000:]}" for path in sorted(folder.glob("*.log")))
