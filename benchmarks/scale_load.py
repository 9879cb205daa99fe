"""Predict what loads of one terabyte a day cost on 10, 100 and 1,000 cores, from loads measured on this machine.

The program measures loads on one and two cores of a local Spark session, each in a process of its own, derives costs
from the loads on one core, checks the model against the other loads, and prints the predictions. Run it with
``.venv/bin/python benchmarks/scale_load.py`` on an idle machine. ``--runs`` reads the loads of an earlier run instead.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "spark_jobs"), str(ROOT / "tests")]

from scale.calibration import (  # noqa: E402
    Batch,
    Check,
    LoadRun,
    Requests,
    checks,
    costs_of,
    open_s_per_group,
)
from scale.core_speed import core_speed  # noqa: E402
from scale.load_model import Costs  # noqa: E402
from scale.measuring import Measurement  # noqa: E402
from scale.page import markdown_table, write_section  # noqa: E402
from scale.scenarios import days, useful_cores  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
TABLE_ROWS = (500_000, 1_000_000, 2_000_000)
GROUPS = 8
WIDE_ROWS, WIDE_GROUPS = 1_000_000, 64
"""Rows and file groups of a further table, which is updated on one core. The run shows the seconds of a task."""

BATCH_SHARE = 4
"""One in this many rows of the table is in the batch."""

MOST_ERROR = 0.25
REQUESTS = Requests(open_requests=25, task_requests=6, commit_requests=20)
"""Requests of a load on an object store: at most 25 to open a table with a metadata table, and at most 20 to commit
(docs/scale.md); a write task reads a base file and writes one."""


def _plan_measurements(path: Path | None) -> list[Measurement]:
    """Read the measurements of ``scale_run.py``, which the model needs for the time to open a large table."""
    found = path or max(RESULTS.glob("scale-plans-*.json"), default=None)
    if found is None:
        sys.exit("Run scale_run.py with at least two sizes first, or name its JSON file with --plans.")
    fields = {field.name for field in dataclasses.fields(Measurement)}
    documents = json.loads(found.read_text())["measurements"]
    return [Measurement(**{name: each[name] for name in fields}) for each in documents]


def _measure(options: argparse.Namespace) -> list[LoadRun]:
    """Measure all loads, the small loads first."""
    cases = [(batch, cores, GROUPS, rows) for rows in options.rows for cores in (1, 2) for batch in Batch]
    found = []
    for batch, cores, groups, rows in [*cases, (Batch.UPDATES, 1, WIDE_GROUPS, WIDE_ROWS)]:
        with tempfile.TemporaryDirectory(dir=options.work_dir, prefix="scale-load-") as folder:
            arguments = ["--measure", batch.value, "--cores", str(cores), "--groups", str(groups)]
            found.append(_measured([*arguments, "--rows", str(rows), "--work-dir", folder]))
        print(f"measured: {batch.value}, {cores} cores, {groups} groups, {rows:,} rows", file=sys.stderr)
    return found


def _measured(arguments: list[str]) -> LoadRun:
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError("A load failed:\n" + "\n".join(done.stderr.splitlines()[-20:]))
    return LoadRun(**json.loads(done.stdout.splitlines()[-1]))


def _measure_here(options: argparse.Namespace) -> None:
    from scale.measured_load import measured_load

    (rows,) = options.rows
    batch, folder = Batch(options.measure), options.work_dir
    run = measured_load(
        batch,
        cores=options.cores,
        groups=options.groups,
        table_rows=rows,
        batch_rows=rows // BATCH_SHARE,
        folder=folder,
    )
    print(json.dumps(asdict(run)))


def _costs_table(costs: Costs, speed: float) -> str:
    rows = [(f"`{name}`", f"{value:,.6g}") for name, value in {**asdict(costs), "core_speed": speed}.items()]
    return markdown_table(("cost", "value"), rows)


def _checks_table(found: Sequence[Check]) -> str:
    rows = [
        (
            each.run.batch,
            f"{each.run.cores}",
            f"{each.run.groups}",
            f"{each.run.table_rows:,}",
            f"{each.measured_s:.1f}",
            f"{each.prediction.seconds:.1f}",
            f"{each.error:+.0%}",
        )
        for each in found
    ]
    head = ("batch", "cores", "file groups", "rows of the table", "measured s", "predicted s", "error")
    return markdown_table(head, rows)


def _days_table(costs: Costs, speed: float) -> str:
    rows = [
        (
            each.scenario.title,
            f"{each.prediction.cluster.cores:,}",
            f"{each.prediction.seconds / 60:,.1f}",
            f"{each.hours:,.1f}",
            f"{each.core_hours:,.0f}",
            f"{each.prediction.busy_share:.0%}",
            f"{each.requests:,.0f}",
            f"{each.prediction.bottleneck.name} ({each.prediction.bottleneck.bound})",
        )
        for each in days(costs, speed)
    ]
    head = (
        "loads",
        "cores",
        "minutes of a load",
        "hours a day",
        "core-hours a day",
        "cores busy",
        "requests a day",
    )
    return markdown_table((*head, "longest phase"), rows)


def _useful_cores_table(costs: Costs, speed: float) -> str:
    rows = [(scenario.title, f"{cores:,}") for scenario, cores in useful_cores(costs, speed)]
    return markdown_table(("loads", "cores"), rows)


def main() -> int:
    """Measure or read the loads, and print costs, checks and predictions. Return 1 if the model is too inaccurate."""
    options = _parser().parse_args()
    if options.measure:
        _measure_here(options)
        return 0
    measurements = _plan_measurements(options.plans)
    if options.runs:
        document = json.loads(options.runs.read_text())
        speed, runs = document["core_speed"], [LoadRun(**each) for each in document["runs"]]
    else:
        speed, runs = core_speed(), _measure(options)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        document = {"core_speed": speed, "runs": [asdict(each) for each in runs]}
        options.output.write_text(json.dumps(document, indent=1))
    costs = costs_of(runs, open_s_per_group=open_s_per_group(measurements), requests=REQUESTS)
    compared = checks(costs, runs, core_speed=speed)
    tables = {
        "costs": _costs_table(costs, speed),
        "checks": _checks_table(compared),
        "loads": _days_table(costs, speed),
        "useful cores": _useful_cores_table(costs, speed),
    }
    for name, table in tables.items():
        print(f"\n{name}\n{table}")
        if options.write_page:
            write_section(name, table)
    wrong = [each for each in compared if abs(each.error) > MOST_ERROR]
    print(
        f"\n{len(wrong)} of {len(compared)} predictions differ by more than {MOST_ERROR:.0%} from the measurement."
    )
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", nargs="+", type=int, default=list(TABLE_ROWS), help="rows of the tables")
    parser.add_argument(
        "--runs", type=Path, default=None, help="JSON file of an earlier run, to measure nothing"
    )
    parser.add_argument(
        "--plans",
        type=Path,
        default=None,
        help="JSON file of scale_run.py; default: the newest file in results/",
    )
    parser.add_argument("--write-page", action="store_true", help="write the tables into docs/scale.md")
    parser.add_argument("--work-dir", type=Path, default=None, help="folder of the tables")
    parser.add_argument(
        "--output",
        type=Path,
        default=RESULTS / f"scale-load-{stamp}.json",
        help="JSON file to write",
    )
    parser.add_argument("--measure", choices=[batch.value for batch in Batch], help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--groups", type=int, default=GROUPS, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
