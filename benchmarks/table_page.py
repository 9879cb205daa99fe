"""Measure the three views of a table's page. Run ``.venv/bin/python benchmarks/table_page.py``; it needs Airflow.

The page requests these views in parallel. The table has 1,000 commits on its timeline and 10,000 files.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

from airflow_hudi_provider.pages.table_views import health_view, history_view, plan_view
from airflow_hudi_provider.tables.registry import RegisteredTable
from metadata import COMMITS, make_table

FILES_PER_COMMIT = 10
ROUNDS = 5


def main() -> None:
    """Create the table, request each view several times, and print the medians."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "many"
        make_table(table, FILES_PER_COMMIT)
        registered = RegisteredTable.of("many", str(table), None, None)
        rows = []
        for view in (history_view, health_view, plan_view):
            seconds = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                answer = view(registered)
                seconds.append(time.perf_counter() - started)
            rows.append((view.__name__, statistics.median(seconds), len(json.dumps(answer)) / 1024))
    print(f"{COMMITS:,} commits, {COMMITS * FILES_PER_COMMIT:,} files; median of {ROUNDS}")
    for name, median, kib in rows:
        print(f"{name:<20}{median:>8.2f} s{kib:>8.0f} KiB")


if __name__ == "__main__":
    main()
