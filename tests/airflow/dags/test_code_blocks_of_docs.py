"""The Python blocks of the pages run without a change: each block contains its imports."""

import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import BaseOperator

sys.path.append(str(Path(__file__).parents[2] / "unit" / "docs"))

from doc_sources import blocks_in

from support.airflow.run_states import hidden_failures

# tests/readers runs the blocks of readers.md; tests/spark runs blocks of start.md and of the pages about reads.
ELSEWHERE = "docs/readers.md"
# These blocks need a table, or a package that tests of Airflow lack.
NEEDED = (
    "import UpsertRequest\n",
    "from hudi import HudiTable\n",
    "from hudi_table_services.reading.",
    "from airflow_hudi_provider.incremental ",
    "airflow.providers.slack",
)
BLOCKS = {
    place: block
    for place, block in blocks_in("python").items()
    if not place.startswith(ELSEWHERE) and not any(text in block.text for text in NEEDED)
}


@pytest.mark.parametrize("place", BLOCKS)
def test_a_block_can_be_pasted_into_a_file(place: str) -> None:
    names: dict[str, Any] = {"__name__": "pasted"}
    exec(compile(BLOCKS[place].text, place, "exec"), names)
    dags = [each.dag for each in names.values() if isinstance(each, BaseOperator) and each.has_dag()]
    assert [task for dag in dags for task in hidden_failures(dag)] == []
