"""Write the results of a run into docs/benchmarks.md: give the JSON file of run.py, reads.py or profile_steps.py."""

import json
import sys
from pathlib import Path

from bench.page_sections import PageError
from bench.profiling.page import write_profile_page
from bench.read_page import write_read_page
from bench.result_page import write_result_page

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
WRITERS = {"profiles": write_profile_page, "rounds": write_read_page, "results": write_result_page}
"""How to write a document, by the key of its figures."""


def main(path: Path) -> list[Path]:
    """Write the results of a run into the page, and return the written files. Raises PageError."""
    document = json.loads(path.read_text(encoding="utf-8"))
    for key, write in WRITERS.items():
        if key in document:
            return write(path, PAGE)
    raise PageError(f"{path} is not a document of run.py, reads.py or profile_steps.py.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the JSON file of a run: results_page.py benchmarks/results/<time>.json")
    try:
        for written in main(Path(sys.argv[1])):
            print(written)
    except PageError as error:
        sys.exit(str(error))
