"""The log says what a second run of a write without a request id does, because each operation does something else."""

import logging
from typing import Any

import pytest

from hudi_table_services.contract.writing import OPERATIONS, UpsertRequest
from hudi_table_services.services.writing import UPSERT

OPTIONS = {"delete_partition": {"hoodie.datasource.write.partitions.to.delete": "p"}}


def logged(caplog: pytest.LogCaptureFixture, operation: str, **fields: Any) -> str:
    options = {**OPTIONS.get(operation, {}), **fields.pop("options", {})}
    with caplog.at_level(logging.INFO):
        UPSERT.check(UpsertRequest(base_path="/t", operation=operation, options=options, **fields))
    return caplog.text


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_log_says_what_a_second_run_does_unless_the_request_has_an_id_or_writes_nothing(
    caplog: pytest.LogCaptureFixture, operation: str
) -> None:
    assert logged(caplog, operation, request_id="mine") == ""
    assert logged(caplog, operation, dry_run=True) == ""
    assert "No request id was given, so a second run " in logged(caplog, operation)


@pytest.mark.parametrize(
    ("operation", "policy", "expected"),
    [
        ("upsert", "none", "a second run updates the same rows again, and adds no duplicates."),
        ("insert", "none", "a second run inserts the rows again, and may add duplicates."),
        (
            "insert",
            "drop",
            "a second run writes no row whose record key is in the table, and adds no duplicates.",
        ),
        ("insert", "fail", "a second run fails, because the record keys are already in the table."),
        ("bulk_insert", "none", "a second run inserts the rows again, and adds duplicates."),
    ],
)
def test_the_log_mentions_duplicates_only_if_the_operation_adds_them(
    caplog: pytest.LogCaptureFixture, operation: str, policy: str, expected: str
) -> None:
    assert expected in logged(caplog, operation, options={"hoodie.datasource.insert.dup.policy": policy})
