"""Backfill two weeks of flights in a real Airflow, with one upsert per day and a clustering every 4 commits.

Run it with ``make demo``. The program starts a separate Airflow, starts a backfill as the UI's dialog does, and checks
the table with hudi-rs. The exit code is 1 if the table does not contain exactly the rows of the source, or was not
clustered as the DAG requires.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "spark_jobs"))

from airflow_stack.connect_server import ConnectServer  # noqa: E402 - needs the path set above
from airflow_stack.stack import AirflowStack, run_program  # noqa: E402
from demo_support import pictures  # noqa: E402
from demo_support.backfill import DAG_ID, HOME, Day, demo_stack, follow_backfill, reprocess_day  # noqa: E402
from demo_support.clusterings import layout_as_loaded, layout_now, timeline_check  # noqa: E402
from demo_support.flights import FIRST_DAY, REVISION, load_flights, na_as_null, rows_of  # noqa: E402
from demo_support.folders import fresh_folder  # noqa: E402
from demo_support.loading import Sizes  # noqa: E402
from demo_support.progress import progress_lines  # noqa: E402
from demo_support.quick_spark import quick_start  # noqa: E402
from demo_support.reading import check_days, commit_count, data_files  # noqa: E402

# The defaults of the DAG's form.
SIZES = Sizes(max_file_bytes=96 << 10, small_file_limit_bytes=28 << 10)
EVERY_N_COMMITS = 4
SORT_COLUMN = "dest"
MAX_MISSED = 2
"""Largest number of commits by which a clustering may be late. Three runs are active at once, so while one run plans a
clustering, two runs may be loading."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Backfill, check the table and print the results. Returns the exit code."""
    options = _parser().parse_args(arguments)
    started = time.perf_counter()
    folder = fresh_folder(options.output)
    last = FIRST_DAY + timedelta(days=options.days - 1)
    table = folder / "flights"
    print(pictures.heading("Starting Spark Connect, and Airflow's four processes"), flush=True)
    with _airflow_with_spark(folder) as stack:
        print(f"  {stack.url}, {time.perf_counter() - started:.0f} s; its files are in {_short(stack.home)}")
        days = _backfill(stack, last)
        ok_repeat = _reprocess(stack, table, last)
    ok_rows = _check_rows(table, last)
    ok_clustering = _check_clustering(table, options.days)
    _show_files(table, days)
    _show_next_steps(table)
    ok = ok_rows and ok_repeat and ok_clustering and len(days) == options.days
    print(f"\n{'OK' if ok else 'FAIL'}  in {time.perf_counter() - started:.0f} s")
    return 0 if ok else 1


