"""Predict what loads of one terabyte a day cost on 10, 100 and 1,000 cores, from loads measured on this machine.

The program measures loads on one and two cores of a local Spark session, each in a process of its own, derives costs
from the loads on one core, checks the model against the other loads, and prints the predictions. Run it with
``.venv/bin/python benchmarks/scale_load.py`` on an idle machine. ``--runs`` reads the loads of an earlier run instead.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "spark_jobs"), str(ROOT / "tests")]

from scale.calibration import Batch, Check, LoadRun, checks, costs_of, open_s_per_group  # noqa: E402
from scale.core_speed import core_speed  # noqa: E402
from scale.load_values import Costs, Requests  # noqa: E402
from scale.measuring import Measurement  # noqa: E402
from scale.page import markdown_table, write_section  # noqa: E402
from scale.scenarios import days, useful_cores  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
TABLE_ROWS = (500_000, 1_000_000, 2_000_000)
GROUPS = 8
WIDE_ROWS, WIDE_GROUPS = 1_000_000, 64
"""Rows and file groups of a further table, which is updated on one core. The run shows the seconds of a file."""

SHARE, SMALL_SHARE = 4, 40
"""One in this many rows of the table is in the batch. One run on one core, with inserts, has the smaller batch, so
that the costs of stored rows differ from the costs of rows of the batch."""

MOST_ERROR = 0.25
REQUESTS = "requests"


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
    cases = [
        (batch, cores, GROUPS, rows, SHARE) for rows in options.rows for cores in (1, 2) for batch in Batch
    ]
    cases += [
        (Batch.UPDATES, 1, WIDE_GROUPS, WIDE_ROWS, SHARE),
        (Batch.INSERTS, 1, GROUPS, max(options.rows), SMALL_SHARE),
    ]
    found = []
    for batch, cores, groups, rows, share in cases:
        with tempfile.TemporaryDirectory(dir=options.work_dir, prefix="scale-load-") as folder:
            arguments = ["--measure", batch.value, "--cores", str(cores), "--groups", str(groups)]
            sizes = ["--rows", str(rows), "--share", str(share)]
            found.append(LoadRun(**_measured([*arguments, *sizes, "--work-dir", folder])))
        print(f"measured: {batch.value}, {cores} cores, {groups} groups, {rows:,} rows", file=sys.stderr)
    return found


def _document(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything that the model needs."""
    with tempfile.TemporaryDirectory(dir=options.work_dir, prefix="scale-load-") as folder:
        requests = _measured(["--measure", REQUESTS, "--work-dir", folder])
    return {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "core_speed": {"2": core_speed(2), "all": core_speed(os.cpu_count() or 2)},
        "requests": requests,
        "runs": [asdict(each) for each in _measure(options)],
    }


def _measured(arguments: list[str]) -> dict[str, Any]:
    """Run this program in a process of its own, and return its result."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError("A load failed:\n" + "\n".join(done.stderr.splitlines()[-20:]))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measure_here(options: argparse.Namespace) -> None:
    from scale.measured_load import measured_load
    from scale.measured_requests import measured_requests

    if options.measure == REQUESTS:
        print(json.dumps(asdict(measured_requests(options.work_dir))))
        return
    (rows,) = options.rows
    batch, folder = Batch(options.measure), options.work_dir
    run = measured_load(
        batch,
        cores=options.cores,
        groups=options.groups,
        table_rows=rows,
        batch_rows=rows // options.share,
        folder=folder,
    )
    print(json.dumps(asdict(run)))


def _costs_table(costs: Costs) -> str:
    rows = [
        (f"`{name}`", f"{value * 1e6:,.2f} µs" if "_per_" in name else f"{value * 1e3:,.1f} ms")
        for name, value in asdict(costs).items()
    ]
    return markdown_table(("cost", "value"), rows)


def _requests_table(requests: Requests) -> str:
    rows = [(f"`{name}`", f"{value:,.1f}") for name, value in asdict(requests).items()]
    return markdown_table(("requests", "number"), rows)


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


def _days_table(costs: Costs, requests: Requests, speed: float) -> str:
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
        for each in days(costs, requests, speed)
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


def _useful_cores_table(costs: Costs, requests: Requests, speed: float) -> str:
    rows = [(scenario.title, f"{cores:,}") for scenario, cores in useful_cores(costs, requests, speed)]
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
    else:
        document = _document(options)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(document, indent=1))
    runs = [LoadRun(**each) for each in document["runs"]]
    requests = Requests(**document["requests"])
    costs = costs_of(runs, open_s_per_group=open_s_per_group(measurements))
    compared = checks(costs, runs, core_speed=document["core_speed"]["2"])
    speed = document["core_speed"]["all"]
    print(f"core speed: {document['core_speed']}")
    tables = {
        "costs": _costs_table(costs),
        "requests": _requests_table(requests),
        "checks": _checks_table(compared),
        "loads": _days_table(costs, requests, speed),
        "useful cores": _useful_cores_table(costs, requests, speed),
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
    parser.add_argument(
        "--measure", choices=[*(batch.value for batch in Batch), REQUESTS], help=argparse.SUPPRESS
    )
    parser.add_argument("--cores", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--groups", type=int, default=GROUPS, help=argparse.SUPPRESS)
    parser.add_argument("--share", type=int, default=SHARE, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
