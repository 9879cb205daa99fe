"""What the preparation of a Python worker changes in its process."""

import os
import subprocess
import sys
import zipfile
import zipimport
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_table_services.execution import python_worker
from hudi_table_services.execution.python_worker import map_in_arrow
from hudi_table_services.tables.reading.planned_reads import plan_read
from support.spark.in_driver import DriverSession
from support.spark.log_tables import new_log_table

BEGIN = """
import gc, importlib, sys, zipfile, zipimport
from hudi_table_services.execution.python_worker import prepare_worker
"""
READS = """
archive, read = sys.argv[1], zipimport._read_directory
reads = []
zipimport._read_directory = lambda path: reads.append(path) or read(path)

def next_task():
    del reads[:]
    importlib.invalidate_caches()
    prepare_worker()
    return reads.count(archive)

sys.path.insert(0, archive)
import first_module
counts = [next_task() for _ in range(4)]
with zipfile.ZipFile(archive, "a") as changed:
    changed.writestr("second_module.py", "VALUE = 2")
counts.append(next_task())
import second_module
counts.append(next_task())
assert second_module.VALUE == 2
print(counts)
"""
FREEZES = """
def next_task():
    gc.collect()
    prepare_worker()
    return gc.get_freeze_count()

before = gc.get_freeze_count()
counts = [next_task()]
kept = [[number] for number in range(100_000)]
counts += [next_task(), next_task()]
import email.mime.text
counts.append(next_task())
print(before, counts[0] > 10_000, abs(counts[2] - counts[0]) < 1_000, counts[3] - counts[2] > 100_000)
"""
# A daemon with workers. Each worker first has a child process that exits, and itself exits when it receives a byte.
DAEMON = """
import os, signal, time
from hudi_table_services.execution import python_worker

python_worker._NEW_WORKER_WITHIN_S = 0.1

terms = []
signal.signal(signal.SIGTERM, lambda number, frame: terms.append(number))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)

def start():
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(write)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        python_worker._Process.worker_and_daemon = (os.getpid(), os.getppid())
        if os.fork() == 0:
            python_worker._exit_with_daemon(0)
        os.read(read, 1)
        python_worker._exit_with_daemon(0)
    os.close(read)
    return write

def ends_when_these_exit(*workers, within):
    for worker in workers:
        os.write(worker, b"x")
    deadline = time.monotonic() + within
    while not terms and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(terms)

first, second, third = start(), start(), start()
print(ends_when_these_exit(second, within=1), ends_when_these_exit(first, third, within=30))
"""
PREPARATIONS = """
import os, types
before = os._exit

def is_changed(session, program):
    os._exit = before
    os.environ["SPARK_JOB_ARTIFACT_UUID"] = session
    sys.modules["__main__"].__spec__ = types.SimpleNamespace(name=program)
    prepare_worker()
    return os._exit is not before

cases = [("default", "pyspark.daemon"), ("session", "another"), ("session", "pyspark.daemon")]
print([is_changed(*case) for case in cases])
"""


def output_of(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", BEGIN + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "modules.zip"
    with zipfile.ZipFile(path, "w") as created:
        created.writestr("first_module.py", "VALUE = 1")
    return path


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="Python 3.13 reads directories only when it needs them."
)
def test_the_directory_of_an_archive_is_read_again_only_after_a_change(archive: Path) -> None:
    # Before the first preparation, and once after it, each task reads the directory.
    assert output_of(READS, str(archive)) == "[1, 1, 0, 0, 1, 0]"


def test_objects_are_frozen_only_after_modules_were_imported() -> None:
    assert output_of(FREEZES) == "0 True True True"


@pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(),
    reason="The system does not list child processes.",
)
def test_the_last_worker_ends_its_daemon() -> None:
    # The second worker exits alone, and the other two at the same time.
    assert output_of(DAEMON) == "False True"


def test_a_worker_exits_even_if_the_check_of_the_other_workers_fails() -> None:
    program = """
import os
from hudi_table_services.execution import python_worker
python_worker._Process.worker_and_daemon = (os.getpid(), os.getppid())
python_worker._children = lambda process: int("no number")
try:
    python_worker._exit_with_daemon(3)
finally:
    print("continues", flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")


def test_only_workers_that_a_daemon_of_a_session_started_end_their_parent() -> None:
    assert output_of(PREPARATIONS) == "[False, False, True]"


def test_an_archive_that_is_missing_for_a_time_is_read_when_it_is_back(archive: Path) -> None:
    importer = zipimport.zipimporter(str(archive))
    elsewhere = archive.with_suffix(".elsewhere")
    python_worker._read_changed_directory(importer)
    assert importer.find_spec("first_module") is not None
    archive.rename(elsewhere)
    python_worker._read_changed_directory(importer)
    assert importer.find_spec("first_module") is None
    elsewhere.rename(archive)  # with the same size and modification time
    python_worker._read_changed_directory(importer)
    assert importer.find_spec("first_module") is not None


def test_an_archive_that_cannot_be_read_is_read_in_the_next_task(archive: Path) -> None:
    importer = zipimport.zipimporter(str(archive))
    content, status = archive.read_bytes(), archive.stat()
    archive.write_bytes(b"x" * len(content))
    os.utime(archive, ns=(status.st_atime_ns, status.st_mtime_ns))
    python_worker._read_changed_directory(importer)
    assert importer.find_spec("first_module") is None
    archive.write_bytes(content)
    os.utime(archive, ns=(status.st_atime_ns, status.st_mtime_ns))
    python_worker._read_changed_directory(importer)
    assert importer.find_spec("first_module") is not None


@pytest.fixture
def unprepared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process as an unprepared worker: Arrow has several threads. Undo the preparation afterwards."""
    monkeypatch.setattr(zipimport.zipimporter, "invalidate_caches", zipimport.zipimporter.invalidate_caches)
    before = pa.cpu_count()
    pa.set_cpu_count(before + 1)
    yield
    pa.set_cpu_count(before)


@pytest.mark.usefixtures("unprepared")
def test_the_tasks_of_a_frame_run_in_prepared_workers() -> None:
    def threads(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"threads": [pa.cpu_count()]})

    numbers: Any = DriverSession().range(0, 1, 1, 1)
    frame: Any = map_in_arrow(numbers, threads, "threads long")
    assert frame.toArrow()["threads"].to_pylist() == [1]


@pytest.mark.usefixtures("unprepared")
def test_the_tasks_of_a_data_source_run_in_prepared_workers(tmp_path: Path) -> None:
    from hudi_table_services.reading.scan_partitions import rows_of_partition, scan_partitions

    table = new_log_table(tmp_path / "t", 9)
    table.write([("k", 1, "p", "v")])
    (partition,) = scan_partitions(table.storage, plan_read(table.storage, {}))
    assert sum(batch.num_rows for batch in rows_of_partition(partition)) == 1
    assert pa.cpu_count() == 1


def test_only_one_function_runs_tasks_on_arrow_batches() -> None:
    engine = Path(python_worker.__file__).parents[1]
    found = {path.name for path in engine.rglob("*.py") if ".mapInArrow(" in path.read_text(encoding="utf-8")}
    assert found == {"python_worker.py"}
