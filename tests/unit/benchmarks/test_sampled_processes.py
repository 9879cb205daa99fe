"""The processes of a scenario are measured one by one, and a sampler that does not start is an error."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.profiling.processes import Role, tree_times
from bench.profiling.samplers import PythonSampler, SamplingError, session_settings
from bench.protocol import Job

BURN = """
import threading, time

def burn():
    start = time.thread_time()
    while time.thread_time() < start + 0.1:
        pass

other = threading.Thread(target=burn)
other.start()
other.join()
burn()
print("burnt", flush=True)
input()
"""


def test_each_process_of_a_tree_has_its_own_processor_time() -> None:
    before = tree_times(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "burnt\n"
        times = tree_times(os.getpid()).since(before)
        child.communicate("\n")
    roles = {each.pid: each.role for each in times.processes}
    seconds = {each.pid: each.cpu_seconds for each in times.processes}
    assert roles[os.getpid()] is Role.DRIVER
    assert roles[child.pid] is Role.WORKER
    assert seconds[child.pid] >= 0.18
    hidden = {each.pid: each.hidden_seconds for each in times.processes}
    assert 0.08 <= hidden[child.pid] <= seconds[child.pid] - 0.08
    assert hidden[os.getpid()] == 0.0
    ended = tree_times(os.getpid()).since(before)
    assert child.pid not in {each.pid for each in ended.processes}
    assert ended.ended_cpu_seconds >= 0.18


def test_a_sampler_that_ends_at_once_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    program = shutil.which("false")
    assert program is not None
    with pytest.raises(SamplingError, match="Run the profile as root"):
        PythonSampler(Path(program), tmp_path, rate=10).ready(os.getpid())


def test_a_session_without_sampler_has_no_additional_settings() -> None:
    assert session_settings("") == {}
    assert session_settings("profiler.jar")["spark.driver.extraClassPath"] == "profiler.jar"


def test_a_job_is_unchanged_after_encoding_and_decoding() -> None:
    job = Job(
        system="ours",
        scenario="first_insert",
        inputs=Path("in"),
        table=Path("table"),
        scratch=Path("scratch"),
        cores=2,
        driver_memory="4g",
        options={"a": "b"},
        profile="stacks",
        profiler_jar="profiler.jar",
        profile_rate=50,
    )
    assert Job.from_json(job.to_json()) == job
