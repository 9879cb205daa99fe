"""Compare this engine with real Apache Hudi, Delta and plain Spark: ``python benchmarks/run.py --help``.

Every system runs each scenario in a separate process (and JVM), one at a time. The written rows are read back and
compared with the expected rows, so a fast but wrong result fails. The exit code is 1 if a table contained wrong rows.
"""

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.measuring import Measurement
from bench.profiling.samplers import PythonSampler
from bench.program import Bench, add_choice, add_merge, program_parser, run_program
from bench.protocol import Job
from bench.report import report, result_line
from bench.results import Ratio, Result, ratios, read_results, write_results
from bench.scenarios import (
    FIRST_INSERT,
    FIRST_LOG_INSERT,
    OTHER_FORMATS,
    SCENARIOS,
    WARM_UP,
    WARM_UP_CLUSTERING,
    WARM_UP_LOGS,
    Scenario,
    System,
)
from bench.tables import TableState, inspect_table


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
class WriteBench(Bench):
    """Inputs, folders and settings of one run. Each measurement is repeated `repeat` times.

    With `sampling`, measured processes are sampled.
    """

    repeat: int
    sampling: Sampling | None = None

    def base_table(self, system: System, first: Scenario = FIRST_INSERT) -> Path:
        """Return the folder of the table that an insert of all rows (`first`) creates."""
        return self.work / "base" / (f"{system.value}-logs" if first.merge_on_read else system.value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare the inputs, measure the scenarios, print the results and write them as JSON."""
    options = _parser().parse_args(arguments)
    print(f"Preparing inputs, scale {options.scale:g} …", flush=True)
    bench = WriteBench.prepare(options, "tables", repeat=options.repeat)
    bench.remove_tables()
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
        bench.remove_tables()
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


def _measure_repeatedly(bench: WriteBench, scenario: Scenario, system: System) -> Result:
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


def _measure_once(bench: WriteBench, scenario: Scenario, system: System) -> tuple[Measurement, TableState]:
    table = bench.work / system.value / scenario.name
    shutil.rmtree(table, ignore_errors=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    first = FIRST_LOG_INSERT if scenario.merge_on_read else FIRST_INSERT
    base = bench.base_table(system, first)
    if system in OTHER_FORMATS:
        if scenario.on_base or scenario.is_service:
            _run_process(bench, scenario, system, table, prepares=True)
    elif scenario.on_base:
        if not base.exists():
            print(f"  (creating the base table of {system.value} first)", flush=True)
            _measure_once(replace(bench, sampling=None), first, system)
        shutil.copytree(base, table)
    if scenario.is_service and system not in OTHER_FORMATS:
        shutil.copytree(_prepared(bench, scenario), table)
    measurement = _run_process(bench, scenario, system, table)
    sorted_by = scenario.clustering.columns if scenario.clustering is not None else ()
    state = inspect_table(system, table, bench.inputs.columns, sorted_by, has_logs=scenario.merge_on_read)
    if scenario is first and system not in OTHER_FORMATS:
        shutil.rmtree(base, ignore_errors=True)
        base.parent.mkdir(parents=True, exist_ok=True)
        table.rename(base)
    else:
        shutil.rmtree(table)
    return measurement, state


def _prepared(bench: WriteBench, scenario: Scenario) -> Path:
    """Return the table that a service starts from. Real Hudi creates it; each system gets a copy."""
    table = bench.work / "prepared" / scenario.prepared_name
    if not table.exists():
        print(f"  (creating the table for {scenario.title} first)", flush=True)
        table.parent.mkdir(parents=True, exist_ok=True)
        _run_process(bench, scenario, System.HUDI, table, prepares=True)
    return table


def _warm_up_table(bench: WriteBench, scenario: Scenario) -> Path:
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
    bench: WriteBench, scenario: Scenario, system: System, table: Path, *, prepares: bool = False
) -> Measurement:
    scratch = bench.empty_scratch()
    if scenario.is_service and not prepares and system not in OTHER_FORMATS:
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
        return bench.measure(job, f"{system.value}-{scenario.name}", watcher=watcher)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _parser() -> argparse.ArgumentParser:
    systems = [system.value for system in System]
    parser = program_parser(
        "Write the TPC-H table lineitem with each system, and compare the systems.",
        kind="scenarios",
        names=[scenario.name for scenario in SCENARIOS],
        more=f"Systems: {', '.join(systems)}.",
    )
    add_choice(parser, "--systems", "systems", systems)
    add = parser.add_argument
    add("--repeat", type=int, default=1, help="repetitions of each measurement; the median is reported")
    add_merge(parser, "scenarios")
    add("--keep", action="store_true", help="keep the base tables and logs at the end")
    return parser


if __name__ == "__main__":
    run_program(main)
