"""Make the tasks of Spark's Python workers cheap to start.

A Python worker runs many tasks, one after another. Between two tasks, PySpark runs two steps whose time depends on what
the process has loaded, and not on the task (``daemon.py``, ``worker.py`` and ``worker_util.py`` of PySpark 3.5 to 4.2):

- `gc.collect`, which examines every object of every imported module;
- `importlib.invalidate_caches`. Up to Python 3.12, this reads the directory of each archive on the import path again:
  ``pyspark.zip``, Spark's jar, and the archive of this engine.

Both steps together need much more processor time than an empty task (docs/adr/0062).
"""

import gc
import os
import sys
import zipimport
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType as SparkStructType

_read_directory_again = zipimport.zipimporter.invalidate_caches


class _Process:
    """What `prepare_worker` has done in this process."""

    frozen_modules = 0
    """Number of imported modules when the objects of the process were last frozen."""
    directories: dict[str, tuple[int, int]] = {}  # noqa: RUF012 - one value for each process
    """Modification time and size of each archive when its directory was last read, by path of the importer."""


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
    again only after the archive has changed, or could not be read.
    """
    pa.set_cpu_count(1)
    if len(sys.modules) != _Process.frozen_modules:
        # Not in each task: a frozen object is never freed if it is part of a reference cycle, as a task's function may
        # be.
        gc.freeze()
        _Process.frozen_modules = len(sys.modules)
    zipimport.zipimporter.invalidate_caches = _read_changed_directory  # type: ignore[assignment, method-assign]


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
