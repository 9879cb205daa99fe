"""A retry of a request finds its commit even if the commit has been archived."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.jobs.archival.archive import archive
from support.depth import cases
from support.spark.writing import TableUnderTest


@pytest.mark.parametrize("version", cases(["6", "9"], ["6"]))
def test_a_request_whose_commit_was_archived_is_not_written_again(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    table = TableUnderTest(spark, tmp_path / "t", hoodie__write__table__version=version)
    first = table.write([("a", 1, "x", 1.0)], request_id="nightly-1")
    for number in range(4):
        table.write([("a", 2 + number, "x", 2.0 + number)])
    limits = {"hoodie.clean.commits.retained": "1"}
    request = ArchiveRequest(base_path=str(table.base_path), min_commits=2, max_commits=3, options=limits)
    report = archive(request).report
    assert report is not None
    assert f"{first.instant_time}.commit" in report.instants
    before = table.rows()
    again = table.write([("a", 9, "x", 9.0)], request_id="nightly-1")
    assert (again.outcome, again.reused, again.instant_time) == (
        Outcome.COMPLETED,
        True,
        first.instant_time,
    )
    assert (again.rows.inserted, again.completion_time) == (1, first.completion_time)
    assert table.rows() == before
    assert not table.write([("a", 9, "x", 9.0)], request_id="nightly-2").reused
