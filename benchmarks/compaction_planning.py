"""Measure the schedule of compactions, which needs no Spark: its time, its memory, and the benefit of a ranked plan.

Each case runs in a separate process, on a table of version 9 in a local folder. The files of the table have sizes but
no content, because a schedule opens no data file. The program exits with 1 if a figure misses its target.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "spark_jobs"))

from bench.figures import Target, measured_figures, send_figures  # noqa: E402
from hudi_table_services.contract.compaction.compaction import (  # noqa: E402
    CompactionReport,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.result import JobResult  # noqa: E402
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata  # noqa: E402
from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata  # noqa: E402
from hudi_table_services.jobs.compaction.schedule import schedule_compaction  # noqa: E402
from hudi_table_services.model.data_file import BaseFile, LogFile  # noqa: E402
from hudi_table_services.model.table_version import TableVersion  # noqa: E402
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat  # noqa: E402
from hudi_table_services.options.keys.compaction import MIN_LOG_RATIO, RANK_BY_BENEFIT, TARGET_IO  # noqa: E402
from hudi_table_services.storage.clock import SystemClock  # noqa: E402
from hudi_table_services.storage.stores.local import LocalStorage  # noqa: E402
from hudi_table_services.storage.table_store import create_table  # noqa: E402

MIB = 1 << 20
SLICES_PER_PARTITION = 100
DELTA_COMMITS = 10
BASE_BYTES = 100 * MIB
HEAVY_SHARE = 10
"""One in this many slices has many log bytes. These slices together have nine tenths of the log bytes."""
HEAVY_LOG_BYTES, LIGHT_LOG_BYTES = 81 * MIB, MIB
WHOLE = {TARGET_IO.key: str(1 << 40)}
"""Option with which a plan contains all slices. By default, the size of a plan is limited to 500 GB."""
RANKED = {**WHOLE, RANK_BY_BENEFIT.key: "true", MIN_LOG_RATIO.key: "0.1"}
MAX_SECONDS, MAX_PEAK_MIB = 2.0, 500.0
MIN_SAVED, MIN_REMOVED = 0.6, 0.9
_SCHEMA = '{"type":"record","name":"r","fields":[{"name":"id","type":"string"}]}'
_BEGIN = datetime.now(timezone.utc) - timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Case:
    """A schedule to measure.

    Attributes:
        run: schedules on the table in the given folder, and returns the figures by name.
    """

    title: str
    run: Callable[[Path], dict[str, float]]


def _schedule(table: Path, options: dict[str, str] | None = None, *, preview: bool = False) -> JobResult:
    return schedule_compaction(
        ScheduleCompactionRequest(
            base_path=str(table), ignore_trigger=True, preview=preview, options=options or {}
        )
    )


def _time_of_a_schedule(table: Path) -> dict[str, float]:
    started = time.perf_counter()
    result = _schedule(table)
    seconds = time.perf_counter() - started
    (plan,) = _report(result).plans
    return {"seconds": seconds, "slices": float(sum(each.slices for each in plan.partitions))}


def _benefit_of_a_ranked_plan(table: Path) -> dict[str, float]:
    """Compare two plans: the ranked plan has only slices with many log bytes, and Hudi's plan has all slices."""
    whole, ranked = (_planned_bytes(_schedule(table, options, preview=True)) for options in (WHOLE, RANKED))
    return {"rewrite saved": 1 - ranked[0] / whole[0], "log bytes removed": ranked[1] / whole[1]}


def _planned_bytes(result: JobResult) -> tuple[int, int]:
    """Return the bytes that the execution reads and writes, and how many of these bytes are in log files."""
    (plan,) = _report(result).plans
    base = sum(each.base_bytes or 0 for each in plan.partitions)
    logs = sum(each.log_bytes for each in plan.partitions)
    return 2 * base + logs, logs


def _report(result: JobResult) -> CompactionReport:
    report = result.report_as(CompactionReport)
    if report is None or not report.plans:
        raise RuntimeError(f"No compaction was planned: {result.reason}")
    return report


