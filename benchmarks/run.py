"""Compare this engine with real Apache Hudi, Delta and plain Spark: ``python benchmarks/run.py --help``.

Every system runs each scenario in a separate process (and JVM), one at a time. The written rows are read back and
compared with the expected rows, so a fast but wrong result fails. The exit code is 1 if a table contained wrong rows.
"""

import argparse
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from bench.inputs import Inputs, prepare_inputs
from bench.measuring import MeasuredProcessError, Measurement, measure
from bench.profiling.samplers import PythonSampler
from bench.protocol import Job
from bench.report import report, result_line
from bench.results import Ratio, Result, ratios, read_results, write_results
from bench.scenarios import (
    FIRST_INSERT,
    FIRST_LOG_INSERT,
    SCENARIOS,
    WARM_UP,
    WARM_UP_CLUSTERING,
    WARM_UP_LOGS,
    Scenario,
    System,
)
from bench.tables import TableState, inspect_table

ROOT = Path(__file__).resolve().parent.parent
PYTHON_PATH = (ROOT / "spark_jobs", ROOT / "benchmarks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Settings for sampling the processor time of a scenario; see ``profile_steps.py``.

    Attributes:
        folder: folder of the sampled stacks.
        rate: samples per second.
        profiler_jar: path of the jar of async-profiler.
    """

    python: PythonSampler
    folder: Path
    rate: int
    profiler_jar: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Inputs, folders and settings of one benchmark run. With `sampling`, measured processes are sampled."""

    inputs: Inputs
    work: Path
    cores: int
    driver_memory: str
    repeat: int
    sampling: Sampling | None = None

    def base_table(self, system: System, first: Scenario = FIRST_INSERT) -> Path:
        """Return the folder of the table that an insert of all rows (`first`) creates."""
        return self.work / "base" / (f"{system.value}-logs" if first.merge_on_read else system.value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare the inputs, measure the scenarios, print the results and write them as JSON."""
    options = _parser().parse_args(arguments)
    print(f"Preparing inputs, scale {options.scale:g} …", flush=True)
    work = options.work_dir.resolve()
    bench = Bench(
        inputs=prepare_inputs(work / f"inputs-{options.scale:g}", options.scale, options.tpchgen),
        work=work / f"tables-{options.scale:g}",
        cores=options.cores,
        driver_memory=options.driver_memory,
        repeat=options.repeat,
    )
    shutil.rmtree(bench.work, ignore_errors=True)
    results = read_results(options.merge) if options.merge else []
    for scenario in (s for s in SCENARIOS if s.name in options.only):
        print(f"\n{scenario.title}", flush=True)
        for system in (s for s in scenario.systems if s.value in options.systems):
            result = _measure_repeatedly(bench, scenario, system)
            print(result_line(result), flush=True)
            results = [r for r in results if (r.scenario, r.system) != (scenario.name, system)] + [result]
            _save(options, results)
    print(report(results, _all_ratios(results)))
    print(f"\nWritten to {options.output}")
    if not options.keep:
        shutil.rmtree(bench.work, ignore_errors=True)
    return 0 if all(result.correct for result in results) else 1


def _all_ratios(results: Sequence[Result]) -> list[Ratio]:
    return [ratio for scenario in SCENARIOS for ratio in ratios(scenario, results)]


def _save(options: argparse.Namespace, results: Sequence[Result]) -> None:
    """Write the results so far, so that they are not lost if the run is stopped."""
    settings = {
        "master": f"local[{options.cores}]",
        "driver_memory": options.driver_memory,
        "codec": "zstd",
        "repeat": str(options.repeat),
    }
    write_results(options.output, options.scale, settings, results, _all_ratios(results))


def _measure_repeatedly(bench: Bench, scenario: Scenario, system: System) -> Result:
    """Measure ``repeat`` times with the same initial table. The last table of `FIRST_INSERT` becomes the base table."""
    runs = [_measure_once(bench, scenario, system) for _ in range(bench.repeat)]
    measurements = [measurement for measurement, _ in runs]
    state = runs[-1][1]
    expected = bench.inputs.expected(scenario)
    in_order = sorted(measurements, key=lambda m: m.seconds)
    return Result(
        scenario=scenario.name,
        system=system,
        seconds=tuple(round(m.seconds, 3) for m in measurements),
        peak_memory_bytes=tuple(m.peak_memory_bytes for m in measurements),
        write_seconds=tuple(round(s, 3) for s in in_order[len(in_order) // 2].write_seconds),
        row_count=state.content.row_count,
        file_count=state.file_count,
        storage_bytes=state.storage_bytes,
        correct=all(state.content == expected for _, state in runs),
        rows_read=state.rows_read,
    )


def _measure_once(bench: Bench, scenario: Scenario, system: System) -> tuple[Measurement, TableState]:
    table = bench.work / system.value / scenario.name
    shutil.rmtree(table, ignore_errors=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    first = FIRST_LOG_INSERT if scenario.merge_on_read else FIRST_INSERT
    base = bench.base_table(system, first)
    if scenario.on_base:
        if not base.exists():
            print(f"  (creating the base table of {system.value} first)", flush=True)
            _measure_once(replace(bench, sampling=None), first, system)
        shutil.copytree(base, table)
    if scenario.is_service:
        shutil.copytree(_prepared(bench, scenario), table)
    measurement = _run_process(bench, scenario, system, table)
    sorted_by = scenario.clustering.columns if scenario.clustering is not None else ()
    state = inspect_table(system, table, bench.inputs.columns, sorted_by, has_logs=scenario.merge_on_read)
    if scenario is first:
        shutil.rmtree(base, ignore_errors=True)
        base.parent.mkdir(parents=True, exist_ok=True)
        table.rename(base)
    else:
        shutil.rmtree(table)
    return measurement, state


def _prepared(bench: Bench, scenario: Scenario) -> Path:
    """Return the table that a service starts from. Real Hudi creates it; each system gets a copy."""
    table = bench.work / "prepared" / scenario.prepared_name
    if not table.exists():
        print(f"  (creating the table for {scenario.title} first)", flush=True)
        table.parent.mkdir(parents=True, exist_ok=True)
        _run_process(bench, scenario, System.HUDI, table, prepares=True)
    return table


def _warm_up_table(bench: Bench, scenario: Scenario) -> Path:
    """Return a small table for a warm-up run of the same service."""
    if scenario.cleaning is not None:
        return _prepared(bench, scenario)
    if scenario.merge_on_read:
        return _prepared(bench, WARM_UP_LOGS)
    table = bench.work / "prepared" / WARM_UP
    if not table.exists():
        table.parent.mkdir(parents=True, exist_ok=True)
        _run_process(bench, WARM_UP_CLUSTERING, System.HUDI, table, prepares=True)
    return table


def _run_process(
    bench: Bench, scenario: Scenario, system: System, table: Path, *, prepares: bool = False
) -> Measurement:
    scratch = bench.work / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    if scenario.is_service and not prepares:
        shutil.copytree(_warm_up_table(bench, scenario), scratch / "warm_up_table")
    job = Job(
        system=system.value,
        scenario=scenario.name,
        inputs=bench.inputs.folder,
        table=table,
        scratch=scratch,
        cores=bench.cores,
        driver_memory=bench.driver_memory,
        prepares=prepares,
    )
    sampling = None if prepares else bench.sampling
    if sampling is not None:
        job = replace(
            job,
            profile=str(sampling.folder),
            profiler_jar=str(sampling.profiler_jar),
            profile_rate=sampling.rate,
        )
    watcher = sampling.python if sampling is not None else None
    try:
        return measure(job, PYTHON_PATH, bench.work / f"{system.value}-{scenario.name}.log", watcher=watcher)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _names(known: Sequence[str]) -> "type[list[str]]":
    """Return an argparse type for comma-separated names out of ``known``."""

    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return names

    return parse  # type: ignore[return-value]


def _parser() -> argparse.ArgumentParser:
    scenarios = [scenario.name for scenario in SCENARIOS]
    systems = [system.value for system in System]
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    default_output = ROOT / "benchmarks" / "results" / f"{stamp}.json"
    parser = argparse.ArgumentParser(
        description="Write the TPC-H table lineitem with each system, and compare the systems.",
        epilog=f"Scenarios: {', '.join(scenarios)}. Systems: {', '.join(systems)}.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--scale", type=float, default=1.0, help="TPC-H scale factor; 1 is 6.0 million rows")
    add(
        "--only",
        type=_names(scenarios),
        default=scenarios,
        help="scenarios, comma-separated",
        metavar="NAMES",
    )
    add("--systems", type=_names(systems), default=systems, help="systems, comma-separated", metavar="NAMES")
    add("--repeat", type=int, default=1, help="repetitions of each measurement; the median is reported")
    add("--cores", type=int, default=2, help="cores of the local Spark master")
    add("--driver-memory", default="4g", help="heap of every JVM")
    add(
        "--work-dir",
        type=Path,
        default=ROOT / "build" / "bench",
        help="folder of the inputs, which are kept, and of the tables, which are removed",
    )
    add("--output", type=Path, default=default_output, help="JSON file to write")
    add(
        "--merge",
        type=Path,
        default=None,
        help="JSON file of an earlier run; results of scenarios that this run does not measure are kept",
    )
    add("--tpchgen", default=str(Path(sys.executable).parent / "tpchgen-cli"), help="the tpchgen-cli command")
    add("--keep", action="store_true", help="keep the base tables and logs at the end")
    return parser


def _stop(signal_number: int, _frame: object) -> None:
    """Exit with an exception, so that the measured process is stopped as well."""
    sys.exit(128 + signal_number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(main())
    except MeasuredProcessError as error:
        sys.exit(f"A measured process failed. {error}")
