"""Flags of the scripts that execute or cancel plans."""

import argparse
from collections.abc import Mapping
from typing import Any

from hudi_table_services.contract.request import WHEN_HELD
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.services.flags import add_instants, add_preview, table_group


def add_execute_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a script that executes plans."""
    group = table_group(parser, "plans")
    add_instants(group, "requested time of a plan, repeatable; default: all pending plans, oldest first")
    add_when_held(group)


def add_cancel_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of a script that cancels plans."""
    group = table_group(parser, "plans")
    add_instants(group, "requested time of a plan, repeatable; cannot be combined with --older-than-minutes")
    group.add_argument(
        "--older-than-minutes",
        type=int,
        metavar="N",
        help="cancel plans that are at least N minutes old; 0: all plans that no job is executing",
    )
    add_preview(group, "report which plans would be cancelled, and cancel none")


def add_when_held(group: argparse._ArgumentGroup) -> None:
    """Add the flag that says what the job does while another job is executing the plan."""
    group.add_argument(
        "--when-held",
        choices=WHEN_HELD,
        metavar="NAME",
        help=f"what to do while another job is executing the plan: {', '.join(WHEN_HELD)}; default: fail",
    )


def cancel_fields(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that cancels plans. Raises InvalidRequestError if the flags name no plans."""
    if "instants" not in flags and "older_than_minutes" not in flags:
        raise InvalidRequestError(
            "The request names no plans: give --instant or --older-than-minutes.",
            hint="--older-than-minutes 0 selects all plans that no job is executing.",
        )
    return {"base_path": "", **flags}
