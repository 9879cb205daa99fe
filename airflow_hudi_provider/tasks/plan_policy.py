"""What the write of a task does about plans that are pending on files that it may change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from hudi_table_services.errors import InvalidRequestError, PendingPlanError
from hudi_table_services.options.keys.clustering import UPDATES_STRATEGY
from hudi_table_services.options.writing_values import PendingClusteringOptions
from hudi_table_services.storage.clock import age_text

OnPendingPlan = Literal["refuse", "wait", "give_way"]
CHOICES: tuple[str, ...] = get_args(OnPendingPlan)
STRATEGY_KEY = UPDATES_STRATEGY.key

_REJECT = "SparkRejectUpdateStrategy"
# A task that waits lets no plan give way either: one that was made after its look ends the job, and is waited for.
_STRATEGY_OF = {"refuse": _REJECT, "wait": _REJECT, "give_way": "GiveWayUpdateStrategy"}
_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAtStake:
    """Where a write may change files that are there.

    Attributes:
        partitions: partition paths; empty: anywhere in the table.
        is_certain: the write does touch these, so that it can be refused before it has read its rows.
        held: how long a plan that is being carried out is waited for, and when it counts as dead.
    """

    partitions: tuple[str, ...] = ()
    is_certain: bool = False
    held: PendingClusteringOptions = field(default_factory=PendingClusteringOptions)


def strategy_of(choice: str | None) -> str | None:
    """Value of `STRATEGY_KEY` for the job; None: the options of the task decide.

    Raises:
        InvalidRequestError: there is no such choice.
    """
    if choice is None:
        return None
    if choice not in CHOICES:
        raise InvalidRequestError(
            f"on_pending_plan={choice!r} is no choice.", hint=f"Give {', '.join(map(repr, CHOICES))}."
        )
    return _STRATEGY_OF[choice]


def in_words(pending: Sequence[Mapping[str, Any]]) -> str:
    """Pending services as `pending_services` tells them, in a sentence without its end."""
    told = [
        f"{each['service']} {each['instant']} ({each['state']}, {age_text(each['age_s'])} old, "
        f"{each['file_groups']} file groups in {', '.join(map(repr, each['partitions'][:_TOLD]))}"
        f"{', …' if len(each['partitions']) > _TOLD else ''})"
        for each in pending[:_TOLD]
    ]
    more = len(pending) - len(told)
    return ", ".join(told) + (f", and {more} more" if more else "")


def cure(pending: Sequence[Mapping[str, Any]]) -> str:
    """What somebody can do about them."""
    oldest = pending[0]
    if oldest["service"] != "clustering":
        return f"Let the writer that planned {oldest['instant']} carry it out or drop it"
    return (
        f"Carry it out with ExecuteClusteringOperator(instant='{oldest['instant']}'), or drop it with "
        f"CancelClusteringOperator(instant='{oldest['instant']}')"
    )


def refused(pending: Sequence[Mapping[str, Any]]) -> PendingPlanError:
    """The error of a write that does not go on beside these plans."""
    return PendingPlanError(
        f"Nothing was done, since on_pending_plan='refuse' and this write goes to partitions with {in_words(pending)}.",
        hint=f"{cure(pending)}, and clear this task; or give on_pending_plan='wait' or 'give_way'.",
    )