@contextmanager
def _airflow_with_spark(folder: Path) -> Iterator[AirflowStack]:
    """Run an Airflow whose Spark connection names a Spark Connect server, so that no task starts a JVM."""
    server = ConnectServer(folder / "spark-connect", quick_start({}))
    connection = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": server.port}
    try:
        server.launch()
        with demo_stack(folder, variables={"AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection)}) as stack:
            server.wait()
            yield stack
    finally:
        server.kill()


def _backfill(stack: AirflowStack, last: date) -> list[Day]:
    print(pictures.heading(f"Backfill of DAG {DAG_ID}, {FIRST_DAY} to {last}, through Airflow's API"))
    print(
        "  one run per day, from the tasks' XComs: + inserted rows, padded small files, new files", flush=True
    )
    days = []
    with progress_lines() as progress:
        for day in follow_backfill(stack, FIRST_DAY, last, progress):
            days.append(day)
            progress.say(pictures.day_line(day))
            if day.clustered is not None:
                progress.say(pictures.clustered_line(day.clustered))
    return days


def _reprocess(stack: AirflowStack, table: Path, day: date) -> bool:
    """Backfill a completed day again with reprocessing: the task must find its earlier commit and write nothing."""
    before = commit_count(table)
    print(pictures.heading(f"{day}, backfilled a second time with reprocessing"), flush=True)
    with progress_lines() as progress:
        again = reprocess_day(stack, day, progress)
    after = commit_count(table)
    ok = again.result.reused and before == after
    print(f"  request {again.result.request_id}: {again.result.reason or 'the day was written again'}")
    print(f"  commits before {before}, after {after}: {'OK' if ok else 'FAIL'}")
    return ok


def _check_rows(table: Path, last: date) -> bool:
    expected = na_as_null(rows_of(load_flights(), FIRST_DAY, last).drop_columns([REVISION]))
    checks = check_days(table, expected)
    ok = all(check.is_equal for check in checks)
    print(pictures.heading("Rows per day, read by hudi-rs and compared with the source"))
    print("\n".join(pictures.calendar(checks)))
    rows = sum(check.table_count for check in checks)
    verdict = "every value equal" if ok else "NOT equal"
    print(
        f"  {rows:,} rows in the table, {expected.num_rows:,} in the source, {verdict}: {'OK' if ok else 'FAIL'}"
    )
    return ok


def _check_clustering(table: Path, day_count: int) -> bool:
    """Check the interval between clusterings, the number of files and rows, and the order of rows in each file."""
    timeline = timeline_check(table)
    loaded, now = layout_as_loaded(table, SORT_COLUMN), layout_now(table, SORT_COLUMN)
    clustered = now.written_by(timeline.clusterings)
    least = day_count // (EVERY_N_COMMITS + MAX_MISSED)
    ok_time = len(timeline.clusterings) >= least and all(
        EVERY_N_COMMITS <= count <= EVERY_N_COMMITS + MAX_MISSED for count in timeline.commits_before
    )
    ok_files = not timeline.clusterings or len(now.files) < len(loaded.files)
    ok_rows = now.row_count == loaded.row_count
    ok_order = all(file.is_sorted for file in clustered)
    print(pictures.heading(f"Clustering after every {EVERY_N_COMMITS} commits, sorted by {SORT_COLUMN}"))
    print(f"{pictures.timeline_line(timeline, EVERY_N_COMMITS)}: {'OK' if ok_time else 'FAIL'}")
    print(f"  rows in order inside each of {len(clustered)} clustered files: {'OK' if ok_order else 'FAIL'}")
    print("\n".join(pictures.layout_lines(loaded, now)))
    print(f"  fewer files, the same number of rows: {'OK' if ok_files and ok_rows else 'FAIL'}")
    return ok_time and ok_files and ok_rows and ok_order


def _show_files(table: Path, days: Sequence[Day]) -> None:
    files = data_files(table)
    print(pictures.heading("Files by partition; a full bar is the target size of clustering"))
    now = layout_now(table, SORT_COLUMN)
    clustered = now.written_by(timeline_check(table).clusterings)
    notes = {file.name: f"{SORT_COLUMN} {file.low} … {file.high}" for file in clustered}
    print("\n".join(pictures.file_bars(files, SIZES, notes)))
    print(pictures.heading("Bytes per row: the planner's estimate compared with the files"))
    print("\n".join(pictures.record_size_lines([day.result for day in days], files)))


def _show_next_steps(table: Path) -> None:
    print(pictures.heading("What to try next"))
    print(f"""\
  This Airflow with its UI, its runs and this table:           make airflow
  The DAG of this demo:                                        dags_examples/flights_daily.py
  Read the table without Spark:
    .venv/bin/python -c "from hudi import HudiTable; print(HudiTable('{table}').read()[0])"
  Five weeks with corrections, without Airflow:                make demo-spark
  The tests, including tests with real Hudi:                   make test""")


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _day_count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= 31:
        raise argparse.ArgumentTypeError("must be 1 to 31")
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Backfill New York's flights of January 2013 in a real Airflow.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--days", type=_day_count, default=14, help="days to backfill, from 1 January 2013")
    parser.add_argument("--output", type=Path, default=HOME, help="folder to fill")
    return parser


if __name__ == "__main__":
    run_program(main)
