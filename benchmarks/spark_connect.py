"""Compare the cost of a small load through spark-submit and through a warm Spark Connect server.

The program loads 1,000 rows into a small table several times in each way, alternately. It prints the medians of seconds
and processor seconds (client, server and its workers) without the first two loads, and the ratios.

Run it with ``.venv/bin/python benchmarks/spark_connect.py``.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
import pyspark

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from airflow_stack.connect_server import ConnectServer  # noqa: E402

from e2e.job_processes import environment  # noqa: E402 - needs the path set above
from e2e.orders import orders, table_flags, write_parquet  # noqa: E402

ROWS = 1_000
WARM_UP = 2
SCRIPT = ROOT / "spark_jobs" / "upsert_with_sizing.py"
SUBMIT = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]"]


@dataclass(frozen=True)
class Cost:
    """Cost of one load."""

    seconds: float
    core_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--loads", type=int, default=8, help="number of loads in each way")
    loads = parser.parse_args().loads
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ConnectServer(folder / "server", environment({})) as server:
            submitted, connected = [], []
            for number in range(loads):
                source = write_parquet(
                    orders(range(number * 500, number * 500 + ROWS), version=number),
                    folder / f"{number}.parquet",
                )
                submitted.append(_load([*SUBMIT, str(SCRIPT)], folder / "submit", source, {}, None))
                variables = {"SPARK_REMOTE": server.address}
                connected.append(
                    _load([sys.executable, str(SCRIPT)], folder / "connect", source, variables, server.pid)
                )
                print(
                    f"load {number + 1}: {_text(submitted[-1])} spark-submit, {_text(connected[-1])} Spark Connect"
                )
    old, new = _median(submitted), _median(connected)
    print(f"median without {WARM_UP} warm-up loads: {_text(old)} spark-submit, {_text(new)} Spark Connect")
    print(
        f"ratio: {old.seconds / new.seconds:.1f} in time, {old.core_seconds / new.core_seconds:.1f} in processor time"
    )


def _load(
    command: list[str], base_path: Path, source: Path, variables: dict[str, str], server: int | None
) -> Cost:
    began, used, served = time.monotonic(), _of_children(), _of_server(server)
    done = subprocess.run(
        [*command, *table_flags(base_path, source_path=str(source))],
        env=environment({}, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return Cost(seconds, _of_children() - used + _of_server(server) - served)


def _of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _of_server(pid: int | None) -> float:
    if pid is None:
        return 0.0
    process = psutil.Process(pid)
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _median(costs: list[Cost]) -> Cost:
    warm = costs[WARM_UP:]
    return Cost(median(cost.seconds for cost in warm), median(cost.core_seconds for cost in warm))


def _text(cost: Cost) -> str:
    return f"{cost.seconds:.1f} s ({cost.core_seconds:.1f} core-s)"


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
