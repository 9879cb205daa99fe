"""The parts of a summary that a service adds to the title."""

from collections.abc import Sequence
from dataclasses import dataclass

from hudi_table_services.command.summary import Grid, Tone
from hudi_table_services.contract.text import NOT_PARTITIONED, human_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Facts and tables of one result.

    Attributes:
        verdict: word after the name of the job in the title, such as ``failing``; empty means the outcome of the job.
        tone: see `Summary`; None means the tone of the outcome.
        sentences: sentences that the tables contain. Warnings that contain one of these sentences are not shown.
    """

    facts: Sequence[tuple[str, str]] = ()
    grids: Sequence[Grid] = ()
    verdict: str = ""
    tone: Tone | None = None
    sentences: Sequence[str] = ()


def shown_path(partition_path: str) -> str:
    """Return a partition path, or a phrase for tables without partitions."""
    return partition_path or NOT_PARTITIONED


def change(before: str, after: str) -> str:
    """Return two values with an arrow."""
    return f"{before} → {after}"


def change_of_size(before_bytes: float, after_bytes: float) -> str:
    """Return two sizes with an arrow."""
    return change(human_bytes(before_bytes), human_bytes(after_bytes))
