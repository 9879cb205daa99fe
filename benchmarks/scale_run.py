"""Measure plans, services, pages, sensors and commits on generated tables of up to 100,000 file groups, without Spark.

Each operation runs in a process of its own, on tables on the local disk and on an S3 server on this machine. The
program prints seconds, processor seconds, requests and peak memory, their growth with the size of the table, and the
missed targets. Run it with ``.venv/bin/python benchmarks/scale_run.py``; pages and sensors need Airflow.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "spark_jobs"), str(ROOT / "tests")]

from scale.measuring import Measurement, Meter, measure, print_figures  # noqa: E402
from scale.operations import OPERATIONS, Target  # noqa: E402
from scale.report import print_report, write_page, write_result  # noqa: E402
from scale.shapes import TableKind, TableShape  # noqa: E402
from scale.stores import DISK, S3, TablePlace, served  # noqa: E402
from scale.targets import has_operation  # noqa: E402

SIZES = (1_000, 10_000, 100_000)


def _measure_here(options: argparse.Namespace) -> None:
    """Run one operation in this process, and print its figures as JSON."""
    place = TablePlace(uri=options.uri, endpoint=options.endpoint)
    shape = TableShape(kind=TableKind(options.kinds[0]), groups=options.sizes[0])
    meter = Meter(place.counts)
    found = OPERATIONS[options.measure](Target(place=place, shape=shape, storage=place.open()), meter)
    print_figures(meter.sections, found)


def _measure_tables(options: argparse.Namespace) -> tuple[list[Measurement], list[RuntimeError]]:
    """Make each table, measure the operations on it, and delete it. Return figures, and errors of operations."""
    # Imported here, because a measured process must not contain modules that it does not need.
    from scale.generator import make_table

    measured: list[Measurement] = []
    failed: list[RuntimeError] = []
    with tempfile.TemporaryDirectory(dir=options.work_dir, prefix="scale-") as work:
        for kind in options.kinds:
            for groups in sorted(options.sizes):
                shape = TableShape(kind=TableKind(kind), groups=groups)
                folder = Path(work) / f"{kind}-{groups}"
                make_table(folder, shape)
                for each in _measure_table(options, shape, folder):
                    if isinstance(each, Measurement):
                        measured.append(each)
                    else:
                        failed.append(each)
                shutil.rmtree(folder)
    return measured, failed


def _measure_table(
    options: argparse.Namespace, shape: TableShape, folder: Path
) -> Iterator[Measurement | RuntimeError]:
    """Measure all operations on one table in each store."""
    kind = shape.kind
    wanted = [name for name in options.operations if has_operation(kind, name)]
    for store in options.stores:
        with _place(store, folder, options.request_ms) as place:
            for name in wanted:
                arguments = ["--measure", name, "--uri", place.uri, "--endpoint", place.endpoint]
                arguments += ["--kinds", kind.value, "--sizes", str(shape.groups)]
                try:
                    yield measure(arguments, name, kind.value, shape.groups, store)
                except RuntimeError as error:
                    yield error
                print(f"measured: {name}, {kind.value}, {shape.groups:,}, {store}", file=sys.stderr)


@contextmanager
def _place(store: str, folder: Path, wait_ms: float) -> Iterator[TablePlace]:
    if store == DISK:
        yield TablePlace(uri=str(folder))
        return
    with served(folder, wait_ms) as place:
        yield place


def main() -> int:
    """Measure and report. Return 1 if a target is missed or an operation failed."""
    options = _parser().parse_args()
    if options.measure:
        _measure_here(options)
        return 0
    options.operations = sorted(options.operations, key=list(OPERATIONS).index)
    # The disk is the last store, because writes change the table there.
    options.stores = sorted(options.stores, reverse=True)
    measured, failed = _measure_tables(options)
    missed = print_report(measured, uses_cpu_time=options.busy)
    write_result(options.output, measured, wait_ms=options.request_ms, uses_cpu_time=options.busy)
    print(f"Written to {options.output}")
    if options.write_page:
        write_page(measured, uses_cpu_time=options.busy)
    for error in failed:
        print(error)
    return 1 if missed or failed else 0


def _parser() -> argparse.ArgumentParser:
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    kinds = [kind.value for kind in TableKind]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="numbers of file groups")
    parser.add_argument(
        "--kinds", nargs="+", choices=kinds, default=kinds, help="types and versions of tables"
    )
    parser.add_argument(
        "--stores", nargs="+", choices=(DISK, S3), default=[DISK, S3], help="places of the tables"
    )
    parser.add_argument(
        "--operations", nargs="+", choices=OPERATIONS, default=list(OPERATIONS), help="operations to measure"
    )
    parser.add_argument(
        "--request-ms", type=float, default=20.0, help="milliseconds that the S3 server waits in each request"
    )
    parser.add_argument(
        "--busy", action="store_true", help="other programs run: compare processor seconds with the targets"
    )
    parser.add_argument("--write-page", action="store_true", help="write the figures into docs/scale.md")
    parser.add_argument(
        "--work-dir", type=Path, default=None, help="folder of the tables; default: a temporary folder"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "benchmarks" / "results" / f"scale-plans-{stamp}.json",
        help="JSON file to write",
    )
    parser.add_argument("--measure", choices=OPERATIONS, help=argparse.SUPPRESS)
    parser.add_argument("--uri", help=argparse.SUPPRESS)
    parser.add_argument("--endpoint", default="", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
