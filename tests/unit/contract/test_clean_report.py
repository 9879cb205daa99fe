"""The report of a clean."""

from hudi_table_services.contract.cleaning import CleanedPartition, CleanReport
from hudi_table_services.contract.report import Figures


def test_files_that_could_not_be_deleted_do_not_count_as_removed() -> None:
    partition = CleanedPartition(
        partition_path="a", file_count=1, size_bytes=10, failed_files=("f1", "f2", "f3"), is_removed=False
    )
    report = CleanReport(policy="KEEP_LATEST_COMMITS", partitions=(partition,))
    assert report.failed_count == 3
    assert report.figures() == Figures(files_removed=1)
