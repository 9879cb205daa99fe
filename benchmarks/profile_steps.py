"""Show where scenarios spend their processor time: ``python benchmarks/profile_steps.py --help``.

The program runs scenarios of ``run.py`` and samples all their processes: the Python processes with py-spy, the JVM with
async-profiler. It prints the core-seconds of each step for each system, and writes them as JSON, together with the
sampled stacks and a flame graph of each system. The exit code is 1 if a table contained wrong rows.
"""

import argparse
import json
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from bench.inputs import prepare_inputs
from bench.profiling.core_seconds import Profile, collapsed, profile_of, weigh
from bench.profiling.flame_graph import flame_graph
from bench.profiling.page import picture_name
from bench.profiling.processes import Role, TreeTimes
from bench.profiling.samplers import JAVA_STACKS, PYTHON_STACKS, PythonSampler, SamplingError
from bench.profiling.stacks import Stack, java_stacks, python_stacks
from bench.profiling.steps import Step
from bench.profiling.table import step_table, system_name
from bench.program import ROOT, add_choice, run_program
from bench.scenarios import SCENARIOS, Operation, Scenario, System, scenario_named
from run import Sampling, WriteBench, _measure_once

_SYSTEMS = (System.OURS, System.HUDI)
_PROFILED = tuple(scenario for scenario in SCENARIOS if scenario.operation is not Operation.PLAIN)
_SHOWN_OTHERS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile the scenarios, print the tables, and write the results after each system."""
    options = _parser().parse_args(arguments)
    work = options.work_dir.resolve()
    bench = WriteBench(
        inputs=prepare_inputs(work / f"inputs-{options.scale:g}", options.scale, options.tpchgen),
        work=work / f"profiled-tables-{options.scale:g}",
        cores=options.cores,
        driver_memory=options.driver_memory,
        repeat=1,
    )
    shutil.rmtree(bench.work, ignore_errors=True)
    profiles: list[Profile] = []
    for scenario in (scenario_named(name) for name in options.scenario):
        print(f"\n{scenario.title}", flush=True)
        for system in (system for system in _SYSTEMS if system.value in options.systems):
            profiles.append(_profile(bench, scenario, system, options))
            _write_results(options, profiles)
        print(step_table([each for each in profiles if each.scenario == scenario.name]), flush=True)
    print(f"Written to {options.output}; stacks and flame graphs: {_folder(options)}")
    if not options.keep:
        shutil.rmtree(bench.work, ignore_errors=True)
    return 0 if all(profile.correct for profile in profiles) else 1


def _profile(bench: WriteBench, scenario: Scenario, system: System, options: argparse.Namespace) -> Profile:
    folder = _folder(options) / f"{scenario.name}-{system.value}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sampler = PythonSampler(options.py_spy, folder, options.rate)
    sampling = Sampling(
        python=sampler, folder=folder, rate=options.rate, profiler_jar=options.profiler_jar.resolve()
    )
    try:
        measurement, state = _measure_once(replace(bench, sampling=sampling), scenario, system)
    finally:
        sampler.close()
    assert sampler.times is not None
    stacks = _read_stacks(folder, sampler.times)
    profile = profile_of(
        scenario.name,
        system.value,
        stacks,
        sampler.times,
        wall_seconds=round(measurement.seconds, 3),
        correct=state.content == bench.inputs.expected(scenario),
    )
    weighted = weigh(stacks, sampler.times)
    (folder / "weighted.stacks").write_text(collapsed(weighted), encoding="utf-8")
    title = f"{scenario.title}, {system_name(system.value)}"
    (_folder(options) / picture_name(profile)).write_text(flame_graph(title, weighted), encoding="utf-8")
    print(_summary(profile), flush=True)
    _print_others(stacks)
    return profile


def _read_stacks(folder: Path, times: TreeTimes) -> list[Stack]:
    stacks = python_stacks((folder / PYTHON_STACKS).read_text(encoding="utf-8", errors="replace"))
    for process in times.processes:
        if process.role is Role.JVM:
            stacks += java_stacks((folder / JAVA_STACKS).read_text(encoding="utf-8"), process.pid)
    return stacks


def _summary(profile: Profile) -> str:
    roles = ", ".join(f"{role} {seconds:.1f}" for role, seconds in profile.by_role.items())
    return (
        f"  {system_name(profile.system):<14}{profile.cpu_seconds:>8.1f} core-seconds ({roles}), "
        f"{profile.sampled_share:.0%} of them sampled, {sum(profile.samples.values()):,} samples, "
        f"{profile.waiting_samples} of waiting threads, {profile.wall_seconds:.1f} s, "
        f"{'rows ok' if profile.correct else 'WRONG ROWS'}"
    )


def _print_others(stacks: Sequence[Stack]) -> None:
    """Print the most frequent stacks that no rule matches, so that the rules can be completed."""
    others = sorted((s for s in stacks if s.step is Step.OTHER), key=lambda s: -s.samples)
    for stack in others[:_SHOWN_OTHERS]:
        print(f"    other: {stack.samples} samples of …;{';'.join(stack.frames[-3:])}")


def _write_results(options: argparse.Namespace, profiles: Sequence[Profile]) -> None:
    document = {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "scale": options.scale,
        "cores": options.cores,
        "rate": options.rate,
        "machine": {"cores": os.cpu_count(), "platform": platform.platform()},
        "profiles": [profile.to_document() for profile in profiles],
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _folder(options: argparse.Namespace) -> Path:
    """Return the folder of the stacks and flame graphs: the output file without ``.json``."""
    return Path(options.output.with_suffix(""))


def _parser() -> argparse.ArgumentParser:
    scenarios = [scenario.name for scenario in _PROFILED]
    systems = [system.value for system in _SYSTEMS]
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    programs = Path(sys.executable).parent
    parser = argparse.ArgumentParser(
        description="Show the processor time of each step of a scenario, for this engine and Hudi.",
        epilog=f"Scenarios: {', '.join(scenarios)}.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--profiler-jar", type=Path, required=True, help="jar of async-profiler")
    add_choice(parser, "--scenario", "scenarios", scenarios)
    add_choice(parser, "--systems", "systems", systems)
    add("--scale", type=float, default=1.0, help="TPC-H scale factor; 1 is 6.0 million rows")
    add("--rate", type=int, default=50, help="samples per second")
    add("--cores", type=int, default=2, help="cores of the local Spark master")
    add("--driver-memory", default="4g", help="heap of every JVM")
    add("--work-dir", type=Path, default=ROOT / "build" / "bench", help="folder of inputs and tables")
    add(
        "--output",
        type=Path,
        default=ROOT / "benchmarks" / "results" / f"profile-{stamp}.json",
        help="JSON file to write; stacks and flame graphs are written into the folder of the same name",
    )
    add("--tpchgen", default=str(programs / "tpchgen-cli"), help="the tpchgen-cli command")
    add("--py-spy", type=Path, default=programs / "py-spy", help="the py-spy command")
    add("--keep", action="store_true", help="keep the tables and logs at the end")
    return parser


if __name__ == "__main__":
    try:
        run_program(main)
    except SamplingError as error:
        sys.exit(f"A profile failed. {error}")
