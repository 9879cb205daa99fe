"""The benchmark of many small tables: rows of a round, processor time between samples, memory over time."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pytest

from many_tables.rounds import CHANGED_ROWS, NEW_ROWS, ROWS_OF_A_TABLE, Round, cpu_between, rows_of_round
from many_tables.usage import Memory, ProcessTree, Usage, memory_of

DAEMON = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 1:
        pass
    print("used", flush=True)
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.01)
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    print("ended", flush=True)
sys.stdin.read()
"""


def usage(cpu_seconds: float = 0.0, memory_mib: float = 0.0) -> Usage:
    return Usage(cpu_seconds=cpu_seconds, memory_mib=memory_mib, processes=1)


def test_each_round_changes_stored_rows_and_adds_new_rows() -> None:
    assert rows_of_round(0)["id"].to_pylist() == list(range(ROWS_OF_A_TABLE))
    known = set(range(ROWS_OF_A_TABLE))
    for number in (1, 2):
        rows = rows_of_round(number)
        ids = set(rows["id"].to_pylist())
        assert len(ids) == rows.num_rows == CHANGED_ROWS + NEW_ROWS
        assert len(ids & known) == CHANGED_ROWS
        assert pc.unique(rows["version"]).to_pylist() == [number]
        known |= ids


def test_a_round_has_the_processor_time_between_two_samples() -> None:
    found = cpu_between({"a": usage(1.0), "b": usage(5.0)}, {"a": usage(3.5), "b": usage(5.5)})
    done = Round(number=1, loads=10, failed=0, seconds=60.0, cpu_seconds=found)
    assert done.cpu_seconds == {"a": 2.5, "b": 0.5}
    assert done.cpu_seconds_of_a_load == pytest.approx(0.3)
    assert done.loads_per_hour == 600


def test_memory_compares_the_first_and_the_last_third_of_the_time() -> None:
    samples = [{"a": usage(memory_mib=value)} for value in (10, 12, 90, 11, 13, 20, 22, 24, 21)]
    assert memory_of(samples) == {"a": Memory(first=12, last=22, peak=90)}


def test_the_usage_of_a_process_tree_contains_this_process() -> None:
    tree = ProcessTree(os.getpid())
    before = tree.usage()
    sum(range(3_000_000))
    after = tree.usage()
    assert after.cpu_seconds > before.cpu_seconds
    assert after.memory_mib > 10
    assert after.processes >= 1


def test_the_time_of_an_ended_worker_counts(tmp_path: Path) -> None:
    # The daemon does not wait for its worker, which ends when the file exists.
    (tmp_path / "pyspark.daemon").write_text(DAEMON)
    daemon = subprocess.Popen(
        [sys.executable, "pyspark.daemon", str(tmp_path / "end")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    tree = ProcessTree(os.getpid())
    assert daemon.stdout is not None
    assert daemon.stdin is not None
    assert daemon.stdout.readline() == "used\n"
    with_worker = tree.usage()
    (tmp_path / "end").touch()
    assert daemon.stdout.readline() == "ended\n"
    assert tree.usage().cpu_seconds > with_worker.cpu_seconds - 0.1
    daemon.communicate("")


def test_a_process_that_has_ended_uses_nothing() -> None:
    assert ProcessTree(2**22 + 1).usage() == Usage(cpu_seconds=0.0, memory_mib=0.0, processes=0)