CASES = {
    "schedule": Case("compaction scheduled", _time_of_a_schedule),
    "ranked": Case("ranked plan", _benefit_of_a_ranked_plan),
}
TARGETS = {
    ("schedule", "seconds"): Target(MAX_SECONDS),
    ("schedule", "peak MiB"): Target(MAX_PEAK_MIB),
    ("ranked", "rewrite saved"): Target(MIN_SAVED, at_least=True),
    ("ranked", "log bytes removed"): Target(MIN_REMOVED, at_least=True),
}


def make_table(folder: Path, slices: int) -> None:
    """Create a table with one base file and one log file in each slice; `DELTA_COMMITS` commits wrote the log files."""
    storage = LocalStorage(str(folder))
    properties = {
        "hoodie.table.name": "many",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.version": str(int(TableVersion.V9)),
        "hoodie.timeline.layout.version": "2",
        "hoodie.table.partition.fields": "p",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
    }
    create_table(storage, properties, SystemClock())
    times = [_text(_BEGIN + timedelta(minutes=number)) for number in range(DELTA_COMMITS + 1)]
    for number, requested in enumerate(times):
        _complete(folder, requested, _text(_BEGIN + timedelta(minutes=number, seconds=30)))
    for partition in range(-(-slices // SLICES_PER_PARTITION)):
        place = folder / f"p={partition}"
        place.mkdir()
        (place / ".hoodie_partition_metadata").write_bytes(encode_partition_metadata("0", 1, _BEGIN))
        first = partition * SLICES_PER_PARTITION
        for number in range(first, min(slices, first + SLICES_PER_PARTITION)):
            _add_slice(place, number, times)


def _complete(folder: Path, requested: str, completed: str) -> None:
    timeline = folder / ".hoodie" / "timeline"
    stat = WriteStat(file_id="f0", partition_path="p=0", path="p=0/none", file_size_bytes=1)
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT,
        partition_to_write_stats={"p=0": (stat,)},
        extra_metadata={"schema": _SCHEMA},
    )
    (timeline / f"{requested}.deltacommit.requested").touch()
    (timeline / f"{requested}.deltacommit.inflight").touch()
    content = encode_commit_metadata(metadata, TableVersion.V9)
    (timeline / f"{requested}_{completed}.deltacommit").write_bytes(content)


def _add_slice(folder: Path, number: int, times: list[str]) -> None:
    file_id = f"f{number}"
    base = BaseFile(file_id=file_id, write_token="0-1-0", instant_time=times[0])
    log_time = times[1 + number % DELTA_COMMITS]
    log = LogFile(file_id=file_id, instant_time=log_time, version=1, write_token="0-1-0")
    _sparse(folder / base.file_name, BASE_BYTES)
    _sparse(folder / log.file_name, LIGHT_LOG_BYTES if number % HEAVY_SHARE else HEAVY_LOG_BYTES)


def _sparse(path: Path, size_bytes: int) -> None:
    """Create a file of this length that takes no blocks on most file systems."""
    with path.open("wb") as file:
        file.truncate(size_bytes)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S000")


def _measure(name: str, table: Path) -> None:
    """Run one case in this process and print its figures and its peak memory as JSON."""
    send_figures(CASES[name].run(table))


def _measured(table: Path) -> Iterator[tuple[str, str, float]]:
    """Run each case in a separate process, and yield case, name and value of each figure."""
    # The ranked plan is a preview. It comes first, because the other case schedules a plan that reserves all slices.
    for name in reversed(CASES):
        for figure, value in measured_figures(__file__, "--case", name, "--table", str(table)).items():
            yield name, figure, value


def main() -> int:
    """Create the table, measure the cases, and print each figure with its target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--slices", type=int, default=100_000, help="number of file slices of the table")
    parser.add_argument(
        "--work-dir", type=Path, default=None, help="folder of the table; default: a temporary folder"
    )
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        _measure(options.case, options.table)
        return 0
    missed = 0
    with tempfile.TemporaryDirectory(dir=options.work_dir) as folder:
        table = Path(folder) / "many"
        make_table(table, options.slices)
        print(f"{f'table of {options.slices:,} slices':<28}{'figure':<20}{'value':>10}{'target':>10}")
        for name, figure, value in _measured(table):
            target = TARGETS.get((name, figure))
            missed += target is not None and not target.is_reached(value)
            print(f"{CASES[name].title:<28}{figure:<20}{value:>10.2f}{target or '-'!s:>10}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
