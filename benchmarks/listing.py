"""Measure how long a table of many partitions takes to load, from its metadata table and from its folders.

Each load runs in a separate process on the same table, and every request takes as long as a request to an object store.
The program prints seconds, processor seconds, requests and peak memory of each load, and the ratio of the seconds. Run
it with ``.venv/bin/python benchmarks/listing.py``.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "spark_jobs"), str(ROOT / "tests")]

from bench.quick_storage import QuickStorage  # noqa: E402
from hudi_table_services.model.table_version import TableVersion  # noqa: E402
from hudi_table_services.storage.stores.local import LocalStorage  # noqa: E402
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot  # noqa: E402
from support.listing.counting_storage import CountingStorage  # noqa: E402
from support.listing.listed_tables import listed_table  # noqa: E402

PARTITIONS, FILES, WRITES = 1_000, 100, 9
MOST_SECONDS, MOST_REQUESTS, MOST_MIB = 3.0, 25, 400
SOURCES = {"metadata table": None, "folders": False}


class _DistantStorage(CountingStorage):
    """Storage that waits during each request, as if the request went to an object store."""

    wait_s = 0.0

    def _add(self, path: str, number: int = 1) -> None:
        super()._add(path, number)
        time.sleep(self.wait_s * number)


def long_file_id(path: str, number: int) -> str:
    return f"{uuid.uuid5(uuid.NAMESPACE_URL, f'{path}/{number}')}-0"


def _load(source: str, table: Path, wait_ms: int) -> None:
    """Load the table once in this process and print the figures as JSON."""
    storage = _DistantStorage(LocalStorage(str(table)))
    storage.wait_s = wait_ms / 1000
    started, worked = time.perf_counter(), time.process_time()
    snapshot = load_snapshot(storage, metadata_enable=SOURCES[source])
    figures = {
        "seconds": time.perf_counter() - started,
        "cpu_s": time.process_time() - worked,
        "requests": storage.count,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "slices": len(snapshot.all_slices),
    }
    print(json.dumps(figures))


def _measure(source: str, table: Path, wait_ms: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--source", source, "--table", str(table), "--wait-ms", str(wait_ms)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Create the table, load it in both ways, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--wait-ms", type=int, default=40, help="milliseconds that each request waits")
    parser.add_argument("--source", choices=SOURCES, help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.source:
        _load(options.source, options.table, options.wait_ms)
        return
    with tempfile.TemporaryDirectory() as folder:
        storage = QuickStorage(folder)
        listed_table(
            TableVersion.V9,
            partitions=PARTITIONS,
            files_each=FILES,
            writes=WRITES,
            storage=storage,
            file_id=long_file_id,
        )
        found = {source: _measure(source, Path(folder), options.wait_ms) for source in SOURCES}
    print(f"{'':<16}{'seconds':>9}{'cpu s':>8}{'requests':>10}{'peak MiB':>10}{'slices':>10}")
    for source, each in found.items():
        times = f"{each['seconds']:>9.2f}{each['cpu_s']:>8.2f}"
        print(f"{source:<16}{times}{each['requests']:>10}{each['peak_mib']:>10.0f}{each['slices']:>10}")
    print(f"{'limit':<16}{f'< {MOST_SECONDS:g}':>9}{'':>8}{MOST_REQUESTS:>10}{MOST_MIB:>10}")
    ratio = found["folders"]["seconds"] / found["metadata table"]["seconds"]
    print(f"The metadata table is {ratio:.1f} times as fast as the folders.")


if __name__ == "__main__":
    main()
