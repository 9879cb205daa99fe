"""Flags of the clustering scripts: there is one flag for every field of their requests."""

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
    CANCEL_CLUSTERING,
    EXECUTE_CLUSTERING,
    RUN_CLUSTERING,
    SCHEDULE_CLUSTERING,
)
from hudi_table_services.services.service import Script


@pytest.mark.parametrize(
    ("script", "request_type"),
    [
        (SCHEDULE_CLUSTERING, ScheduleClusteringRequest),
        (EXECUTE_CLUSTERING, ExecuteClusteringRequest),
        (RUN_CLUSTERING, ClusteringRequest),
        (CANCEL_CLUSTERING, CancelClusteringRequest),
    ],
)
def test_there_is_a_flag_for_every_field(script: Script[JobRequest], request_type: type[JobRequest]) -> None:
    actions = script.parser()._actions
    assert {a.dest for a in actions} == {f.name for f in fields(request_type)} | {
        "request",
        "print_request",
        "remote",
        "conf",
        "help",
    }
    assert all(action.help for action in actions)


def test_flags_are_parsed_into_the_request() -> None:
    flags = ["--base-path=/t", "--request-id=r", "--sort-columns=a,b", "--layout=zorder", "--partitions=p,q"]
    more = [
        "--every-n-commits=4",
        "--preview",
        "--option",
        "hoodie.clustering.plan.strategy.max.num.groups=3",
    ]
    assert SCHEDULE_CLUSTERING.parse([*flags, *more]).request == ScheduleClusteringRequest(
        base_path="/t",
        request_id="r",
        sort_columns=("a", "b"),
        layout="zorder",
        partitions=("p", "q"),
        every_n_commits=4,
        preview=True,
        options={"hoodie.clustering.plan.strategy.max.num.groups": "3"},
    )
    assert RUN_CLUSTERING.parse([*flags, "--when-held=wait"]).request == ClusteringRequest(
        base_path="/t",
        request_id="r",
        sort_columns=("a", "b"),
        layout="zorder",
        partitions=("p", "q"),
        when_held="wait",
    )
    instants = ["--instant=20260102030405006", "--instant=20260102030405007"]
    assert EXECUTE_CLUSTERING.parse(
        ["--base-path=/t", "--request-id=r", *instants]
    ).request == ExecuteClusteringRequest(
        base_path="/t", request_id="r", instants=("20260102030405006", "20260102030405007")
    )
    assert CANCEL_CLUSTERING.parse(
        ["--base-path=/t", "--request-id=r", "--older-than-minutes=9"]
    ).request == (CancelClusteringRequest(base_path="/t", request_id="r", older_than_minutes=9))


def test_a_cancellation_needs_instants_or_an_age() -> None:
    with pytest.raises(InvalidRequestError, match="--instant or --older-than-minutes"):
        CANCEL_CLUSTERING.parse(["--base-path=/t"])


def test_a_request_document_cannot_be_combined_with_flags() -> None:
    assert EXECUTE_CLUSTERING.parse(["--request", "s3://jobs/1.json"]).request_uri == "s3://jobs/1.json"
    with pytest.raises(InvalidRequestError, match="--request and --instant cannot be combined"):
        EXECUTE_CLUSTERING.parse(["--request", "s3://jobs/1.json", "--instant", "20260102030405006"])
