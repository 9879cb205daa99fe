"""Flags of the clustering scripts: one for every field of their requests."""

import argparse
from collections.abc import Callable
from dataclasses import fields

import pytest

from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ClusteringRequest,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.clustering import (
    cancel_parser,
    execute_parser,
    parse_cancel,
    parse_execute,
    parse_run,
    parse_schedule,
    run_parser,
    schedule_parser,
)

PARSERS: list[tuple[Callable[[], argparse.ArgumentParser], type[JobRequest]]] = [
    (schedule_parser, ScheduleClusteringRequest),
    (execute_parser, ExecuteClusteringRequest),
    (run_parser, ClusteringRequest),
    (cancel_parser, CancelClusteringRequest),
]


@pytest.mark.parametrize(("parser", "request_type"), PARSERS)
def test_there_is_a_flag_for_every_field(
    parser: Callable[[], argparse.ArgumentParser], request_type: type[JobRequest]
) -> None:
    renamed = {"options": "option", "storage_options": "storage_option", "instants": "instant"}
    named = {renamed.get(f.name, f.name) for f in fields(request_type)}
    flags = {action.dest for action in parser()._actions}
    assert flags == named | {"request", "print_request", "help"}
    assert all(action.help for action in parser()._actions)


def test_flags_make_the_request() -> None:
    flags = ["--base-path=/t", "--request-id=r", "--sort-columns=a,b", "--layout=zorder", "--partitions=p,q"]
    more = [
        "--every-n-commits=4",
        "--preview",
        "--option",
        "hoodie.clustering.plan.strategy.max.num.groups=3",
    ]
    assert parse_schedule([*flags, *more]).request == ScheduleClusteringRequest(
        base_path="/t",
        request_id="r",
        sort_columns=("a", "b"),
        layout="zorder",
        partitions=("p", "q"),
        every_n_commits=4,
        preview=True,
        options={"hoodie.clustering.plan.strategy.max.num.groups": "3"},
    )
    assert parse_run([*flags, "--when-held=wait"]).request == ClusteringRequest(
        base_path="/t",
        request_id="r",
        sort_columns=("a", "b"),
        layout="zorder",
        partitions=("p", "q"),
        when_held="wait",
    )
    instants = ["--instant=20260102030405006", "--instant=20260102030405007"]
    assert parse_execute(["--base-path=/t", "--request-id=r", *instants]).request == ExecuteClusteringRequest(
        base_path="/t", request_id="r", instants=("20260102030405006", "20260102030405007")
    )
    assert parse_cancel(["--base-path=/t", "--request-id=r", "--older-than-minutes=9"]).request == (
        CancelClusteringRequest(base_path="/t", request_id="r", older_than_minutes=9)
    )


def test_cancelling_all_has_to_be_said() -> None:
    with pytest.raises(InvalidRequestError, match="--instant or --older-than-minutes"):
        parse_cancel(["--base-path=/t"])


def test_a_document_stands_alone() -> None:
    assert parse_execute(["--request", "s3://jobs/1.json"]).request_uri == "s3://jobs/1.json"
    with pytest.raises(InvalidRequestError, match="--request and --instant exclude each other"):
        parse_execute(["--request", "s3://jobs/1.json", "--instant", "20260102030405006"])
