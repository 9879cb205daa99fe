"""Load two hundred small tables, round after round, from one Airflow through one Spark Connect server.

Each run of the DAG loads every table once: the first run creates the tables with 300,000 rows (about 10 MB) each, and
each later run changes 1,000 rows and adds 1,000. By default, a run begins every hour, for three hours; with
``--every 0``, a run begins when the run before it has ended, so that the program measures the throughput.

The program prints loads an hour, core-seconds a load by component, and the memory of each component over time. The
exit code is 1 if a load failed. Run it with ``.venv/bin/python benchmarks/many_tables_run.py``.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "spark_jobs"), str(ROOT / "scripts")]

from airflow_stack.connect_server import ConnectServer  # noqa: E402 - needs the path set above
from airflow_stack.stack import AirflowStack, run_program  # noqa: E402
from demo_support.backfill import demo_stack  # noqa: E402

from many_tables.report import print_report, print_round, write_result  # noqa: E402
from many_tables.rounds import Round, cpu_between, rows_of_round  # noqa: E402
from many_tables.usage import ProcessTree, Usage, memory_of  # noqa: E402

DAG_ID = "many_tables"
_SAMPLE_SECONDS = 5.0
_ENDED = {"success", "failed"}


class ManyTables:
    """One run of the benchmark.

    Args:
        folder: folder for the tables, the sources and Airflow.
        stack: the running Airflow, with the DAG.
        server: process id of the Spark Connect server.
        tables: number of tables.
    """

    def __init__(self, folder: Path, stack: AirflowStack, server: int, tables: int) -> None:
        self._folder, self._stack, self._tables = folder, stack, tables
        pids = {**{name: each.pid for name, each in stack.processes.items()}, "Spark Connect": server}
        self._trees = {name: ProcessTree(pid) for name, pid in pids.items()}
        self.samples: list[Mapping[str, Usage]] = []
        self.rounds: list[Round] = []

    def run(self, minutes: float, every: float) -> None:
        """Start rounds until the time is over; the last round may take longer.

        Args:
            every: seconds between the beginnings of two rounds.
        """
        end = time.monotonic() + minutes * 60
        number = 0
        while number < 2 or time.monotonic() < end:
            next_begin = min(time.monotonic() + every, end)
            self.rounds.append(self._round(number))
            print_round(self.rounds[-1], self._tables)
            number += 1
            self._sample_until(partial(_is_past, next_begin))

    def _round(self, number: int) -> Round:
        landing = self._folder / "landing" / f"{number}.parquet"
        landing.parent.mkdir(exist_ok=True)
        pq.write_table(rows_of_round(number), landing)
        before, began = self._usage(), time.monotonic()
        path = f"/api/v2/dags/{DAG_ID}/dagRuns"
        body = {"dag_run_id": f"round-{number}", "logical_date": None, "conf": {"round": number}}
        self._stack.api.post(path, body)
        self._sample_until(
            lambda: self._stack.api.get(f"{path}/round-{number}")["state"] in _ENDED, pause=1.0
        )
        seconds = time.monotonic() - began
        loads = self._successes(number)
        return Round(
            number=number,
            loads=loads,
            failed=self._tables - loads,
            seconds=seconds,
            cpu_seconds=cpu_between(before, self._usage()),
        )

    def _successes(self, number: int) -> int:
        path = f"/api/v2/dags/{DAG_ID}/dagRuns/round-{number}/taskInstances"
        return int(self._stack.api.get(path, state="success", limit=1)["total_entries"])

    def _sample_until(self, is_over: Callable[[], bool], pause: float = 1.0) -> None:
        while not is_over():
            self._stack.raise_if_dead()
            sampled = time.monotonic()
            self.samples.append(self._usage())
            while not is_over() and time.monotonic() < sampled + _SAMPLE_SECONDS:
                time.sleep(pause)

    def _usage(self) -> Mapping[str, Usage]:
        return {name: tree.usage() for name, tree in self._trees.items()}


def _is_past(time_s: float) -> bool:
    return time.monotonic() >= time_s


def main() -> int:
    """Start the server and Airflow, run the rounds, and print the figures."""
    options = _parser().parse_args()
    folder = Path(tempfile.mkdtemp(prefix="many-tables-", dir=options.work_dir))
    try:
        with ConnectServer(folder / "server", {}, conf={"spark.driver.memory": "2g"}) as server:
            variables = {
                "AIRFLOW_CONN_SPARK_CONNECT": json.dumps(
                    {"conn_type": "spark_connect", "host": "sc://127.0.0.1", "port": server.port}
                ),
                "AIRFLOW__CORE__PARALLELISM": str(options.tasks),
                "MANY_TABLES_FOLDER": str(folder),
                "MANY_TABLES_COUNT": str(options.tables),
                "MANY_TABLES_TASKS": str(options.tasks),
            }
            dags = ROOT / "benchmarks" / "many_tables" / "dags"
            with demo_stack(folder, dags, variables) as stack:
                stack.api.wait_for_dag(DAG_ID)
                print(f"{stack.url}; files: {folder}", flush=True)
                bench = ManyTables(folder, stack, server.pid, options.tables)
                bench.run(options.minutes, options.every)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    memory = memory_of(bench.samples)
    print_report(bench.rounds, memory, options.minutes)
    settings = {name: getattr(options, name) for name in ("tables", "tasks", "minutes", "every")}
    write_result(options.output, bench.rounds, memory, **settings)
    return 1 if any(each.failed for each in bench.rounds) else 0


def _parser() -> argparse.ArgumentParser:
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=200, help="number of tables")
    parser.add_argument("--tasks", type=int, default=4, help="tasks of Airflow that run at the same time")
    parser.add_argument("--minutes", type=float, default=180, help="no round begins later")
    parser.add_argument("--every", type=float, default=3600, help="seconds between two rounds")
    parser.add_argument("--work-dir", type=Path, default=None, help="folder for tables and Airflow")
    parser.add_argument("--keep", action="store_true", help="keep the tables and the logs")
    output = ROOT / "benchmarks" / "results" / f"many-tables-{stamp}.json"
    parser.add_argument("--output", type=Path, default=output, help="JSON file to write")
    return parser


if __name__ == "__main__":
    run_program(main)
