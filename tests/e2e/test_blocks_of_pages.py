"""The shell blocks of README.md and docs/start.md that need no Airflow run unchanged, except for the folder /tmp."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from e2e.job_processes import REPOSITORY, Ended, environment, run, spark_settings

sys.path.append(str(REPOSITORY / "tests" / "unit" / "docs"))

from doc_sources import blocks_in

TABLE = "/tmp/lake/people"


def without_airflow(page: str) -> str:
    """Return the shell block that names the table of the example. A page has only one such block."""
    (found,) = (
        block.text
        for place, block in blocks_in("sh").items()
        if place.startswith(f"{page}:") and TABLE in block.text
    )
    return found


def paste(block: str, folder: Path) -> Ended:
    """Run a block in a checkout whose entries are links, so that files it creates do not get into the repository."""
    checkout = folder / "checkout"
    checkout.mkdir()
    for entry in REPOSITORY.iterdir():
        (checkout / entry.name).symlink_to(entry)
    variables = environment(spark_settings(folder / "conf"))
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # variables of the `make` that runs the tests
        variables.pop(name, None)
    script = f"set -e\ncd {checkout}\n{block.replace('/tmp/', f'{folder}/')}"
    return run(["bash", "-c", script], variables, folder / "run")


def documents(output: str) -> Iterator[dict[str, Any]]:
    """Yield each JSON object of an output that begins with other lines."""
    end = 0
    while (start := output.find("{", end)) >= 0:
        document, end = json.JSONDecoder().raw_decode(output, start)
        yield document


def test_the_blocks_of_both_pages_begin_with_the_same_commands() -> None:
    """Therefore one run, which starts Spark once, tests both blocks."""
    readme, start = without_airflow("README.md"), without_airflow("docs/start.md")
    assert start.startswith(readme)


def test_the_block_creates_a_table_and_shows_it(tmp_path: Path) -> None:
    ended = paste(without_airflow("docs/start.md"), tmp_path)
    assert ended.exit_code == 0, ended.log
    written, shown, health = documents(ended.output)
    assert written["rows"]["inserted"] == shown["row_count"] == 2
    assert shown["file_count"] == 1
    assert health["outcome"] == "completed"
    assert "The state of the table is: healthy" in ended.log
