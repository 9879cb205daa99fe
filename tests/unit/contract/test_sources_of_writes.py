"""Sources of writes: files or the changes of a table, and the combinations that are refused."""

import json
import re
from typing import Any

import pytest

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.services.registry import script


def request_of(source: dict[str, Any], **fields: Any) -> UpsertRequest:
    return UpsertRequest(base_path="/t", source=SourceSpec(**source), **fields)


def test_the_mode_and_the_chain_of_a_table_have_defaults() -> None:
    made = SourceSpec(table="s3a://lake/flights/")
    assert (made.mode, made.chain) == ("incremental", "lake/flights")
    assert SourceSpec(table="/data/flights").chain == "data/flights"
    assert SourceSpec(table="s3://lake/flights", chain="mine").chain == "mine"


def test_a_request_document_contains_the_source_table() -> None:
    made = request_of({"table": "/s", "sql": "SELECT 1", "begin": "earliest", "mode": "changed_groups"})
    assert UpsertRequest.from_json(made.to_json()).source == made.source
    assert json.loads(made.to_json())["source"]["chain"] == "s"


def test_flags_describe_the_source_table() -> None:
    flags = ["--base-path=/t", "--source-table=/s", "--source-mode=changed_groups", "--source-chain=c"]
    more = ["--source-begin=earliest", "--source-first-begin=2026-01-01", "--source-sql=SELECT 1"]
    request = script("upsert_with_sizing.py").parse([*flags, *more]).request
    assert isinstance(request, UpsertRequest)
    assert request.source == SourceSpec(
        table="/s",
        mode="changed_groups",
        chain="c",
        begin="earliest",
        first_begin="2026-01-01",
        sql="SELECT 1",
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({}, "neither a path nor options"),
        ({"path": "/a", "mode": "incremental"}, "The field 'mode' of the source belongs to a Hudi table"),
        ({"path": "/a", "begin": "earliest"}, "The field 'begin' .* --source-table"),
        ({"table": "/s", "path": "/a"}, "and also a path or a format of files"),
        ({"table": "/s", "format": "csv"}, "and also a path or a format of files"),
        (
            {"table": "/s", "mode": "incremental_"},
            "the unknown mode 'incremental_'.*Did you mean incremental",
        ),
    ],
)
def test_contradicting_sources_are_refused(source: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        SourceSpec(**source)
    assert re.search(words, str(refused.value))


@pytest.mark.parametrize(
    ("source", "fields", "words"),
    [
        (
            {},
            {"operation": "insert"},
            "has the operation insert, but a load of changes can only upsert and delete",
        ),
        ({}, {"operation": "insert_overwrite_table"}, "with the begin earliest"),
        ({}, {"dry_run": True}, "is a dry run"),
        ({"table": "/t/"}, {}, "is the target itself"),
        ({}, {"options": {"hoodie.datasource.write.operation": "bulk_insert"}}, "operation bulk_insert"),
        ({"mode": "changed_groups"}, {"ordering_field": "ts"}, "cannot have the ordering field 'ts'"),
    ],
)
def test_requests_that_are_no_load_are_refused_before_spark_starts(
    source: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        resolve_options(request_of({"table": "/s", **source}, **fields))


def test_a_target_can_be_replaced_by_the_whole_source() -> None:
    request = request_of({"table": "/s", "begin": "earliest"}, operation="insert_overwrite_table")
    assert resolve_options(request).operation.value == "INSERT_OVERWRITE_TABLE"
