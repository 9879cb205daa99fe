"""Flags and a request document give the same request."""

import json
from dataclasses import fields

import pytest

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.recovery import ROLLBACK
from hudi_table_services.services.writing import UPSERT

ALL_FLAGS = [
    "--base-path=s3://b/t",
    "--table-name=t",
    "--source-path=/landing",
    "--source-format=csv",
    "--source-option=header=true",
    "--source-option=sep==",
    "--source-sql=SELECT * FROM source",
    "--operation=insert",
    "--record-key=id, region",
    "--partition-by=day",
    "--ordering-field=ts",
    "--option=hoodie.index.type=BLOOM",
    "--option=hoodie.table.name=t",
    "--storage-option=region=eu",
    "--result-path=/r.json",
    "--request-id=r",
    "--dry-run",
]
ALL_FIELDS = {
    "contract_version": 1,
    "base_path": "s3://b/t",
    "table_name": "t",
    "source": {
        "path": "/landing",
        "format": "csv",
        "options": {"header": "true", "sep": "="},
        "sql": "SELECT * FROM source",
    },
    "operation": "insert",
    "record_key": ["id", "region"],
    "partition_by": ["day"],
    "ordering_field": "ts",
    "options": {"hoodie.index.type": "BLOOM", "hoodie.table.name": "t"},
    "storage_options": {"region": "eu"},
    "result_path": "/r.json",
    "request_id": "r",
    "dry_run": True,
}


def test_flags_and_a_document_give_the_same_request() -> None:
    assert UPSERT.parse(ALL_FLAGS).request == UpsertRequest.from_json(json.dumps(ALL_FIELDS))


def test_each_flag_gives_the_same_request_as_its_field() -> None:
    always = ["--base-path=/t", "--request-id=x"]
    by_flag = {
        ("--table-name=n",): {"table_name": "n"},
        ("--source-path=/s",): {"source": {"path": "/s"}},
        ("--source-option=a=b", "--source-format=jdbc"): {
            "source": {"options": {"a": "b"}, "format": "jdbc"}
        },
        ("--operation=delete",): {"operation": "delete"},
        ("--record-key=a",): {"record_key": ["a"]},
        ("--partition-by=a",): {"partition_by": ["a"]},
        ("--ordering-field=a",): {"ordering_field": "a"},
        ("--option=a=",): {"options": {"a": ""}},
        ("--storage-option=a=b=c",): {"storage_options": {"a": "b=c"}},
        ("--result-path=r",): {"result_path": "r"},
        ("--dry-run",): {"dry_run": True},
        (): {},
    }
    for flags, given in by_flag.items():
        text = json.dumps({"contract_version": 1, "base_path": "/t", "request_id": "x", **given})
        assert UPSERT.parse([*always, *flags]).request == UpsertRequest.from_json(text), flags


def test_there_is_a_flag_for_every_field_of_request_and_source() -> None:
    of_tables = ("table", "mode", "chain", "begin", "first_begin", "storage_options")
    source_flags = {f"source_{name}" for name in ("path", "format", "options", "sql", *of_tables)}
    named = {field.name for field in fields(UpsertRequest)} - {"source"}
    expected = named | source_flags | {"request", "print_request", "remote", "conf", "help"}
    assert {action.dest for action in UPSERT.parser()._actions} == expected
    assert len(SourceSpec.__slots__) == len(source_flags)


def test_a_request_document_needs_no_other_flags() -> None:
    command = UPSERT.parse(["--request", "s3://jobs/1.json", "--print-request"])
    assert (command.request, command.request_uri, command.prints_request) == (None, "s3://jobs/1.json", True)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--request=r.json", "--operation=upsert"], "--request and --operation cannot be combined"),
        (
            ["--request=r.json", "--dry-run", "--option=a=b"],
            "--request and --dry-run, --option cannot be combined",
        ),
        ([], "These flags are missing: --base-path, --source-path (or --source-option or --source-table)."),
        ([], "A write that creates the table also needs --table-name and --record-key."),
        (["--operation=delete_partition"], "no base path"),
        (["--source-path=/s"], "no base path"),
        (["--base-path=/t", "--operation=UPSERT"], "Did you mean upsert? Only upper and lower case differ."),
        (["--base-path=/t", "--operation=merge"], "Argument --operation: invalid choice: 'merge'"),
        (["--base-path=/t", "--basepath=/t"], "Unrecognized arguments: --basepath=/t"),
        (["--base=/t"], "Unrecognized arguments: --base=/t"),
        (["--base-path"], "Argument --base-path: expected one argument"),
        (["--base-path=/t", "--option=hoodie.index.type"], "Write --option hoodie.index.type=VALUE."),
        (
            ["--base-path=/t", "--option==1"],
            "--option '' is not of the form key=value. Write --option KEY=VALUE.",
        ),
        (
            ["--base-path=/t", "--option=a=1", "--option=a=2"],
            "--option gives the key 'a' twice, with different values. Give the key only once.",
        ),
        (["--base-path=/t", "--base-path=/u"], "--base-path is given twice, with different values"),
        (
            ["--base-path=/t", "--record-key=a", "--record-key", "b"],
            "--record-key is given twice, with different values. Separate several names by commas: --record-key a,b.",
        ),
        (["--base-path=/t", "--source-sql=SELECT 1"], "neither a path nor options"),
        (["--base-path=/t", "--source-format=csv"], "neither a path nor options"),
    ],
)
def test_the_error_names_a_bad_flag(flags: list[str], message: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        UPSERT.parse(flags)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "The request names neither instants nor all failed writes. Give --instant or --all-failed"),
        (
            ["--instant=20260102030405006", "--all-failed"],
            "--instant and --all-failed are both given. Leave out one of the two.",
        ),
    ],
)
def test_the_error_of_a_rollback_names_its_flags(flags: list[str], message: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        ROLLBACK.parse(["--base-path=/t", *flags])
    assert str(refused.value).startswith(message)


def test_help_lists_every_flag_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        UPSERT.parse(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    for action in UPSERT.parser()._actions:
        assert action.help
        assert action.option_strings[-1] in printed
    assert "examples:" in printed
    assert "exit codes:" in printed
