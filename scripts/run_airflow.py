"""Run the demo's Airflow with its UI until Ctrl-C: ``make airflow DAGS=my-dags HOME_FOLDER=my-home``."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "spark_jobs"))

from airflow_stack.stack import USER, run_program  # noqa: E402 - needs the path set above
from demo_support.backfill import EXAMPLES, HOME, demo_stack  # noqa: E402
from demo_support.folders import share_with_demo  # noqa: E402


def _folder(text: str) -> Path:
    """Return an absolute path, because Airflow's processes have a different working folder."""
    return Path(text).resolve()


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--dags", type=_folder, default=EXAMPLES, help="folder with DAGs; default: the examples"
    )
    parser.add_argument("--home", type=_folder, default=HOME, help="folder for logs, database and tables")
    found = parser.parse_args(given)
    if not found.dags.is_dir():
        parser.error(f"--dags: the folder {found.dags} does not exist")
    return found


def main() -> int:
    """Start Airflow, print its address, and wait."""
    options = arguments()
    share_with_demo(options.home, is_demo=options.dags == EXAMPLES)
    print("Starting Airflow …", flush=True)
    try:
        with demo_stack(options.home, options.dags) as stack:
            print(f"\n  {stack.url}\n  user {USER}, password {stack.password}\n")
            if options.dags == EXAMPLES:
                print("  Unpause flights_daily, then Trigger → Backfill some days of January 2013.")
                print("  The table that `make demo` loaded is under Browse → Hudi tables.")
            print(f"  Airflow reads DAGs from {options.dags}.")
            print(f"  Logs, database and tables are in {options.home}. Ctrl-C stops everything.", flush=True)
            while True:
                stack.raise_if_dead()
                time.sleep(1)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 0


if __name__ == "__main__":
    run_program(main)
