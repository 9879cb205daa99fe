"""Check for leaks: run an Airflow that writes, watches and maintains a table for an hour; ``make soak MINUTES=60``.

The program starts a separate Airflow. Every 15 seconds, the program samples memory, open files, sockets and threads of
all processes of this Airflow. At the end, it compares the last third of the time with the first third. The output
folder then contains ``samples.csv`` and ``summary.txt``. The exit code is 1 if a figure grew beyond its limit, or if a
run failed. With ``--plain``, the program runs the same number of DAGs that use only Airflow, for comparison.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "spark_jobs"))

from airflow_stack.api import wait_until  # noqa: E402 - needs the path set above
from airflow_stack.stack import AirflowStack, run_program  # noqa: E402 - needs the path set above
from demo_support.backfill import demo_stack  # noqa: E402
from demo_support.folders import fresh_folder  # noqa: E402
from soak_support.sampling import Sample, SampleFile, samples  # noqa: E402
from soak_support.summary import summary  # noqa: E402

DAGS = ROOT / "scripts" / "soak_support" / "dags"
WAITING_DAG = "soak_deferred"
DAG_IDS = (WAITING_DAG, "soak_write", "soak_wait", "soak_follow", "soak_services")
WAITING = 40
SETTLES_WITHIN_S = 900.0
WARM_UP_SHARE = 0.25
LONGEST_WARM_UP_S = 600.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Start Airflow, take samples and evaluate them. Returns the exit code."""
    options = _parser().parse_args(arguments)
    folder = fresh_folder(options.output)
    dags = DAGS / ("plain" if options.plain else "ours")
    variables = {"SOAK_WRITE_SECONDS": str(options.write_seconds)}
    print(f"Starting Airflow; its files are in {folder}", flush=True)
    with demo_stack(folder, dags, variables) as stack:
        for dag_id in DAG_IDS:
            stack.api.wait_for_dag(dag_id)
            if dag_id == WAITING_DAG:
                # The triggerer keeps a log file open for each waiting task. These open files are not a leak.
                wait_until(
                    lambda: _waiting(stack) >= WAITING,
                    SETTLES_WITHIN_S,
                    lambda: f"{_waiting(stack)} tasks are waiting",
                )
        print(f"{stack.url}; sampling for {options.minutes:g} minutes", flush=True)
        taken = _sample(stack, folder, options.minutes * 60, options.interval)
        runs = {dag_id: dict(Counter(run["state"] for run in stack.api.runs(dag_id))) for dag_id in DAG_IDS}
        notes = _notes(stack, folder)
    warm_up = min(LONGEST_WARM_UP_S, WARM_UP_SHARE * options.minutes * 60)
    text, problems = summary(taken, warm_up, runs, notes)
    (folder / "summary.txt").write_text(text)
    print(text)
    return 1 if problems else 0


def _sample(stack: AirflowStack, folder: Path, seconds: float, interval: float) -> list[Sample]:
    """Take samples for `seconds`, and write each sample to the file immediately."""
    sessions = {name: process.pid for name, process in stack.processes.items()}
    taken: list[Sample] = []
    file = SampleFile(folder / "samples.csv")
    began = time.monotonic()
    try:
        while (now := time.monotonic() - began) < seconds:
            stack.raise_if_dead()
            for sample in samples(now, sessions):
                taken.append(sample)
                file.add(sample)
            time.sleep(max(0.0, interval - (time.monotonic() - began - now)))
    finally:
        file.close()
    return taken


def _waiting(stack: AirflowStack) -> int:
    """Return the number of tasks that are waiting in the triggerer."""
    path = f"/api/v2/dags/{WAITING_DAG}/dagRuns/~/taskInstances"
    return int(stack.api.get(path, state="deferred", limit=1)["total_entries"])


def _notes(stack: AirflowStack, folder: Path) -> list[str]:
    hoodie = folder / "table" / ".hoodie"
    instants = [*hoodie.glob("2*"), *(hoodie / "timeline").glob("2*")]
    notes = [
        f"deferred tasks that are waiting: {_waiting(stack)} of {WAITING}",
        f"files on the table's active timeline: {len(instants)}",
    ]
    if stack.postgres is None:
        size_mib = (folder / "airflow" / "airflow.db").stat().st_size / (1 << 20)
        notes.append(f"file of Airflow's database: {size_mib:.1f} MiB")
    return notes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Run an Airflow under load for an hour, and check whether its processes grow.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=60, help="how long to sample")
    parser.add_argument("--interval", type=float, default=15, help="seconds between two samples")
    parser.add_argument("--write-seconds", type=float, default=150, help="seconds between two writes")
    parser.add_argument("--plain", action="store_true", help="run plain Airflow DAGs, for comparison")
    parser.add_argument("--output", type=Path, default=ROOT / "soak-output", help="folder to fill")
    return parser


if __name__ == "__main__":
    run_program(main)
