"""Flags of the compaction scripts: there is one flag for every field of their requests."""

from dataclasses import fields

import pytest

from hudi_table_services import cli
from hudi_table_services.contract.compaction.compaction import (
    CancelCompactionRequest,
    CompactionRequest,
    ExecuteCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.services.compaction import (
    CANCEL_COMPACTION,
    EXECUTE_COMPACTION,
    RUN_COMPACTION,
    SCHEDULE_COMPACTION,
)
from hudi_table_services.services.service import Script

LIMIT = "hoodie.compact.inline.max.delta.commits"


@pytest.mark.parametrize(
    ("script", "request_type"),
    [
        (SCHEDULE_COMPACTION, ScheduleCompactionRequest),
        (EXECUTE_COMPACTION, ExecuteCompactionRequest),
        (RUN_COMPACTION, CompactionRequest),
        (CANCEL_COMPACTION, CancelCompactionRequest),
    ],
)
def test_there_is_a_flag_for_every_field(script: Script[JobRequest], request_type: type[JobRequest]) -> None:
    actions = script.parser()._actions
    others = {"request", "print_request", "remote", "conf", "help"}
    assert {a.dest for a in actions} - others == {f.name for f in fields(request_type)}
    assert all(action.help for action in actions)


def test_flags_are_parsed_into_the_request() -> None:
    flags = ["--base-path=/t", "--request-id=r", "--partitions=p,q", "--every-n-commits=4"]
    planned = {"base_path": "/t", "request_id": "r", "partitions": ("p", "q"), "every_n_commits": 4}
    assert SCHEDULE_COMPACTION.parse([*flags, "--preview"]).request == ScheduleCompactionRequest(
        **planned,  # type: ignore[arg-type]
        preview=True,
    )
    assert RUN_COMPACTION.parse([*flags, "--when-held=wait"]).request == CompactionRequest(
        **planned,  # type: ignore[arg-type]
        when_held="wait",
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--every-n-commits=-1"], "--every-n-commits is -1, below 0."),
        (
            ["--every-n-commits=4", f"--option={LIMIT}=5"],
            f"--every-n-commits is '4', but its option {LIMIT} is '5'. Give either --every-n-commits or the option.",
        ),
        (
            ["--every-n-commits=4", "--option=hoodie.compact.inline.trigger.strategy=TIME_ELAPSED"],
            "--every-n-commits is 4, but hoodie.compact.inline.trigger.strategy=TIME_ELAPSED does not count delta",
        ),
    ],
)
def test_a_script_refuses_a_wrong_number_of_commits(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(SCHEDULE_COMPACTION, ["--base-path=/t", *flags]) == 64
    assert message in capsys.readouterr().err


def test_a_request_is_unchanged_after_encoding_and_decoding() -> None:
    request = ScheduleCompactionRequest(base_path="/t", request_id="r", partitions=("p",), every_n_commits=3)
    assert ScheduleCompactionRequest.from_json(request.to_json()) == request
