"""The demo's Airflow with its UI, until Ctrl-C: ``make airflow``."""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "spark_jobs"))

from airflow_stack.stack import USER, StackError, interrupt_when_terminated  # noqa: E402 - the engine is found after the line above
from demo_support.backfill import demo_stack  # noqa: E402


def main() -> int:
    """Start it, say where it is, wait."""
    interrupt_when_terminated()
    folder = ROOT / "airflow-home"
    print("Starting Airflow …", flush=True)
    try:
        with demo_stack(folder) as stack:
            print(f"\n  {stack.url}\n  user {USER}, password {stack.password}\n")
            print("  Unpause flights_daily, then Trigger → Backfill some days of January 2013.")
            print(
                f"  Logs, database and tables are in {folder.relative_to(ROOT)}/. Ctrl-C stops everything.",
                flush=True,
            )
            while True:
                stack.refuse_dead()
                time.sleep(1)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StackError as error:
        sys.exit(str(error))
