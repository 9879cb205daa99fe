"""Prepare the folder that a demo fills."""

import shutil
import sys
from pathlib import Path

from airflow_stack.stack import is_in_use

MARKER = ".made-by-the-demo"


def fresh_folder(output: Path) -> Path:
    """Empty the output folder if an earlier demo created it. If not, the folder must be empty or absent.

    Stop the program if an Airflow runs in the folder.
    """
    output = output.resolve()
    if (output / "airflow").exists() and is_in_use(output / "airflow"):
        sys.exit(f"An Airflow is running in {output}. Stop it with Ctrl-C, or name another folder.")
    if output.exists() and any(output.iterdir()):
        if not (output / MARKER).exists():
            sys.exit(
                f"{output} contains files that the demo did not create. Name another folder with --output."
            )
        shutil.rmtree(output)
    output.mkdir(parents=True, exist_ok=True)
    (output / MARKER).touch()
    return output


def share_with_demo(folder: Path, *, is_demo: bool) -> None:
    """Record whether the next demo may empty the folder.

    The next demo may empty the folder only if no Airflow in this folder has ever run DAGs other than the examples.

    Args:
        is_demo: whether the Airflow in this folder runs the examples.
    """
    is_new = not folder.exists() or not any(folder.iterdir())
    folder.mkdir(parents=True, exist_ok=True)
    if not is_demo:
        (folder / MARKER).unlink(missing_ok=True)
    elif is_new:
        (folder / MARKER).touch()
