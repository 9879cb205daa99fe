"""Measure services that read and write only metadata, on a table with many commits.

Each service runs in a separate process. The program prints the seconds and the peak memory of each process. These
processes cannot be compared with Hudi, because a process of Hudi also has to start a JVM. ``run.py --only clean``
compares cleaning in a running session.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "spark_jobs"))

from bench.figures import measured_figures, send_figures  # noqa: E402
from hudi_table_services.contract.cleaning import CleanRequest  # noqa: E402
from hudi_table_services.contract.health import HealthRequest  # noqa: E402
from hudi_table_services.contract.recovery import RollbackRequest  # noqa: E402
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata  # noqa: E402
from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata  # noqa: E402
from hudi_table_services.jobs.cleaning.clean import clean  # noqa: E402
from hudi_table_services.jobs.health.table_health import table_health  # noqa: E402
from hudi_table_services.jobs.recovery.rollback import rollback  # noqa: E402
from hudi_table_services.model.table_version import TableVersion  # noqa: E402
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat  # noqa: E402
from hudi_table_services.storage.clock import SystemClock  # noqa: E402
from hudi_table_services.storage.stores.local import LocalStorage  # noqa: E402
from hudi_table_services.storage.table_store import create_table, read_table_config  # noqa: E402
from hudi_table_services.storage.timeline_store import TimelineStore  # noqa: E402

COMMITS, FILES_PER_COMMIT, PARTITIONS, DEAD_FILES = 1_000, 50, 100, 1_000
_SCHEMA = '{"type":"record","name":"r","fields":[{"name":"id","type":"string"}]}'
_BEGIN = datetime.now(timezone.utc) - timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Case:
    """One service to measure.

    Attributes:
        run: function that runs the service on the table in the given folder.
        limit_s: upper limit in seconds on an idle machine.
    """

    title: str
    limit_s: float
    run: Callable[[Path], object]


def _load_timeline(table: Path) -> object:
    storage = LocalStorage(str(table))
    return TimelineStore(storage, read_table_config(storage), SystemClock()).load()


def _preview_clean(table: Path) -> object:
    return clean(CleanRequest(base_path=str(table), preview=True))


def _health(table: Path) -> object:
    return table_health(HealthRequest(base_path=str(table)))


def _roll_back(table: Path) -> object:
    return rollback(RollbackRequest(base_path=str(table), all_failed=True))


CASES = {
    "timeline": Case(f"timeline of {COMMITS:,} commits loaded", 0.2, _load_timeline),
    "clean_plan": Case(f"clean of {COMMITS * FILES_PER_COMMIT:,} files planned", 5.0, _preview_clean),
    "health": Case(f"health of {COMMITS * FILES_PER_COMMIT:,} files", 10.0, _health),
    "rollback": Case(f"failed write of {DEAD_FILES:,} files rolled back", 2.0, _roll_back),
}


def make_table(folder: Path, files_per_commit: int = FILES_PER_COMMIT) -> None:
    """Create a table of version 9 with many commits, and add a dead write with its markers."""
    storage = LocalStorage(str(folder))
    properties = {
        "hoodie.table.name": "many",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": str(int(TableVersion.V9)),
        "hoodie.timeline.layout.version": "2",
        "hoodie.table.partition.fields": "p",
        "hoodie.table.timeline.timezone": "UTC",
    }
    create_table(storage, properties, SystemClock())
    for number in range(PARTITIONS):
        (folder / f"p={number}").mkdir()
        metafile = encode_partition_metadata("0", 1, _BEGIN)
        (folder / f"p={number}" / ".hoodie_partition_metadata").write_bytes(metafile)
    timeline = folder / ".hoodie" / "timeline"
    for number in range(COMMITS):
        requested = _BEGIN + timedelta(minutes=number)
        stats = _write_files(folder, number, _text(requested), files_per_commit)
        metadata = CommitMetadata(
            operation_type=WriteOperation.UPSERT,
            partition_to_write_stats=stats,
            extra_metadata={"schema": _SCHEMA},
        )
        (timeline / f"{_text(requested)}.commit.requested").touch()
        (timeline / f"{_text(requested)}.inflight").touch()
        completed = timeline / f"{_text(requested)}_{_text(requested + timedelta(seconds=30))}.commit"
        completed.write_bytes(encode_commit_metadata(metadata, TableVersion.V9))
    _add_dead_write(folder, timeline)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S000")


def _write_files(
    folder: Path, commit: int, instant_time: str, count: int
) -> dict[str, tuple[WriteStat, ...]]:
    """Write the files of one commit. Even commits change one set of file groups, and odd commits change another set."""
    stats: dict[str, tuple[WriteStat, ...]] = {}
    for number in range(count):
        partition = f"p={(number * 2 + commit % 2) % PARTITIONS}"
        file_id = f"f{number}-{commit % 2}"
        path = f"{partition}/{file_id}_0-1-0_{instant_time}.parquet"
        (folder / path).write_bytes(b"PAR1")
        stat = WriteStat(file_id=file_id, partition_path=partition, path=path, file_size_bytes=4)
        stats[partition] = (*stats.get(partition, ()), stat)
    return stats


def _add_dead_write(folder: Path, timeline: Path) -> None:
    instant_time = _text(_BEGIN + timedelta(minutes=COMMITS + 1))
    (timeline / f"{instant_time}.commit.requested").touch()
    (timeline / f"{instant_time}.inflight").touch()
    for number in range(DEAD_FILES):
        name = f"p={number % PARTITIONS}/dead{number}_0-1-0_{instant_time}.parquet"
        (folder / name).write_bytes(b"PAR1")
        marker = folder / ".hoodie" / ".temp" / instant_time / f"{name}.marker.CREATE"
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()


def _measure(name: str, table: Path) -> None:
    """Run one case in this process and print its seconds and peak memory as JSON."""
    started = time.perf_counter()
    CASES[name].run(table)
    seconds = time.perf_counter() - started
    send_figures({"seconds": seconds})


def main() -> None:
    """Create the table, run each case in a separate process, and print seconds and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        _measure(options.case, options.table)
        return
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "many"
        make_table(table)
        print(f"{'':<44}{'seconds':>9}{'limit':>9}{'peak MiB':>10}")
        for name, case in CASES.items():
            found = measured_figures(__file__, "--case", name, "--table", str(table))
            figures = f"{found['seconds']:>9.2f}{f'< {case.limit_s:g}':>9}{found['peak MiB']:>10.0f}"
            print(f"{case.title:<44}{figures}")


if __name__ == "__main__":
    main()
