"""The blocks of docs/start.md that need Spark or a table run as they are, with other paths."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.append(str(Path(__file__).parents[2] / "unit" / "docs"))

from doc_sources import blocks_in


def block(text: str) -> str:
    blocks = blocks_in("python").items()
    (found,) = (
        each.text for place, each in blocks if place.startswith("docs/start.md") and text in each.text
    )
    return found


def test_a_program_writes_rows_and_reads_them_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "flights")
    names = {"spark": spark, "flights": spark.createDataFrame([(1, 5), (2, 6)], "id int, loaded_at int")}
    exec(block("import UpsertRequest\n").replace("s3://lake/flights", table), names)
    exec(block("from hudi import HudiTable\n").replace("/tmp/lake/people", table), names)
    assert sorted(names["rows"].column("id").to_pylist()) == [1, 2]
