"""A standalone cluster: a master, and two workers with one core each."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.job_processes import SPARK_CLASS, JobProcess

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_HOSTS = {"worker-1": "127.0.0.1", "worker-2": "127.0.0.2"}
"""Addresses of the workers. Spark runs a speculative copy of a task only on another host than the task."""


@dataclass(frozen=True, slots=True)
class Standalone:
    """A running cluster.

    Attributes:
        master: address of the master.
        workers: the worker processes. The executors of a worker are its child processes.
    """

    master: str
    workers: tuple[JobProcess, ...]


@contextmanager
def standalone_cluster(variables: Mapping[str, str], folder: Path) -> Iterator[Standalone]:
    """Start the cluster on free ports; end its processes at the end."""
    ports = ["--port", "0", "--webui-port", "0"]
    master = JobProcess([SPARK_CLASS, _MASTER, "--host", "127.0.0.1", *ports], variables, folder / "master")
    workers = []
    try:
        address = master.wait_for("master", lambda: _address_in(master.log))
        for name, host in _HOSTS.items():
            size = ["--cores", "1", "--memory", "1g", "--work-dir", folder / name / "work"]
            command = [SPARK_CLASS, _WORKER, "--host", host, *ports, *size, address]
            workers.append(JobProcess(command, {**variables, "SPARK_LOCAL_IP": host}, folder / name))
        for worker in workers:
            worker.wait_for("registered worker", lambda w=worker: "Successfully registered" in w.log or None)
        yield Standalone(address, tuple(workers))
    finally:
        for process in (*workers, master):
            process.kill()


def _address_in(log: str) -> str | None:
    """The address of the master in its log, or None until the master accepts workers."""
    if "I have been elected leader" not in log:
        return None
    return next(word for word in log.split() if word.startswith("spark://127.0.0.1:")).rstrip(".")
