"""Make the tasks of Spark's Python workers cheap to start.

A Python worker runs many tasks, one after another. Between two tasks, PySpark runs two steps whose time depends on what
the process has loaded, and not on the task (``daemon.py``, ``worker.py`` and ``worker_util.py`` of PySpark 3.5 to 4.2):

- `gc.collect`, which examines every object of every imported module;
- `importlib.invalidate_caches`. Up to Python 3.12, this reads the directory of each archive on the import path again:
  ``pyspark.zip``, Spark's jar, and the archive of this engine.

Both steps together need much more processor time than an empty task (docs/adr/0062).

A session of Spark Connect has its own workers, and a daemon that starts them. Spark ends workers that are idle for a
minute. But up to Spark 4.2, Spark never ends the daemon of a closed session (SPARK-54055), so each load would leave a
process of 40 MB on the server. Therefore the last worker ends its daemon when it exits (docs/adr/0065).
"""

import gc
import os
import signal
import sys
import time
import zipimport
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType as SparkStructType

_read_directory_again = zipimport.zipimporter.invalidate_caches
_exit = os._exit
_DAEMON = "pyspark.daemon"
_SESSION = "SPARK_JOB_ARTIFACT_UUID"
"""Variable of the workers' environment: the session of Spark Connect to which the workers belong."""
_NO_SESSION = (None, "default")
_OTHERS_EXIT_WITHIN_S = 5.0
"""Longest time between the exits of workers that Spark ends together."""
_NEW_WORKER_WITHIN_S = 1.0
"""Time in which Spark asks for a new worker after a failed task."""


class _Process:
    """What `prepare_worker` has done in this process."""

    frozen_modules = 0
    """Number of imported modules when the objects of the process were last frozen."""
    directories: dict[str, tuple[int, int]] = {}  # noqa: RUF012 - one value for each process
    """Modification time and size of each archive when its directory was last read, by path of the importer."""
    worker_and_daemon = (0, 0)
    """Process ids of this worker and of its daemon. A process that the worker forks has other ids."""


def map_in_arrow(
    frame: "DataFrame",
    work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: "str | SparkStructType",
) -> "DataFrame":
    """Return a frame of the batches that `work` yields for each partition, in prepared workers.

    Args:
        work: picklable function. It receives the batches of one partition of `frame`.
        schema: columns of the yielded batches as Spark's types.
    """

    def run_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        yield from work(batches)

    return frame.mapInArrow(run_partition, schema)


def prepare_worker() -> None:
    """Prepare this process for a task of a Python worker. Call it when a task begins.

    Arrow gets one thread, because each core runs a task. The garbage collector ignores the objects that exist when the
    first task begins, and again when a task begins after more modules were imported. An archive's directory is read
    again only after the archive has changed, or could not be read. The worker of a session of Spark Connect ends its
    daemon when it exits, if the daemon has no other worker.
    """
    pa.set_cpu_count(1)
    if len(sys.modules) != _Process.frozen_modules:
        # Not in each task: a frozen object is never freed if it is part of a reference cycle, as a task's function may
        # be.
        gc.freeze()
        _Process.frozen_modules = len(sys.modules)
    zipimport.zipimporter.invalidate_caches = _read_changed_directory  # type: ignore[assignment, method-assign]
    if os.environ.get(_SESSION) not in _NO_SESSION and _is_forked_by_daemon():
        _Process.worker_and_daemon = (os.getpid(), os.getppid())
        os._exit = _exit_with_daemon


def _read_changed_directory(importer: zipimport.zipimporter) -> None:
    """Read the directory of an archive again if the archive has changed since it was last read."""
    path = os.path.join(importer.archive, importer.prefix)
    known = _Process.directories.pop(path, None)
    found = _state_of(importer.archive)
    if found is None or found != known:
        _read_directory_again(importer)
    # A read that failed leaves the importer without files, so the next call must read again.
    if found is not None and getattr(importer, "_files", None):
        _Process.directories[path] = found


def _state_of(archive: str) -> tuple[int, int] | None:
    """Return modification time and size of an archive; None if they cannot be determined."""
    try:
        status = os.stat(archive)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _is_forked_by_daemon() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", None) == _DAEMON


def _exit_with_daemon(status: int) -> NoReturn:
    """Exit, and end the daemon if it has no other worker. If Spark needs the daemon again, Spark starts a new one."""
    worker, daemon = _Process.worker_and_daemon
    try:
        if (os.getpid(), os.getppid()) == (worker, daemon) and _is_last(worker, daemon):
            os.kill(daemon, signal.SIGTERM)
    finally:
        # An error must not prevent the exit: the worker would continue with the code of the daemon.
        _exit(status)


def _is_last(worker: int, daemon: int) -> bool:
    """Return whether the daemon has no other worker, and gets none within a second.

    Several workers may exit at the same time. The worker with the largest process id waits until the others have
    exited. After a failed task, Spark asks the daemon for another worker.
    """
    deadline = time.monotonic() + _OTHERS_EXIT_WITHIN_S
    while others := _children(daemon) - {worker}:
        if max(others) > worker or time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    time.sleep(_NEW_WORKER_WITHIN_S)
    return _children(daemon) == {worker}


def _children(process: int) -> set[int]:
    """Return the ids of the child processes. Raises OSError if the system does not list them."""
    return set(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))
