"""Load five weeks of flights, one upsert per day, into a Hudi table with file sizing: ``make demo-spark``.

The exit code is 1 if the table does not contain exactly the rows of the source.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "spark_jobs"))

from demo_support import pictures  # noqa: E402 - needs the path set above
from demo_support.flights import Delivery, deliveries, final_rows, load_flights  # noqa: E402
from demo_support.folders import fresh_folder  # noqa: E402
from demo_support.loading import Load, Loader, ScriptFailedError, Sizes  # noqa: E402
from demo_support.reading import check_days, commit_count, data_files  # noqa: E402

MAX_DAYS = 365
SIZES = Sizes(max_file_bytes=128 << 10, small_file_limit_bytes=112 << 10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Load, check the table and print the results. Returns the exit code."""
    options = _parser().parse_args(arguments)
    started = time.perf_counter()
    output = fresh_folder(options.output)
    arriving = deliveries(load_flights(), options.days)
    loader = Loader(output, SIZES)
    try:
        loads = _load_all(loader, arriving)
        ok_repeat = _repeat(loader, arriving[-1])
    finally:
        loader.close()
    ok_rows = _check_rows(loader.table, arriving)
    _show_files(loader.table, loads)
    _show_next_steps(loader.table, arriving[-1])
    print(f"\n{'OK' if ok_rows and ok_repeat else 'FAIL'}  in {time.perf_counter() - started:.0f} s")
    return 0 if ok_rows and ok_repeat else 1


def _load_all(loader: Loader, arriving: Sequence[Delivery]) -> list[Load]:
    print(pictures.heading("The job script, started as Airflow or a shell starts it"))
    command = " ".join(loader.script_arguments(arriving[0], loader.table.parent / "result.json"))
    print(f"  python {command.replace(' --', chr(10) + '      --').replace(str(ROOT) + '/', '')}", flush=True)
    loads = [loader.load_by_script(arriving[0])]
    print(pictures.load_line(loads[0]), flush=True)
    print(
        pictures.heading("One upsert per day: + inserted and ~ updated rows, padded small files, new files")
    )
    for delivery in arriving[1:]:
        loads.append(loader.load(delivery))
        print(pictures.load_line(loads[-1]), flush=True)
    return loads


def _repeat(loader: Loader, delivery: Delivery) -> bool:
    """Send the last request again: the job must find its earlier commit and write nothing."""
    before = commit_count(loader.table)
    load = loader.load(delivery)
    after = commit_count(loader.table)
    ok = load.result.reused and before == after
    print(pictures.heading("The last request, sent a second time"))
    print(f"  request id {load.result.request_id}: {load.result.reason or 'the request was not recognised'}")
    print(f"  commits before {before}, after {after}: {'OK' if ok else 'FAIL'}  ({load.seconds:.1f} s)")
    return ok


def _check_rows(table: Path, arriving: list[Delivery]) -> bool:
    checks = check_days(table, final_rows(arriving))
    ok = all(check.is_equal for check in checks)
    print(pictures.heading("Rows per day, read by hudi-rs and compared with the source"))
    print("\n".join(pictures.calendar(checks)))
    rows = sum(check.table_count for check in checks)
    source_rows = sum(check.source_count for check in checks)
    verdict = "every value equal" if ok else "NOT equal"
    print(f"  {rows:,} rows in the table, {source_rows:,} in the source, {verdict}: {'OK' if ok else 'FAIL'}")
    return ok


def _show_files(table: Path, loads: Sequence[Load]) -> None:
    files = data_files(table)
    print(pictures.heading("Files by partition; a full bar is the maximum file size"))
    print("\n".join(pictures.file_bars(files, SIZES)))
    print(pictures.heading("Bytes per row: the planner's estimate compared with the files"))
    print("\n".join(pictures.record_size_lines([load.result for load in loads], files)))
    print(f"  source of the last estimate: {pictures.last_estimate_source([load.result for load in loads])}")


def _show_next_steps(table: Path, last: Delivery) -> None:
    print(pictures.heading("What to try next"))
    place = table.relative_to(ROOT) if table.is_relative_to(ROOT) else table
    absolute = table if place == table else f"$PWD/{place}"  # hudi-rs accepts no relative path
    source = place.parent / "landing" / f"{last.name}.parquet"
    print(f"""\
  Read the table without Spark:
    .venv/bin/python -c "from hudi import HudiTable; print(HudiTable('{absolute}').read()[0])"
  Preview a write:
    .venv/bin/python spark_jobs/upsert_with_sizing.py --base-path {place} --source-path {source} --dry-run
  Load the whole year, 336,776 flights, one upsert per day:
    .venv/bin/python scripts/demo_spark.py --days 365
  Every flag of the job:            .venv/bin/python spark_jobs/upsert_with_sizing.py --help
  The tests, including real Hudi:   make test
  A comparison with Hudi 1.2.0:     make bench""")


def _day_count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MAX_DAYS:
        raise argparse.ArgumentTypeError(f"must be 1 to {MAX_DAYS}")
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Load New York's flights of 2013 day by day.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--days", type=_day_count, default=38, help="days to load, from 1 January 2013")
    parser.add_argument("--output", type=Path, default=ROOT / "demo-output", help="folder to fill")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ScriptFailedError as error:
        sys.exit(str(error))
