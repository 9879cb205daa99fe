"""State of the metadata table in a health report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LISTS = ("being_built", "pending", "missing_instants", "unexplained_instants", "difference_examples")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataTableHealth:
    """State of a metadata table. All fields are empty if the table has no metadata table.

    Attributes:
        being_built: partitions that a writer is building, according to the properties of the table.
        unusable: why the table cannot be listed from its metadata table; empty if it can.
        problem: details of `unusable`, or damage in another partition than `files`; may be empty.
        path: the file or folder that is the cause of `problem`, relative to the base path; may be empty.
        refusal: why jobs of this project refuse to change the table because of its metadata table; empty if they do
            not refuse.
        last_compaction: requested time of the newest completed compaction; empty if there is none on the active
            timeline of the metadata table.
        pending: pending instants of the metadata table, each as action and requested time.
        missing_instants: requested times of some completed instants of the table that the metadata table lacks.
        unexplained_instants: requested times of some delta commits that no instant of the table explains.
        difference_examples: some paths of files that the metadata table and the folders describe differently, each
            with the difference.
        not_compared: why the files in the metadata table were not compared with the folders; empty if they were.
    """

    being_built: tuple[str, ...] = ()
    unusable: str = ""
    problem: str = ""
    path: str = ""
    refusal: str = ""
    last_compaction: str = ""
    pending: tuple[str, ...] = ()
    missing_instants: tuple[str, ...] = ()
    unexplained_instants: tuple[str, ...] = ()
    difference_examples: tuple[str, ...] = ()
    not_compared: str = ""

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "MetadataTableHealth":
        """Build the values from a part of a result document. Raises TypeError for an unknown field."""
        fields: dict[str, Any] = {name: tuple(v) if name in _LISTS else v for name, v in values.items()}
        return cls(**fields)
