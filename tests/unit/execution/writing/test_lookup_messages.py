"""The log lines about the lookup of record keys, including those for a table without base files."""

import pytest

from hudi_table_services.execution.writing.record_index import IndexLookup, RoutedBatch


@pytest.mark.parametrize(
    ("searches_files", "file_count", "expected"),
    [
        (True, 2, "Look up 4 keys in 2 base files"),
        (True, 0, "Combine the rows with equal keys among 4 rows (there are no base files to search)"),
        (False, 0, "Combine the rows with equal keys among 4 rows"),
    ],
)
def test_a_step_without_base_files_only_combines_rows(
    searches_files: bool, file_count: int, expected: str
) -> None:
    assert IndexLookup(searches_files=searches_files).step(4, file_count) == expected


@pytest.mark.parametrize(
    ("searched", "pruned", "expected"),
    [
        (
            2,
            3,
            "Looked up 4 keys in 2 base files (indexes and footers ruled out 3): 1 were found, and the batch has 5 "
            "superseded rows",
        ),
        (
            0,
            3,
            "No base file can contain one of 4 keys (indexes and footers ruled out 3), and the batch has 5 superseded "
            "rows",
        ),
        (0, 0, "There are no base files in which to look up 4 keys, and the batch has 5 superseded rows"),
    ],
)
def test_the_result_of_a_lookup_says_why_no_base_file_was_searched(
    searched: int, pruned: int, expected: str
) -> None:
    routed = RoutedBatch(
        batches=(), superseded_count=5, matched_count=1, files_searched=searched, files_pruned=pruned
    )
    assert routed.lookup(4) == expected
