"""The newest part of an archive, read file by file from its end, within bounds."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

from hudi_table_services.model.archival import ArchivedWrite, ArchiveTail
from hudi_table_services.model.instant import Action

_READ_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PartContent:
    """What a file of an archive holds.

    Attributes:
        last: largest requested time in it, of whatever action; empty: it holds nothing.
    """

    writes: tuple[ArchivedWrite, ...]
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePart:
    """A file of an archive.

    Attributes:
        last: largest requested time in it; empty: only its content tells. Then no older file may reach further.
        read: raises CorruptTableError, or ObjectNotFoundError where it was merged with others meanwhile.
    """

    size_bytes: int
    last: str
    read: Callable[[], PartContent]


def read_tail(parts: Sequence[ArchivePart], *, count: int, limit_bytes: int) -> ArchiveTail:
    """The newest completed writes.

    Args:
        parts: newest first.
        count: enough writes.
        limit_bytes: no more is read, all files together.
    """
    affordable = sum(total <= limit_bytes for total in accumulate(part.size_bytes for part in parts))
    found: dict[tuple[str, Action], ArchivedWrite] = {}
    tail = ArchiveTail(is_cut=bool(parts))
    for start in range(0, affordable, _READ_THREADS):
        batch = parts[start : min(start + _READ_THREADS, affordable)]
        with ThreadPoolExecutor(_READ_THREADS) as pool:
            contents = list(pool.map(lambda part: part.read(), batch))
        found |= {write.identity: write for content in contents for write in content.writes}
        tail = _tail(found.values(), parts[start + len(batch) :], contents[-1])
        if len(tail.writes) >= count:
            break
    return tail


def _tail(found: Iterable[ArchivedWrite], unread: Sequence[ArchivePart], oldest: PartContent) -> ArchiveTail:
    since = max((part.last or oldest.last for part in unread), default="")
    writes = [write for write in found if write.instant.requested_time > since]
    return ArchiveTail(
        writes=tuple(sorted(writes, key=lambda write: write.identity)), since=since, is_cut=bool(unread)
    )
