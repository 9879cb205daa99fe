"""Measure the seconds to load a table on an S3 server and to plan its clustering, with and without metadata table.

The table has 1,000 partitions and 100,000 files. An S3 server on this machine keeps the files in its memory. Each
measurement runs in a separate process. The program prints seconds, requests that arrive at the server and peak memory,
and writes these figures as JSON. Run it with ``.venv/bin/python benchmarks/plan_on_s3.py``.
"""

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "spark_jobs"), str(ROOT / "tests")]

from bench.quick_storage import QuickStorage  # noqa: E402
from hudi_table_services.contract.clustering import ClusteringReport, ScheduleClusteringRequest  # noqa: E402
from hudi_table_services.jobs.clustering.schedule import schedule_clustering  # noqa: E402
from hudi_table_services.model.table_version import TableVersion  # noqa: E402
from hudi_table_services.storage.stores.factory import open_storage  # noqa: E402
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot  # noqa: E402
from listing import long_file_id  # noqa: E402
from support.listing.listed_tables import listed_table  # noqa: E402

BUCKET, TABLE = "lake", "table"
WRITES = 9
MOST_SECONDS, MOST_REQUESTS, MOST_MIB = 3.0, 25, 400
SERVER_PYTHON = ROOT / ".venv-s3" / "bin" / "python"
_ENABLE = "hoodie.metadata.enable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One measurement. `cpu_s` are the processor seconds of the measured process, without those of the server."""

    step: str
    source: str
    seconds: float
    cpu_s: float
    requests: int
    peak_mib: float
    found: int


def _options(endpoint: str) -> dict[str, str]:
    return {
        "aws_endpoint": endpoint,
        "aws_region": "us-east-1",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "allow_http": "true",
    }


def _load(uri: str, options: dict[str, str], *, metadata_enable: bool | None) -> int:
    return len(load_snapshot(open_storage(uri, options), metadata_enable=metadata_enable).all_slices)


def _plan(uri: str, options: dict[str, str], *, metadata_enable: bool | None) -> int:
    chosen = {} if metadata_enable is None else {_ENABLE: str(metadata_enable).lower()}
    request = ScheduleClusteringRequest(base_path=uri, storage_options=options, options=chosen, preview=True)
    report = schedule_clustering(request).report
    assert isinstance(report, ClusteringReport)
    return sum(group.input_files for plan in report.plans for group in plan.groups)


STEPS: dict[str, Callable[..., int]] = {"listing": _load, "clustering plan": _plan}
SOURCES = {"metadata table": None, "folders": False}


def _measure_here(step: str, source: str, endpoint: str) -> None:
    """Run one step in this process and print its figures as JSON."""
    started, worked = time.perf_counter(), time.process_time()
    found = STEPS[step](f"s3://{BUCKET}/{TABLE}", _options(endpoint), metadata_enable=SOURCES[source])
    seconds, cpu_s = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu_s": cpu_s, "peak_mib": peak, "found": found}))


class _Server:
    """The running server."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self._process = process
        self.endpoint = f"http://127.0.0.1:{port}"

    def requests(self) -> int:
        """Return the number of requests since the last call of this method."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def _served(folder: Path) -> Iterator[_Server]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    command = [
        str(SERVER_PYTHON),
        str(Path(__file__).parent / "s3_server.py"),
        str(folder),
        BUCKET,
        str(port),
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            sys.exit("The S3 server did not start.")
        yield _Server(process, port)
    finally:
        process.terminate()
        process.wait(10)


def _measure(server: _Server, step: str, source: str) -> Figures:
    server.requests()
    command = [sys.executable, __file__, "--step", step, "--source", source, "--endpoint", server.endpoint]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=dict(os.environ))
    figures = json.loads(done.stdout.splitlines()[-1])
    return Figures(step=step, source=source, requests=server.requests(), **figures)


def main() -> None:
    """Create the table, measure each step from each source, print the figures and write them as JSON."""
    options = _parser().parse_args()
    if options.step:
        _measure_here(options.step, options.source, options.endpoint)
        return
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / TABLE
        table.mkdir()
        listed_table(
            TableVersion.V9,
            partitions=options.partitions,
            files_each=options.files,
            writes=WRITES,
            storage=QuickStorage(str(table)),
            file_id=long_file_id,
        )
        with _served(Path(folder)) as server:
            found = [
                _measure(server, step, source)
                for _ in range(options.rounds)
                for step in STEPS
                for source in options.sources
            ]
    _print(found)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "partitions": options.partitions,
        "files_per_partition": options.files,
        "measurements": [asdict(each) for each in found],
    }
    options.output.write_text(json.dumps(document, indent=1))
    print(f"Written to {options.output}")


def _print(found: list[Figures]) -> None:
    print(f"{'median':<34}{'seconds':>9}{'cpu s':>8}{'requests':>10}{'peak MiB':>10}{'files':>10}")
    for step in STEPS:
        for source in SOURCES:
            each = [f for f in found if (f.step, f.source) == (step, source)]
            if not each:
                continue
            times = f"{median(f.seconds for f in each):>9.2f}{median(f.cpu_s for f in each):>8.2f}"
            peak = max(f.peak_mib for f in each)
            counts = f"{max(f.requests for f in each):>10,}{peak:>10,.0f}{each[0].found:>10,}"
            print(f"{f'{step}, {source}':<34}{times}{counts}")
    limits = f"{f'< {MOST_SECONDS:g}':>9}{'':>8}{f'<= {MOST_REQUESTS}':>10}{f'<= {MOST_MIB}':>10}"
    print(f"{'target with the metadata table':<34}{limits}")


def _parser() -> argparse.ArgumentParser:
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--partitions", type=int, default=1_000, help="number of partitions")
    parser.add_argument("--files", type=int, default=100, help="number of files in each partition")
    parser.add_argument(
        "--sources", nargs="+", choices=SOURCES, default=list(SOURCES), help="sources of the list of files"
    )
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each step from each source")
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "benchmarks" / "results" / f"plan-on-s3-{stamp}.json",
        help="JSON file to write",
    )
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--source", choices=SOURCES, help=argparse.SUPPRESS)
    parser.add_argument("--endpoint", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    main()
