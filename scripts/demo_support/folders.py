"""The folder that a demo fills."""

import shutil
import sys
from pathlib import Path

MARKER = ".made-by-the-demo"


def fresh_folder(output: Path) -> Path:
    """Empty the output folder if an earlier demo created it. If not, the folder must be empty or absent."""
    output = output.resolve()
    if output.exists() and any(output.iterdir()):
        if not (output / MARKER).exists():
            sys.exit(
                f"{output} contains files that the demo did not create. Name another folder with --output."
            )
        shutil.rmtree(output)
    output.mkdir(parents=True, exist_ok=True)
    (output / MARKER).touch()
    return output
