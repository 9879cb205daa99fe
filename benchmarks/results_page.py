"""Write the results of a whole run of ``run.py`` into docs/benchmarks.md: give the path of its JSON file."""

import sys
from pathlib import Path

from bench.result_page import PageError, write_page

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the JSON file of a run: results_page.py benchmarks/results/<time>.json")
    try:
        for written in write_page(Path(sys.argv[1]), PAGE):
            print(written)
    except PageError as error:
        sys.exit(str(error))
