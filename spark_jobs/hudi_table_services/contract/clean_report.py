"""What a clean job tells beyond files: what went, what stays and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedPartition:
    """One partition path.

    Attributes:
        file_count, size_bytes: files deleted, or, in a preview, that would be.
        file_names: in previews their names.
        failed_files: names of files that storage would not delete; the next clean tries again.
        is_removed: nothing was left, so the folder went too.
    """

    partition_path: str
    file_count: int
    size_bytes: int
    file_names: tuple[str, ...] = ()
    failed_files: tuple[str, ...] = ()
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanReport:
    """What a clean job did.

    Attributes:
        policy: ``KEEP_LATEST_COMMITS``, ``KEEP_LATEST_BY_HOURS`` or ``KEEP_LATEST_FILE_VERSIONS``.
        earliest_commit_to_retain: from where on everything stays readable; empty: the policy has none.
        retention: how that came about, in words.
        blocker: requested time of the pending instant without which more could be cleaned; empty: none.
        finished: requested times of cleans that an earlier job had left pending.
        rolled_back: requested times of dead writes that were rolled back first.
        waiting: partitions in which outdated files stay for readers, savepoints or pending plans.
        partitions_listed: partitions that were looked at.
    """

    policy: str
    earliest_commit_to_retain: str = ""
    retention: str = ""
    blocker: str = ""
    partitions: tuple[CleanedPartition, ...] = ()
    finished: tuple[str, ...] = ()
    rolled_back: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    partitions_listed: int = 0

    @property
    def file_count(self) -> int:
        return sum(each.file_count for each in self.partitions)

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.partitions)

    @property
    def failed_count(self) -> int:
        return sum(len(each.failed_files) for each in self.partitions)


def clean_report_from_document(values: Mapping[str, Any]) -> CleanReport:
    """The report of a result document. Raises KeyError or TypeError where it is none."""
    fields = dict(values)
    fields["partitions"] = tuple(
        CleanedPartition(
            **{
                **each,
                "file_names": tuple(each["file_names"]),
                "failed_files": tuple(each["failed_files"]),
            }
        )
        for each in fields["partitions"]
    )
    for name in ("finished", "rolled_back", "waiting"):
        fields[name] = tuple(fields[name])
    return CleanReport(**fields)
